"""Reading stored answers again, with the current rules and without asking any model."""

from __future__ import annotations

import functools
import os
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import polars as pl

from plurivox.ask.question import Question
from plurivox.ask.replies import SECOND_READER, as_shown, read_reply
from plurivox.ask.store import Store
from plurivox.ask.stored import Change, Stored, label_of
from plurivox.base.cards import card, plain_grid

EXAMPLES = 3
"""How many texts are kept of each kind of change."""
SHOWN = 80
"""How many characters of such a text."""
_TOLD = 1_000  # answers between two calls of what shows progress


class ChangeKind(NamedTuple):
    """One kind of change: whose answers, from what to what, and the rules that read them."""

    model: str
    prompt: str
    from_state: str
    from_answer: str | None
    to_state: str
    to_answer: str | None
    old_rule: str
    new_rule: str


@dataclass(frozen=True, slots=True, eq=False)
class Rereading:
    """What reading the answers of a store again changes.

    Attributes
    ----------
    store
        The file.
    n_read
        How many answers were read again; the others failed, or were refused by the server.
    n_changed
        How many of them have another state or point now.
    n_renamed
        How many have the same ones, by a renamed rule or from another place in the text.
    n_stored
        How many of these two were stored; 0 if that was not requested.
    kinds
        How often each kind of change occurs, the most frequent first.
    examples
        A few texts of each kind, shortened.
    """

    store: str
    n_read: int
    n_changed: int
    n_renamed: int
    n_stored: int
    kinds: Mapping[ChangeKind, int]
    examples: Mapping[ChangeKind, tuple[str, ...]]
    _changes: tuple[Change, ...] = field(repr=False)
    _rows: tuple[tuple[str, int, ChangeKind], ...] = field(repr=False)

    @property
    def n_same(self) -> int:
        """How many are read as before, by the same rule."""
        return self.n_read - self.n_changed - self.n_renamed

    def to_frame(self) -> pl.DataFrame:
        """Return the answers whose state or point changes, one per row."""
        names = ("item", "sample", *ChangeKind._fields)
        schema = {name: pl.Int64 if name == "sample" else pl.String for name in names}
        frame = pl.DataFrame([(item, sample, *kind) for item, sample, kind in self._rows], schema=schema, orient="row")
        return frame.select("model", "prompt", "item", "sample", *ChangeKind._fields[2:]).sort(
            "model", "prompt", "item", "sample", maintain_order=True
        )

    def _repr_html_(self) -> str:
        """Show in a notebook how many answers are read differently, and how."""
        told = f"{self.n_read:,} answers, of which {self.n_changed:,} have another state or point"
        rows = [[n, *("–" if value is None else str(value) for value in kind)] for kind, n in self.kinds.items()]
        grid = plain_grid(["answers", *ChangeKind._fields], rows)
        return card("Rereading", told, grids=[grid] if rows else [], more="to_frame()")

    def apply(self) -> Rereading:
        """Store the new readings, all or none; an answer that changed in the meantime stays as it is."""
        with Store.open(self.store, create=False) as opened:
            return replace(self, n_stored=opened.change(self._changes))


def reread(
    store: str | os.PathLike[str], apply: bool = False, *, progress: Callable[[int, int], object] | None = None
) -> Rereading:
    """Read every stored answer again with the current rules, and report what changes.

    Answers stay as they are if they failed, if the server refused, or if a second reader read what the rules cannot.

    Parameters
    ----------
    store
        The file of answers.
    apply
        Whether to store the new readings; otherwise nothing is changed.
    progress
        Called with how many answers were examined, and how many there are.

    Raises
    ------
    InputError
        If the file is not a store, or does not say which options were shown.
    """
    with Store.read(store) as opened:
        found = _Changes(Question.from_about(opened.about, opened.path))
        total = sum(n for states in opened.counts().values() for n in states.values()) if progress else 0
        for done, stored in enumerate(opened.each()):
            found.add(stored)
            if progress is not None and done % _TOLD == 0:
                progress(done, total)
    result = found.result(os.fspath(store))
    return result.apply() if apply else result


class _Changes:
    """What is found on the way through the store."""

    def __init__(self, question: Question) -> None:
        self.labels = question.scale.labels
        self.options = functools.lru_cache(maxsize=1024)(functools.partial(as_shown, question))
        self.n_read = 0
        self.kinds: Counter[ChangeKind] = Counter()
        self.examples: dict[ChangeKind, list[str]] = {}
        self.changes: list[Change] = []
        self.rows: list[tuple[str, int, ChangeKind]] = []

    def add(self, stored: Stored) -> None:
        """Read an answer, and note what changes."""
        before = stored.reading
        if before.state == "failed" or stored.refusal:
            return
        self.n_read += 1
        after = read_reply(stored.text, "", self.options(stored.order, stored.prompt), stored.order)
        if after == before or (after.state == "unreadable" and (before.rule or "").startswith(SECOND_READER)):
            return
        self.changes.append(stored.read_as(after))
        if (after.state, after.point) == (before.state, before.point):
            return
        kind = ChangeKind(
            stored.model, stored.prompt, before.state, label_of(before.point, self.labels), after.state,
            label_of(after.point, self.labels), before.rule, after.rule,
        )  # fmt: skip
        self.kinds[kind] += 1
        self.rows.append((stored.item, stored.sample, kind))
        texts = self.examples.setdefault(kind, [])
        if len(texts) < EXAMPLES and (text := shortened(stored.text)) not in texts:
            texts.append(text)

    def result(self, store: str) -> Rereading:
        """Return what was found, the most frequent change first."""
        kinds = dict(sorted(self.kinds.items(), key=lambda one: (-one[1], *map(str, one[0]))))
        n_renamed = len(self.changes) - len(self.rows)
        examples = {kind: tuple(texts) for kind, texts in self.examples.items()}
        return Rereading(
            store, self.n_read, len(self.rows), n_renamed, 0, kinds, examples, tuple(self.changes), tuple(self.rows)
        )


def shortened(text: str) -> str:
    """Return a text on one line, cut where it gets long.

    Examples
    --------
    >>> shortened("B) often," + chr(10) + "  I think")
    'B) often, I think'
    """
    line = " ".join(text[: SHOWN * 20].split())  # a text may be very long
    return line if len(line) <= SHOWN else line[: SHOWN - 1] + "…"

"""Answers of language models to rating questions: a checked, coded table of who answered what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.base.arguments import Frame, checked
from plurivox.base.cards import card, heading_of, plain_grid
from plurivox.domain.answer_columns import (
    ANSWERED,
    NO_POINT,
    NOT_ON_SCALE,
    READINGS,
    UNREADABLE,
    AnswerColumns,
    is_text_column,
)
from plurivox.domain.attributes import COUNTED_FROM_1, AttributeTable, Locate, match, places_of
from plurivox.domain.choices import Conflicts
from plurivox.domain.raw import to_polars
from plurivox.domain.reader import STATES
from plurivox.domain.recoding import GivenRecoding, Recoding
from plurivox.domain.scale import Label, Scale
from plurivox.domain.scale_files import GivenScale, as_scale

ONE_MODEL, ONE_PROMPT = "model", ""
ITEM_TEXT = "text of the item"
"""What a column of prompts is treated as if every item has its own."""


class Voice(NamedTuple):
    """Who answers: a model, and the prompt it was asked with; the prompt is empty if a table names none."""

    model: str
    prompt: str

    def __str__(self) -> str:
        return f"{self.model}, {self.prompt}" if self.prompt else self.model


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Answers:
    """What models answered, sorted by item, then voice, then sample.

    Make one with :func:`plurivox.read_answers` or :meth:`from_frame`.

    Attributes
    ----------
    scale
        The scale of the answers.
    voices
        Each model with each of its prompts, sorted.
    items
        The ids of items that any of them was asked about, as text, sorted.
    item, voice, sample
        Codes of each answer.
    state
        For each answer its place in :data:`plurivox.domain.reader.STATES`.
    point
        For each answer the position on the scale, -1 if there is none.
    shares
        For each answer the probability of each point, if log-probabilities gave it, otherwise NaN; None if there are
        none at all.
    shown, order
        For each answer the place at which its option was shown, and the number of the order of options; -1 if unknown;
        None if there are none at all.
    n_elsewhere
        How many answers are neither points of the scale nor texts that name one; they count as unreadable.
    families
        The family of each model, if a table gives it.
    source
        Where they came from.
    attributes
        What is known about each item, in the order of ``items``; None without a table of items.
    readings
        For each answer the text, the rule that read it, and the piece of the text in which it found the answer, if
        known; None if there are none at all. See :meth:`to_frame`.
    n_read
        How many texts were read along with the answers, by the rules of :func:`plurivox.ask.read_answer`.
    columns
        Which column holds what.
    orders
        The orders of options that ``order`` numbers, as positions on the scale.
    """

    scale: Scale
    voices: tuple[Voice, ...]
    items: pl.Series
    item: NDArray[np.int32]
    voice: NDArray[np.int32]
    sample: NDArray[np.int32]
    state: NDArray[np.int8]
    point: NDArray[np.int16]
    shares: NDArray[np.float64] | None
    shown: NDArray[np.int16] | None
    order: NDArray[np.int32] | None
    n_elsewhere: int
    families: Mapping[str, str]
    source: str = "frame"
    attributes: pl.DataFrame | None = None
    readings: pl.DataFrame | None = None
    n_read: int = 0
    columns: Mapping[str, str] = field(default_factory=dict)
    orders: tuple[tuple[int, ...], ...] = ()

    @classmethod
    @checked
    def from_frame(
        cls,
        frame: Frame,
        scale: GivenScale,
        *,
        item: str = "item",
        model: str = "model",
        prompt: str = "prompt",
        answer: str | None = None,
        name: str = ONE_MODEL,
        source: str = "answers",
        locate: Locate | None = None,
        items: Frame | None = None,
    ) -> Answers:
        """Check a frame of pandas, polars, pyarrow or anything else that narwhals knows.

        Parameters
        ----------
        frame
            One row per answer. Besides item, model and prompt it may have ``sample`` (the number of the repetition),
            ``state`` (answered, refused, unreadable or failed), ``distribution`` (probabilities of the points, as a
            list; or a column for each point, named like it), ``order`` (positions of the options as shown) and
            ``family`` (of the model). The output of :meth:`to_frame` is read back.
        scale
            The scale of the answers, in any form that ``Ratings.from_frame`` takes.
        item, model, prompt
            The columns that hold them; without a column of models all rows belong to one model. The same applies to
            prompts, also if every item has its own.
        answer
            The column that holds the answers: labels, where what is not a label is read as text; or positions if it is
            called ``point``; or free text to be read if it is called ``text``, ``response``, ``completion``, ``output``
            or similar. By default the first of ``point``, ``answer``, a column of texts, and ``text`` that exists; next
            to another column of texts, ``text`` is the item's.
        name
            The name of the model if no column gives it.
        source, locate
            How to name the table and its rows in messages.
        items
            A table with one row per item, whose attributes distinguish answers without ratings.

        Raises
        ------
        InputError
            With the rows where something is missing, unknown or repeated.

        Examples
        --------
        >>> frame = pl.DataFrame({"model": "m", "item": [1, 2, 3], "answer": ["often", None, "7"],
        ...                       "state": ["answered", "refused", "answered"]})
        >>> Answers.from_frame(frame, Scale(["never", "often"]))
        <Answers: 3 of 1 model to 3 items on never < often>
        """
        scale = as_scale(scale)
        check = AnswerColumns(to_polars(frame), scale, source, locate or COUNTED_FROM_1)
        check.columns(item)
        ids = check.ids(item, "item")
        known = ids.unique().sort()
        item_of = places_of(ids, known).astype(np.int32)
        one = pl.repeat(name, check.table.height, dtype=pl.String, eager=True)
        models = check.ids(model, "model") if model in check.table.columns else one
        prompts = check.prompts(prompt, item, item_of)
        given = check.answers(answer, prompts, (item, model, prompt))
        point, state, shares = given.point, given.state, check.shares()
        if shares is not None:
            fill = ~np.isnan(shares[:, 0]) & (point == NO_POINT) & (state == UNREADABLE)
            point[fill], state[fill] = shares[fill].argmax(axis=1), ANSWERED
        voices, voice_of = _voices(models, prompts)
        sample = check.samples()
        shown, numbers, orders = check.shown(point) or (None, None, ())
        order = check.once(item_of, voice_of, sample, voices, known)
        role = "prompt" if prompts is not None else ITEM_TEXT
        taken = {"item": item, "model": model, **({role: prompt} if prompt != item else {})}
        if given.column is not None:
            kind = "text" if is_text_column(given.column) else "point" if given.column == "point" else "answer"
            taken[kind] = given.column
        n_elsewhere = 0 if given.readings is None else int((given.readings["rule"] == NOT_ON_SCALE).sum())
        found = cls(
            scale, voices, known, item_of[order], voice_of[order], sample[order], state[order], point[order],
            None if shares is None else shares[order], None if shown is None else shown[order],
            None if numbers is None else numbers[order], n_elsewhere, check.families(models), source,
            readings=None if given.readings is None else given.readings[order], n_read=given.n_read,
            columns={role: name for role, name in taken.items() if name in check.table.columns}, orders=orders,
        )  # fmt: skip
        return found if items is None else found.with_items(AttributeTable(to_polars(items), item, "items frame"))

    def with_items(self, table: AttributeTable, conflicts: Conflicts = "error") -> Answers:
        """Return the answers with the attributes in a table of items."""
        return replace(self, attributes=match(table, self.items, "item", "answers", conflicts=conflicts).frame)

    @checked
    def recode(self, rule: GivenRecoding | None = None, *, unsafe_from: Label | None = None) -> Answers:
        """Return the answers on another scale, as :meth:`plurivox.Ratings.recode` does with ratings.

        Answers that become missing count as unreadable, in ``n_elsewhere``.

        Parameters
        ----------
        rule
            Text such as ``"0-2=no,3-4=yes"``, or a mapping from points or ranges of them to new points.
        unsafe_from
            Instead of a rule: the lowest of the points that count as unsafe.
        """
        recoding = Recoding.of(self.scale, rule, unsafe_from)
        point = recoding.positions(self.point).astype(np.int16)
        gone = (self.state == ANSWERED) & (point == NO_POINT)
        how = pl.when(pl.Series(gone)).then(pl.lit(NOT_ON_SCALE)).otherwise(pl.col("rule"))
        readings = self._known_readings().with_columns(how.alias("rule")) if gone.any() else self.readings
        return replace(
            self, scale=recoding.new, point=point, state=np.where(gone, np.int8(UNREADABLE), self.state),
            shares=None if self.shares is None else recoding.shares(self.shares),
            n_elsewhere=self.n_elsewhere + int(np.count_nonzero(gone)), readings=readings, orders=(),
        )  # fmt: skip

    def _known_readings(self) -> pl.DataFrame:
        return pl.DataFrame(schema=READINGS).clear(len(self)) if self.readings is None else self.readings

    def to_frame(self) -> pl.DataFrame:
        """Return one row per answer, by model, prompt, item and sample, with how each was read.

        Columns: ``model``, ``prompt`` (empty where none is named), ``item``, ``sample``, ``state``, ``answer`` (the
        label of the point), ``point`` (its position), ``text`` (what the model wrote, if known), ``rule``
        (which rule read it) and ``read`` (the piece of the text in which the rule found the answer). If available, also
        ``distribution`` (the probability of each point), ``order`` (the options as shown) and ``family``.
        :meth:`from_frame` reads it back.

        Examples
        --------
        >>> frame = pl.DataFrame({"item": [1, 2], "response": ["I'd say **often**.", "I cannot judge that."]})
        >>> made = Answers.from_frame(frame, Scale(["never", "often"])).to_frame()
        >>> made.select("item", "state", "answer", "rule", "read").rows()
        [('1', 'answered', 'often', 'opinion', 'often'), ('2', 'refused', None, 'refusal', 'I cannot')]
        """
        names = {name: [voice[at] for voice in self.voices] for at, name in enumerate(("model", "prompt"))}
        labels = pl.Series([str(label) for label in self.scale.labels], dtype=pl.String)
        point = pl.Series(self.point).replace(NO_POINT, None)
        columns = {
            **{name: pl.Series(texts, dtype=pl.String).gather(self.voice) for name, texts in names.items()},
            "item": self.items.gather(self.item), "sample": self.sample,
            "state": pl.Series(STATES, dtype=pl.String).gather(self.state), "answer": labels.gather(point),
            "point": point.cast(pl.Int64),
        }  # fmt: skip
        more: dict[str, pl.Series] = {}
        if self.shares is not None:
            lists = pl.Series(self.shares, dtype=pl.Array(pl.Float64, len(labels))).cast(pl.List(pl.Float64))
            more["distribution"] = pl.select(pl.when(pl.Series(~np.isnan(self.shares[:, 0]))).then(lists)).to_series()
        if self.order is not None and self.orders:
            numbers = pl.Series(self.order).replace(NO_POINT, None)
            more["order"] = pl.Series([list(one) for one in self.orders], dtype=pl.List(pl.Int64)).gather(numbers)
        frame = pl.DataFrame({**columns, **self._known_readings().to_dict(), **more})
        if self.families:
            family = pl.col("model").replace_strict(dict(self.families), default=None, return_dtype=pl.String)
            frame = frame.with_columns(family.alias("family"))
        return frame[np.lexsort((self.sample, self.item, self.voice))]

    def __len__(self) -> int:
        """Return the number of answers."""
        return len(self.item)

    def __repr__(self) -> str:
        models = len({voice.model for voice in self.voices})
        n = f"{models} model{'' if models == 1 else 's'}"
        return f"<Answers: {len(self):,} of {n} to {len(self.items):,} items on {self.scale}>"

    def _repr_html_(self) -> str:
        """Show in a notebook how each model answered."""
        counts = np.zeros((len(self.voices), len(STATES)), dtype=np.int64)
        np.add.at(counts, (self.voice, self.state), 1)
        there = [at for at in range(len(STATES)) if counts[:, at].any()]
        rows = [[str(voice), *(int(own[at]) for at in there)] for voice, own in zip(self.voices, counts, strict=True)]
        grid = plain_grid(["model", *(STATES[at] for at in there)], rows)
        return card(*heading_of(self), grids=[grid] if rows else [], more="to_frame()")

    @property
    def models(self) -> tuple[str, ...]:
        """The names of the models, sorted."""
        return tuple(sorted({voice.model for voice in self.voices}))


def _voices(models: pl.Series, prompts: pl.Series | None) -> tuple[tuple[Voice, ...], NDArray[np.int32]]:
    """Return the pairs of model and prompt that occur, sorted, and the pair of each row."""
    if prompts is None:
        names = models.unique().sort()
        return tuple(Voice(name, ONE_PROMPT) for name in names), places_of(models, names).astype(np.int32)
    pairs = pl.DataFrame({"model": models, "prompt": prompts})
    known = pairs.unique().sort("model", "prompt").with_row_index("voice")
    codes = pairs.join(known, on=["model", "prompt"], how="left", maintain_order="left")["voice"]
    return tuple(Voice(*row) for row in known.select("model", "prompt").iter_rows()), codes.to_numpy().astype(np.int32)

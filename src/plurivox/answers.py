"""Answers of language models to rating questions: a checked, coded table of who answered what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.arguments import Frame, checked
from plurivox.intake.answer_columns import ANSWERED, NO_POINT, UNREADABLE, AnswerColumns
from plurivox.intake.attributes import COUNTED_FROM_1, AttributeTable, Locate, match, places_of
from plurivox.ratings import to_polars
from plurivox.scale import Scale
from plurivox.scale_files import GivenScale, as_scale

ONE_MODEL, ONE_PROMPT = "model", ""

Ints = NDArray[np.int64]


class Voice(NamedTuple):
    """Who answers: a model, and the prompt it was asked with; the prompt is empty where a table names none."""

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
        The points that answers are on.
    voices
        Each model with each of its prompts, sorted.
    items
        The ids of items that any of them was asked about, as text, sorted.
    item, voice, sample
        Codes of each answer.
    state
        For each answer its place in :data:`plurivox.reader.STATES`.
    point
        For each answer the position on the scale, -1 without one.
    shares
        For each answer the probability of each point, where log-probabilities gave it; NaN where not; None if nowhere.
    shown, order
        For each answer at which place its option was shown, and the number of the order of options; -1 where that is
        not known; None if nowhere.
    n_elsewhere
        How many answers named a point that is not on the scale; they count as unreadable.
    families
        The family of each model, as far as a table tells.
    source
        Where they came from.
    attributes
        What is known about each item, in the order of ``items``; None without a table of items.
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
            ``family`` (of the model).
        scale
            The scale of the answers, in any form that ``Ratings.from_frame`` takes.
        item, model, prompt
            The columns that hold them; without a column of models all rows are of one, and likewise for prompts.
        answer
            The column that holds the answers: labels, or positions if it is called ``point``, or free text to be read
            if it is called ``text`` or ``response``. By default the first of ``point``, ``answer``, ``text`` and
            ``response`` that there is.
        name
            What to call a model that no column names.
        source, locate
            How to name the table and its rows in messages.
        items
            A table with one row per item, by whose attributes answers without ratings can be told apart.

        Raises
        ------
        InputError
            With the rows where something is missing, unknown or double.

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
        known, item_of = check.items(item)
        models = check.ids(model, "model") if model in check.table.columns else _repeated(name, check.table.height)
        prompts = check.texts(prompt) if prompt in check.table.columns else None
        point, state, n_elsewhere = check.answers(answer, prompts)
        shares = check.shares()
        if shares is not None:
            given = ~np.isnan(shares[:, 0])
            fill = given & (point == NO_POINT) & (state == UNREADABLE)
            point[fill], state[fill] = shares[fill].argmax(axis=1), ANSWERED
        voices, voice_of = _voices(models, prompts)
        sample = check.samples()
        shown, orders = check.shown(point) or (None, None)
        order = check.once(item_of, voice_of, sample, voices, known)
        found = cls(
            scale, voices, known, item_of[order], voice_of[order], sample[order], state[order], point[order],
            None if shares is None else shares[order], None if shown is None else shown[order],
            None if orders is None else orders[order], n_elsewhere, check.families(models), source,
        )  # fmt: skip
        return found if items is None else found.with_items(AttributeTable(to_polars(items), item, "items frame"))

    def with_items(self, table: AttributeTable) -> Answers:
        """Return the answers with what a table of items tells about each."""
        return replace(self, attributes=match(table, self.items, "item", "answers").frame)

    def __len__(self) -> int:
        """Return the number of answers."""
        return len(self.item)

    def __repr__(self) -> str:
        models = len({voice.model for voice in self.voices})
        n = f"{models} model{'' if models == 1 else 's'}"
        return f"<Answers: {len(self):,} of {n} to {len(self.items):,} items on {self.scale}>"

    @property
    def models(self) -> tuple[str, ...]:
        """The names of the models, sorted."""
        return tuple(sorted({voice.model for voice in self.voices}))


def _repeated(text: str, n: int) -> pl.Series:
    return pl.repeat(text, n, dtype=pl.String, eager=True)


def _voices(models: pl.Series, prompts: pl.Series | None) -> tuple[tuple[Voice, ...], NDArray[np.int32]]:
    """Return the pairs of model and prompt that occur, sorted, and the pair of each row."""
    if prompts is None:
        names = models.unique().sort()
        return tuple(Voice(name, ONE_PROMPT) for name in names), places_of(models, names).astype(np.int32)
    pairs = pl.DataFrame({"model": models, "prompt": prompts})
    known = pairs.unique().sort("model", "prompt").with_row_index("voice")
    codes = pairs.join(known, on=["model", "prompt"], how="left", maintain_order="left")["voice"]
    return tuple(Voice(*row) for row in known.select("model", "prompt").iter_rows()), codes.to_numpy().astype(np.int32)

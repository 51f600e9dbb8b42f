"""For Inspect: a task that has models rate what people rated, and a scorer that measures how far they are from whom.

Needs ``pip install 'plurivox[inspect]'``. :func:`plurivox.ask.logs.read_inspect_log` reads evaluations back for all
other analyses of alignment.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plurivox.ask.database import label_of
from plurivox.ask.prompts import Example, Prompt, items_of
from plurivox.ask.question import Question, as_shown, read_reply
from plurivox.base.errors import InputError, MissingExtraError
from plurivox.domain.attributes import id_texts
from plurivox.domain.axis import MIN_GROUP_SIZE, Axis, By, withholding
from plurivox.domain.ratings import Ratings
from plurivox.domain.scale import text_of
from plurivox.infer.grouping import axes_of, each_axis, raters_who_rated
from plurivox.statistics.alignment import ada_met, ada_met_answered

try:
    from inspect_ai import Task
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import ChatMessageSystem, ChatMessageUser, GenerateConfig, ModelOutput
    from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, Value, metric, scorer
    from inspect_ai.solver import TaskState, generate
except ImportError:
    raise MissingExtraError("tasks and scorers for Inspect need inspect-ai", "inspect") from None

__all__ = ["alignment_scorer", "alignment_task"]

MESSAGES = {"system": ChatMessageSystem, "user": ChatMessageUser}
REASONS = {"refused": "refusal", "unreadable": "invalid_response_format"}
"""What Inspect calls the states that are not answers."""


def alignment_task(
    items: Any,
    question: Question,
    ratings: Ratings,
    by: By | Sequence[By] = (),
    *,
    item: str = "item",
    text: str = "text",
    prompt: str = "plain",
    persona: str = "",
    examples: Sequence[Example] = (),
    min_group_size: int = MIN_GROUP_SIZE,
    name: str | None = None,
    **options: Any,
) -> Task:
    """Return a task that asks what ``plurivox ask`` would ask, about every item, and scores by alignment.

    Parameters
    ----------
    items
        A frame with one row per item.
    question
        What to ask. Its options are shown in the order of the scale.
    ratings
        How people rated the items, on the same scale.
    by
        Rater attributes whose groups to report, or crossings of them.
    item, text
        The columns of ids and texts.
    prompt, persona, examples
        How to ask, as in :meth:`plurivox.ask.Prompt.of`.
    min_group_size
        Below this many raters a group is withheld.
    name
        The name of the task in logs; by default the prompt's name.
    options
        Other arguments of Inspect's ``Task``, such as ``epochs``. By default the temperature is 0, and a sample that
        fails does not end the evaluation.

    Raises
    ------
    InputError
        If the scales differ, no item is rated, or the table of items is invalid.
    """
    asked = Prompt.of(prompt, question, persona=persona, examples=examples)
    people = _People.of(replace(question, descriptions=question.described(asked.name)), ratings, by, min_group_size)
    order = range(len(question.scale))
    labels = [option.label for option in question.options()]
    samples = [
        Sample(
            id=one,
            input=[MESSAGES[message["role"]](content=message["content"]) for message in asked.messages(about, order)],
            choices=labels,
            target=people.targets(one),
            metadata={"prompt": asked.name},
        )
        for one, about in zip(*items_of(items, item=item, text=text), strict=True)
    ]
    if not any(sample.target for sample in samples):
        raise InputError(
            f"no item that is asked about is rated: they are called {samples[0].id!r} and the like, "
            f"and rated ones {next(iter(people.places), 'nothing')!r}",
            hint="Name the column of ids with item=.",
        )
    defaults: dict[str, Any] = {"config": GenerateConfig(temperature=0.0), "fail_on_error": False}
    return Task(
        dataset=MemoryDataset(samples), solver=generate(), scorer=_scorer(people), name=name or asked.name,
        **(defaults | options),
    )  # fmt: skip


def alignment_scorer(
    question: Question, ratings: Ratings, by: By | Sequence[By] = (), *, min_group_size: int = MIN_GROUP_SIZE
) -> Scorer:
    """Return a scorer for tasks that show the options of a question in the order of its scale.

    A sample's id is that of the item. Its score holds the ``state`` of the answer, the ``point`` on the scale, and the
    ``distance`` to the mode of all raters, which is K, the longest on the scale, if the model refused or cannot be
    read. Metrics are ``ada_met``, the mean of these distances; ``ada_met_answered``, that of answers alone; how many
    samples were ``answered``, ``refused`` and ``unreadable``, and how many ``scored``, since someone rated their item;
    and of each group that is not withheld ``ada_met[age=18-29]``, ``ada_met_answered[age=18-29]`` and
    ``scored[age=18-29]``, over the items that the group rated. All epochs count.

    Parameters are those of :func:`alignment_task`.
    """
    return _scorer(_People.of(question, ratings, by, min_group_size))


def _scorer(people: _People) -> Scorer:
    # Inspect logs the parameters of scorers and metrics. These have none, so that no rating can get into a log.

    @metric(name="alignment", scores="unreduced")
    def distances() -> Metric:
        def compute(scores: list[SampleScore]) -> Value:
            return people.compared([(str(one.sample_id), one.score.as_dict()) for one in scores])

        return compute

    @scorer(metrics=[distances()], name="alignment")
    def answers() -> Scorer:
        async def score(state: TaskState, target: Target) -> Score:
            if not state.output.choices and not state.output.completion:
                return Score.unscored(reason="no_response", explanation="no output came")
            return people.score(str(state.sample_id), state.output)

        return score

    return answers()


@dataclass(frozen=True, slots=True, eq=False)
class _People:
    """Whom answers are compared with.

    Attributes
    ----------
    places
        The row of each item in the ratings, by its id.
    votes
        How often each item got each point.
    """

    question: Question
    ratings: Ratings
    axes: tuple[Axis, ...]
    places: dict[str, int]
    votes: NDArray[np.int64]

    @classmethod
    def of(cls, question: Question, ratings: Ratings, by: By | Sequence[By], min_group_size: int) -> _People:
        """Check that question and ratings match, and sort the raters into groups."""
        if list(map(text_of, question.scale.labels)) != list(map(text_of, ratings.scale.labels)):
            raise InputError(
                f"the question is on the scale {question.scale}, but the ratings are on {ratings.scale}",
                hint="Ask on the scale of the ratings: Question(ratings.scale, …).",
            )
        axes = tuple(axes_of(ratings, each_axis(by), min_group_size))
        rows = {one: row for row, one in enumerate(id_texts(ratings.items["item"]).to_list())}
        return cls(question, ratings, axes, rows, ratings.counts())

    def targets(self, item: str) -> list[str]:
        """Return the letters of the points that most raters gave to an item, none if it is not rated."""
        votes = self.votes[self.places[item]] if item in self.places else np.zeros(1, dtype=np.int64)
        return [self.question.letters[point] for point in np.flatnonzero((votes == votes.max()) & (votes > 0))]

    def score(self, item: str, output: ModelOutput) -> Score:
        """Read an output, and measure how far it is from the mode of all raters."""
        order = range(len(self.question.scale))
        refusal = "content filter" if output.choices and output.stop_reason == "content_filter" else ""
        found = read_reply(output.completion, refusal, as_shown(self.question, order), order)
        # The distance to the mode of all raters; there is none if the item is not rated.
        distance = ada_met(self.votes[[self.places[item]]], [found.point]) if self.targets(item) else None
        seen = f": {output.completion[slice(*found.span)]}" if found.span else ""
        return Score(
            value={"state": found.state, "point": found.point, "distance": distance},
            answer=label_of(found.point, self.question.scale.labels), explanation=f"{found.rule}{seen}",
            reason=REASONS.get(found.state),
        )  # fmt: skip

    def compared(self, answers: Sequence[tuple[str, dict[str, Any]]]) -> dict[str, float]:
        """Return the metrics of answers, each with its item."""
        states = [answer["state"] for _, answer in answers]
        found: dict[str, float] = {state: states.count(state) for state in ("answered", "refused", "unreadable")}
        known = [(self.places[item], answer["point"]) for item, answer in answers if item in self.places]
        rows = np.array([row for row, _ in known], dtype=np.int64)
        points = [point for _, point in known]
        found |= _distances(self.votes[rows], points, "")
        asked = np.zeros(self.ratings.n_items, dtype=bool)
        asked[rows] = True
        rated = raters_who_rated(self.ratings, asked)
        for axis in withholding([axis.counting(rated) for axis in self.axes], rated):
            for group in np.flatnonzero(~axis.withheld):
                chosen = axis.codes[self.ratings.codes_of_raters] == group
                items, scores = self.ratings.item_codes[chosen].astype(np.int64), self.ratings.scores[chosen]
                votes = np.bincount(items * self.votes.shape[1] + scores, minlength=self.votes.size)
                votes = votes.reshape(self.votes.shape)[rows]
                found |= _distances(votes, points, f"[{axis.name}={axis.groups[group]}]")
            found[f"withheld[{axis.name}]"] = axis.n_withheld
        return found


def _distances(votes: NDArray[np.int64], points: list[int | None], of: str) -> dict[str, float]:
    return {
        f"ada_met{of}": ada_met(votes, points),
        f"ada_met_answered{of}": ada_met_answered(votes, points),
        f"scored{of}": int(np.count_nonzero(votes.any(axis=1))),
    }

"""Texts as numbers: words and symbols, and what networks read of them.

Words are runs of letters, digits and the marks above and below them, in any script, joined by apostrophes
("don't") or by the invisible joiners of Persian and Hindi. Chinese and Japanese put no spaces between words: there each
ideograph and kana counts as one. Thai, Lao and Khmer put none either, and there a whole phrase counts as one word.
"""

from __future__ import annotations

import itertools
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray


def _marks() -> str:
    """Return the marks that belong to the letter before them, as ranges; a regular expression counts none as letter."""
    codes = [code for code in range(0x300, 0x20000) if unicodedata.category(chr(code))[0] == "M"]
    runs = itertools.groupby(enumerate(codes), lambda pair: pair[1] - pair[0])
    ends = [[code for _, code in run] for _, run in runs]
    return "".join(f"{chr(run[0])}-{chr(run[-1])}" for run in ends)


_ALONE = (
    "\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\uff66-\uff9f\U00020000-\U000323af"
)
"""Ideographs and kana."""
_LETTER = rf"[^\W{_ALONE}]"
_RUN = rf"{_LETTER}(?:{_LETTER}|[{_marks()}])*"
_WORD = re.compile(rf"{_RUN}(?:['\u200c\u200d]{_RUN})*|[{_ALONE}]")
_WORD_OR_SIGN = re.compile(rf"{_WORD.pattern}|[^\w\s]")


def words(text: str) -> list[str]:
    """Return the words of a text in their order, without regard to upper and lower case.

    Examples
    --------
    >>> words("Don’t SHOUT, 東京!")
    ["don't", 'shout', '東', '京']
    """
    return _WORD.findall(_folded(text))


def words_and_signs(text: str) -> Iterator[str]:
    """Yield words and, in order, punctuation marks, emoji and other symbols.

    Examples
    --------
    >>> list(words_and_signs("Oh no… 🙃!"))
    ['oh', 'no', '…', '🙃', '!']
    """
    for found in _WORD_OR_SIGN.finditer(_folded(text)):
        token = found.group()
        if len(token) > 1 or token.isalnum() or unicodedata.category(token)[0] in "PS":
            yield token


def _folded(text: str) -> str:
    """Return the text as it is compared: no upper case, accents in one spelling, one kind of apostrophe."""
    return unicodedata.normalize("NFC", text.casefold()).replace("\u2019", "'")


# Texts ----------------------------------------------------------------------------------------------------------------
#
# From texts, and what was said before them, to the numbers that networks read.
#
# Two ways: weighted bags of words (:class:`BagEncoder`) and sequences of tokens (:class:`SequenceEncoder`). Both put
# the text first: however long the context, it takes neither features nor room from the text.


Turns = Sequence[str]
"""What came before a text, oldest first."""
PAD, UNKNOWN, SEPARATOR = range(3)
"""Tokens that are not words; words are numbered after them."""
N_SPECIAL = 3
OF_CONTEXT, OF_TEXT = range(2)
LEAST_TEXTS = 2
"""A word of one text alone teaches nothing about other texts, and may be private."""


@dataclass(frozen=True, slots=True, eq=False)
class Bags:
    """For each text its features and their weights, one text after the other; ``offsets`` says where each begins."""

    features: NDArray[np.int64]
    weights: NDArray[np.float64]
    offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def sizes(self) -> NDArray[np.int64]:
        """Return how many features each text has."""
        return np.diff(self.offsets)

    def pick(self, rows: NDArray[np.int64]) -> tuple[NDArray[Any], ...]:
        """Return what a network reads of some texts: features, where each text's start, and weights."""
        places = [np.arange(self.offsets[row], self.offsets[row + 1]) for row in rows]
        every = np.concatenate(places) if places else np.zeros(0, dtype=np.int64)
        starts = np.cumsum([0, *map(len, places)][:-1])
        return self.features[every], starts, self.weights[every]


@dataclass(frozen=True, slots=True, eq=False)
class Sequences:
    """For each text its tokens, and whether each is of the text or of the context."""

    tokens: list[NDArray[np.int32]]
    segments: list[NDArray[np.int8]]

    def __len__(self) -> int:
        return len(self.tokens)

    def sizes(self) -> NDArray[np.int64]:
        """Return how many tokens each text has."""
        return np.array([len(tokens) for tokens in self.tokens], dtype=np.int64)

    def pick(self, rows: NDArray[np.int64]) -> tuple[NDArray[Any], ...]:
        """Return what a network reads of some texts: tokens and segments, padded to the longest."""
        longest = max(len(self.tokens[row]) for row in rows)
        tokens = np.full((len(rows), longest), PAD, dtype=np.int64)
        segments = np.zeros((len(rows), longest), dtype=np.int64)
        for at, row in enumerate(rows):
            tokens[at, : len(self.tokens[row])] = self.tokens[row]
            segments[at, : len(self.tokens[row])] = self.segments[row]
        return tokens, segments


Inputs = Bags | Sequences


@dataclass(frozen=True, slots=True, eq=False)
class TfIdf:
    """Words and how much each counts: w = tf · (ln((1 + n) / (1 + df)) + 1), then each text scaled to Σ w² = 1.

    tf is how often the word is in the text, df the number of the n training texts that have it. Words that are
    in most texts count little, however often they occur. These are the weights of scikit-learn's ``TfidfVectorizer``.
    """

    words: tuple[str, ...]
    idf: NDArray[np.float64]
    _places: dict[str, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_places", {word: place for place, word in enumerate(self.words)})

    @classmethod
    def of(cls, words: Sequence[str], frequency: Counter[str], n_texts: int) -> Self:
        """Weigh words by the number of texts that have them."""
        weights = [math.log((1 + n_texts) / (1 + frequency[word])) + 1 for word in words]
        return cls(tuple(words), np.array(weights, dtype=np.float64))

    def __len__(self) -> int:
        return len(self.words)

    def weigh(self, found: Iterable[str]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the places of the known ones among some words, rising, and their weights."""
        times = Counter(self._places[word] for word in found if word in self._places)
        places = np.array(sorted(times), dtype=np.int64)
        weights = np.array([times[place] for place in places.tolist()], dtype=np.float64) * self.idf[places]
        norm = math.sqrt(float(weights @ weights))
        return places, weights / norm if norm else weights


@dataclass(frozen=True, slots=True, eq=False)
class BagEncoder:
    """Reads a text and its context as two bags of words, each weighted and scaled on its own.

    A word in the context is a different feature from the same word in the text, and since each side is scaled
    separately, a long context does not make the text's words count less.
    """

    text: TfIdf
    context: TfIdf

    @classmethod
    def learn(cls, texts: Sequence[str], contexts: Sequence[Turns], *, features: int, length: int) -> tuple[Self, str]:
        """Choose the features from training texts, and say if they share none; ``length`` is for sequences."""
        of_text = _frequency(words(text) for text in texts)
        of_context = _frequency(itertools.chain.from_iterable(map(words, turns)) for turns in contexts)
        chosen, chosen_context = _vocabularies(of_text, of_context, features)
        n = len(texts)
        return cls(TfIdf.of(chosen, of_text, n), TfIdf.of(chosen_context, of_context, n)), _remark(of_text)

    @property
    def n_features(self) -> int:
        """The number of words of both sides."""
        return len(self.text) + len(self.context)

    def encode(self, texts: Sequence[str], contexts: Sequence[Turns]) -> Bags:
        """Return the bags of some texts; a text without any known word has an empty one."""
        features, weights, sizes = [np.zeros(0, dtype=np.int64)], [np.zeros(0)], [0]
        for text, turns in zip(texts, contexts, strict=True):
            own, own_weights = self.text.weigh(words(text))
            before, before_weights = self.context.weigh(itertools.chain.from_iterable(map(words, turns)))
            features += [own, before + len(self.text)]
            weights += [own_weights, before_weights]
            sizes.append(len(own) + len(before))
        return Bags(np.concatenate(features), np.concatenate(weights), np.cumsum(sizes))

    def to_dict(self) -> dict[str, Any]:
        """Return the words and their weights as plain lists."""
        sides = {"text": self.text, "context": self.context}
        return {name: {"words": list(side.words), "idf": side.idf.tolist()} for name, side in sides.items()}

    @classmethod
    def from_dict(cls, data: dict[str, Any], *, length: int) -> Self:
        """Rebuild it from :meth:`to_dict`; raise ValueError if that is impossible."""
        sides = []
        for side in (data["text"], data["context"]):
            known, idf = _words_of(side["words"]), np.array(side["idf"], dtype=np.float64)
            if idf.shape != (len(known),) or not np.isfinite(idf).all():
                raise ValueError("the words and their weights do not match")
            sides.append(TfIdf(known, idf))
        return cls(*sides)


@dataclass(frozen=True, slots=True, eq=False)
class SequenceEncoder:
    """Reads the beginning of a text, and in the room that is left the end of what came before it.

    The tokens of the text come first, so that each keeps its position regardless of the context; then, after a
    separator, the newest tokens of the context, with a separator between turns.
    """

    words: tuple[str, ...]
    length: int
    _places: dict[str, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        places = {word: place for place, word in enumerate(self.words, start=N_SPECIAL)}
        object.__setattr__(self, "_places", places)

    @classmethod
    def learn(cls, texts: Sequence[str], contexts: Sequence[Turns], *, features: int, length: int) -> tuple[Self, str]:
        """Choose the words and symbols to know from training texts, and say if they share none."""
        of_text = _frequency(map(words_and_signs, texts))
        of_context = _frequency(itertools.chain.from_iterable(map(words_and_signs, turns)) for turns in contexts)
        chosen, more = _vocabularies(of_text, of_context, features)
        shared = dict.fromkeys([*chosen, *more, *_frequent(of_text), *_frequent(of_context)])
        return cls(tuple(shared)[:features], length), _remark(of_text)

    @property
    def n_features(self) -> int:
        """The number of tokens there are."""
        return N_SPECIAL + len(self.words)

    def encode(self, texts: Sequence[str], contexts: Sequence[Turns]) -> Sequences:
        """Return the tokens of some texts, at most ``length`` each and at least one."""
        tokens, segments = [], []
        for text, turns in zip(texts, contexts, strict=True):
            own = self._known(itertools.islice(words_and_signs(text), self.length)) or [UNKNOWN]
            before = self._newest(turns, self.length - len(own) - 1)
            row = [*own, SEPARATOR, *before] if before else own
            tokens.append(np.array(row, dtype=np.int32))
            segments.append(np.array([OF_TEXT] * len(own) + [OF_CONTEXT] * (len(row) - len(own)), dtype=np.int8))
        return Sequences(tokens, segments)

    def _newest(self, turns: Turns, room: int) -> list[int]:
        """Return the last tokens of the turns."""
        kept: list[int] = []
        for turn in reversed(turns):
            if len(kept) >= room:
                break
            found = self._known(words_and_signs(turn))
            if found:
                kept = [*found, SEPARATOR, *kept] if kept else found
        return kept[-room:] if room > 0 else []

    def _known(self, found: Iterable[str]) -> list[int]:
        return [self._places.get(token, UNKNOWN) for token in found]

    def to_dict(self) -> dict[str, Any]:
        """Return the words as a plain list."""
        return {"words": list(self.words)}

    @classmethod
    def from_dict(cls, data: dict[str, Any], *, length: int) -> Self:
        """Rebuild it from :meth:`to_dict`; raise ValueError if that is impossible."""
        return cls(_words_of(data["words"]), length)


Encoder = BagEncoder | SequenceEncoder


def _frequency(documents: Iterable[Iterable[str]]) -> Counter[str]:
    """Return how many documents have each word."""
    frequency: Counter[str] = Counter()
    for document in documents:
        frequency.update(set(document))
    return frequency


def _vocabularies(of_text: Counter[str], of_context: Counter[str], room: int) -> tuple[list[str], list[str]]:
    """Choose words of both sides: half of the places for each, and those that one side leaves unused for the other."""
    text, context = _frequent(of_text), _frequent(of_context)
    for_context = min(len(context), room // 2)
    chosen = text[: room - for_context]
    return chosen, context[: room - len(chosen)]


def _frequent(frequency: Counter[str]) -> list[str]:
    """Return the words of at least two documents, the most frequent first."""
    frequent = (word for word, times in frequency.items() if times >= LEAST_TEXTS)
    return sorted(frequent, key=lambda word: (-frequency[word], word))


def _remark(frequency: Counter[str]) -> str:
    """Say so if texts share no words."""
    return "" if _frequent(frequency) else "no two training texts share a word, so all texts look alike to the model"


def _words_of(given: Any) -> tuple[str, ...]:
    """Return a list of distinct words read from a file."""
    if not isinstance(given, list) or not all(isinstance(word, str) for word in given):
        raise ValueError("the words are not a list of texts")
    if len(set(given)) < len(given):
        raise ValueError("a word is listed twice")
    return tuple(given)

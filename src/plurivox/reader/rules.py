"""Rules."""

from __future__ import annotations

import re

from plurivox.reader.reading import Options, Reading

_REFUSAL = re.compile(
    r"\b(?:I(?:['’]m| am) (?:sorry|unable|not able)|I (?:cannot|can['’]t|won['’]t)|as an AI|unable to (?:help|assist))",
    re.IGNORECASE,
)


_WORDS = ("A", "I")  # letters that may begin a sentence


def read_answer(text: str, options: Options) -> Reading:
    """Read an answer that starts with the letter of an option; a refusal, or unreadable, otherwise.

    Parameters
    ----------
    text
        What the model answered.
    options
        The options as they were shown: ``[("A", "never"), ("B", "sometimes")]``.

    Examples
    --------
    >>> read_answer("B) sometimes, I would say", [("A", "never"), ("B", "sometimes")])
    Reading(state='answered', point=1, rule='letter first', span=(0, 1))
    >>> read_answer("I cannot judge that.", [("A", "never"), ("B", "sometimes")]).state
    'refused'
    """
    letters = {letter.casefold(): place for place, (letter, *_) in enumerate(options)}
    pattern = "|".join(re.escape(letter) for letter, *_ in sorted(options, key=lambda one: -len(one[0])))
    found = re.match(rf"[\s*_#>\"'(\[]*({pattern})(?![\w'’]|[.,]\d)", text, re.IGNORECASE)
    word = found is not None and found[1].upper() in _WORDS and re.match(r"[ \t]+[^\W\d_]", text[found.end(1) :])
    if found is not None and not word:
        return Reading("answered", letters[found[1].casefold()], "letter first", found.span(1))
    refusal = _REFUSAL.search(text)
    if refusal is not None:
        return Reading("refused", None, "refusal", refusal.span())
    return Reading("unreadable", None, "empty" if not text.strip() else "nothing found", None)

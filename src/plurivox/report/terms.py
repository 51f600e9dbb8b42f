"""Terms that a reader may not know: explained where they are first used, and listed in the glossary."""

from __future__ import annotations

import re
from html import escape

from plurivox.report.parts import slug
from plurivox.statistics.registry import LABELS, STATISTICS

TERMS = {LABELS[name]: (slug("term", name), one.meaning) for name, one in STATISTICS.items()}
"""The id and the meaning of each statistic, by its name in sentences."""
TERMS["alpha"] = TERMS[LABELS["irr"]]
TERMS["leniency"] = TERMS[LABELS["leniency"]]
_PLAIN = {"answered", "bias", "departure", "estimate", "gap", "overruled", "refused", "shift", "unreadable", "ρ"}
"""Labels that sentences also use in another sense, or that data may contain; only the glossary explains them."""
_FOUND = sorted(TERMS.keys() - _PLAIN, key=len, reverse=True)
_WORDS = re.compile("|".join(rf"(?<!\w){re.escape(word)}(?!\w)" for word in _FOUND))


class Explained:
    """Turns text into HTML in which each term has a tooltip with its meaning at its first use.

    Examples
    --------
    >>> explained = Explained(linked=True)
    >>> "#term-gai" in explained("GAI < 1"), explained("GAI < 1")
    (True, 'GAI &lt; 1')
    """

    def __init__(self, *, linked: bool) -> None:
        self._linked = linked
        self._seen: set[str] = set()

    def __call__(self, text: str) -> str:
        """Return a text as HTML."""
        pieces, at = [], 0
        for found in _WORDS.finditer(text):
            name, meaning = TERMS[found[0]]
            if name in self._seen:
                continue
            self._seen.add(name)
            pieces += [escape(text[at : found.start()]), self._marked(found[0], name, meaning)]
            at = found.end()
        return "".join(pieces) + escape(text[at:])

    def _marked(self, word: str, name: str, meaning: str) -> str:
        title = escape(meaning)
        if self._linked:
            return f'<a class="term" href="#{name}" title="{title}">{escape(word)}</a>'
        return f'<abbr title="{title}">{escape(word)}</abbr>'

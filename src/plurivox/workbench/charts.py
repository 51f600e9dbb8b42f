"""Links in charts: from the mark or the name of a group to its page, and of an item to its own.

Charts are those of reports and describe each mark; links are put around what was drawn. The study's address is not
known while a chart is made, so addresses begin with ``~/`` until a page shows them.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlencode

_BOTH = re.compile(r'<div class="on-wide">(.*?)</div><div class="on-narrow">(.*?)</div>', re.DOTALL)
_ELEMENT = re.compile(r'<([a-z]\w*)((?: [\w:-]+(?:="[^"]*")?)*) ?(/?)>(?:([^<]*)</text>)?')
_SAID = re.compile(r' aria-label="([^"]*)"')
_GROUP = re.compile(r"(?:^|; )group: (.*?)(?:; attribute: (.*?))?(?:; with: (.*?))?(?:;|$)")
_ITEM = re.compile(r"^item: (.*?)(?:;|$)")
_LINK = re.compile(r'<a class="to"[^>]*>(.*?)</a>', re.DOTALL)
_PLACE = re.compile(r'href="~/(\w+)\?')
_REFERENCE = " (reference)"


@dataclass(frozen=True)
class LinkedPages:
    """What has a page of its own: groups by axis, and items."""

    groups: Mapping[str, Collection[str]]
    is_item: Callable[[str], bool]

    def of(self, said: str) -> LinkTarget | None:
        """Return where a mark leads, from its description.

        Examples
        --------
        >>> places = LinkedPages({"gender": ["Woman", "Man"]}, lambda name: name == "i1")
        >>> places.of("group: Woman; attribute: gender; GAI: 1.07").address
        '~/groups?axis=gender&group=Woman'
        >>> places.of("item: i1; text: A; group: Woman").address
        '~/item?item=i1'
        >>> places.of("group: all raters; GAI: 1.07") is None
        True
        """
        if (found := _ITEM.match(said)) is not None:
            return LinkTarget("item", {"item": found[1]}, (found[1],)) if self.is_item(found[1]) else None
        if (found := _GROUP.search(said)) is None:
            return None
        group, axis, other = found.groups()
        axes = [one for one, names in self.groups.items() if group in names and axis in (None, one)]
        if len(axes) != 1:  # if several attributes have such a group, it is ambiguous
            return None
        axis = axes[0]
        if other is not None and other != group and other in self.groups[axis]:
            return LinkTarget("compare", {"axis": axis, "one": group, "other": other})
        names = (f"{axis} {group}", f"{axis}: {group}", *(() if _is_number(group) else (group,)))
        return LinkTarget("groups", {"axis": axis, "group": group}, names)


@dataclass(frozen=True)
class LinkTarget:
    """A page, what its address says, and the names that a chart may write for it next to an axis."""

    page: str
    asked: Mapping[str, str]
    names: tuple[str, ...] = ()

    @property
    def address(self) -> str:
        """Its address, within the study."""
        return f"~/{self.page}?{urlencode(self.asked)}"


@dataclass
class _Chart:
    """One chart: what its marks are, in order, and which of its links the keyboard reaches."""

    places: LinkedPages
    said: list[str]
    named: dict[str, LinkTarget | None] = field(default_factory=dict)
    reached: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        for target in filter(None, map(self.places.of, self.said)):
            for name in target.names:
                known = self.named.setdefault(name, target)
                self.named[name] = target if known is not None and known.address == target.address else None

    def at_text(self, text: str) -> LinkTarget | None:
        """Return where a name next to an axis leads; texts of items follow their ids."""
        text = html.unescape(text).removesuffix(_REFERENCE)
        return self.named.get(text) or self.named.get(text.partition(" · ")[0])

    def linked(self, svg: str) -> str:
        """Return a picture of the chart with links."""
        at = iter(self.said)
        self.reached = set()
        texts = {target.address for found in _ELEMENT.finditer(svg) if (target := self.at_text(found[4] or ""))}
        return _ELEMENT.sub(lambda found: self._with_link(found, at, texts), svg)

    def _with_link(self, found: re.Match[str], at: Iterator[str], texts: Collection[str]) -> str:
        whole, _, attributes, closed, text = found[0], *found.groups()
        said = _SAID.search(attributes)
        own = html.unescape(said[1]) if said else next(at, "") if " data-said" in attributes else None
        target = self.places.of(own) if own else self.at_text(text) if text else None
        if target is None or not (closed or text):
            return whole
        # One stop for the keyboard at each page: its name where it is written, else its first mark.
        stops = target.address not in self.reached and (own is None or target.address not in texts)
        if stops:
            self.reached.add(target.address)
        quiet = "" if stops else ' tabindex="-1"'
        return f'<a class="to" href="{html.escape(target.address)}"{quiet}>{whole}</a>'


def with_links(fragment: str, places: LinkedPages) -> str:
    """Return a piece of a page whose charts have links."""

    def both(found: re.Match[str]) -> str:
        chart = _Chart(places, [html.unescape(said) for said in _SAID.findall(found[1])])
        wide, narrow = map(chart.linked, found.groups())
        return f'<div class="on-wide">{wide}</div><div class="on-narrow">{narrow}</div>'

    return _BOTH.sub(both, fragment)


def at_home(fragment: str, home: str, run: str | None) -> str:
    """Return a piece of a page whose links lead to pages of a study's run; without a run there are no links."""
    if run is None:
        return _LINK.sub(r"\1", fragment)
    return _PLACE.sub(rf'href="{home}/\1?run={run}&amp;', fragment)


def _is_number(text: str) -> bool:
    """Return whether a name could also be a number on an axis."""
    try:
        float(text)
    except ValueError:
        return False
    return True

"""Links in charts: every mark and name of a group or an item leads to its page, and nothing else is changed."""

from __future__ import annotations

import html
import re
from collections import Counter
from typing import Any
from xml.etree import ElementTree

import pytest

from plurivox.workbench.charts import LinkedPages, at_home, with_links
from workbench_support import RATINGS, add_study, send, settled

pytest.importorskip("starlette")
pytest.importorskip("vl_convert")


DRAWN = True
LINK = re.compile(r'<a class="to" href="([^"]*)"( tabindex="-1")?>(.*?)</a>')
ITEMS = "item,topic\n" + "".join(f"i{item},{'ab'[item % 2]}\n" for item in range(12))


def chart(wide: str, narrow: str | None = None) -> str:
    """Return a chart as reports have it; the narrow picture says the same as the wide one."""
    said = re.sub(r' aria-label="[^"]*"', " data-said", wide) if narrow is None else narrow
    return f'<div class="on-wide"><svg>{wide}</svg></div><div class="on-narrow"><svg>{said}</svg></div></div>'


def mark(said: str) -> str:
    return f'<path aria-label="{html.escape(said)}" d="M0,0"/>'


PLACES = LinkedPages(
    {"gender": ["Woman", "Man"], "age": ["1", "60+"], "kind": ["Man", "A & <b>"]}, lambda one: one == "i1"
)


def links(text: str) -> list[tuple[str, bool, str]]:
    """Return each address, whether the keyboard stops there, and what is inside."""
    return [(html.unescape(address), not quiet, inside) for address, quiet, inside in LINK.findall(text)]


def test_marks_and_names_lead_to_the_page_of_a_group() -> None:
    said = "group: Woman; attribute: gender; GAI: 1.07"
    made = with_links(chart(f"<text>gender</text><text>Woman</text>{mark(said)}{mark(said)}"), PLACES)
    wide, narrow = made.split('<div class="on-narrow">')
    for picture in (wide, narrow):
        found = links(picture)
        assert [address for address, *_ in found] == ["~/groups?axis=gender&group=Woman"] * 3
        assert [stops for _, stops, _ in found] == [True, False, False]  # the keyboard stops once, at the name
        assert found[0][2] == "<text>Woman</text>"
    assert LINK.sub(r"\3", made) == chart(f"<text>gender</text><text>Woman</text>{mark(said)}{mark(said)}")


@pytest.mark.parametrize(("said", "address"), [
    ("group: Man; attribute: gender; GAI: 1", "~/groups?axis=gender&group=Man"),
    ("group: Man; GAI: 1", None),  # of two attributes with such a group nobody says which
    ("group: Woman; GAI: 1", "~/groups?axis=gender&group=Woman"),
    ("group: 60+; attribute: age", "~/groups?axis=age&group=60%2B"),
    ("group: A & <b>; attribute: kind; n: 3", "~/groups?axis=kind&group=A+%26+%3Cb%3E"),
    ("group: Woman; with: Man; measure: XRR", "~/compare?axis=gender&one=Woman&other=Man"),
    ("group: Woman; with: Woman; measure: IRR", "~/groups?axis=gender&group=Woman"),
    ("model: m; group: Woman; attribute: gender", "~/groups?axis=gender&group=Woman"),
    ("group: all raters; point: 0", None),
    ("group: Robot; attribute: gender", None),
    ("attribute: age; group with the largest GAI: 60+", None),
    ("item: i1; text: Nice; attribute: gender; group: Woman", "~/item?item=i1"),
    ("item: i2; text: Nice", None),
    ("", None),
])  # fmt: skip
def test_what_is_said_of_a_mark_tells_where_it_leads(said: str, address: str | None) -> None:
    found = links(with_links(chart(mark(said)), PLACES))
    assert [one for one, *_ in found] == ([] if address is None else [address] * 2)
    assert all(stops for _, stops, _ in found)


def test_a_group_called_like_a_number_is_not_taken_for_one_at_an_axis() -> None:
    made = with_links(chart(f"<text>1</text><text>age 1</text>{mark('group: 1; attribute: age')}"), PLACES)
    assert links(made)[0][2] == "<text>age 1</text>"
    assert made.count("<text>1</text>") == 2
    assert "<a" not in made[: made.index("<text>1</text>")]


def test_the_name_of_an_item_stands_before_its_text() -> None:
    made = with_links(chart(f"<text>i1 · Somebody said…</text><text>i2 · i1</text>{mark('item: i1; text: x')}"), PLACES)
    assert [inside for *_, inside in links(made)[:1]] == ["<text>i1 · Somebody said…</text>"]
    assert len(links(made)) == 4


def test_without_a_run_there_are_no_pages_to_lead_to() -> None:
    made = with_links(chart(mark("group: Woman; attribute: gender")), PLACES)
    assert at_home(made, "/studies/a", None) == chart(mark("group: Woman; attribute: gender"))
    assert 'href="/studies/a/groups?run=r&amp;axis=gender&amp;group=Woman"' in at_home(made, "/studies/a", "r")


@pytest.mark.slow  # it draws every chart of every section
def test_links_of_all_charts_lead_somewhere(client: Any) -> None:
    home = add_study(client, RATINGS, items=ITEMS)
    settled(client, home)
    assert send(client, f"{home}/reading", **{"about:gender": "raters", "scale": "0:3"}).status_code == 303
    settled(client, home)
    alone = settled(client, f"{home}/lenses/item_view?go=1&item=i1&by=gender")
    assert "<svg" in alone
    assert 'class="to"' not in alone  # nothing was run yet
    asked = {"by": "gender", "permutations": "20", "max_permutations": "20", "reference": "crowd"}
    results = str(send(client, f"{home}/ask", **asked).headers["location"])
    settled(client, results)
    addresses: Counter[str] = Counter()
    for part in ("answer", "study", "variation", "cohesion", "responsiveness", "items"):
        page = settled(client, f"{results}&part={part}")
        for svg in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
            ElementTree.fromstring(svg.replace(" data-said", ""))  # it is still a picture
            stops = Counter(html.unescape(address) for address, quiet, _ in LINK.findall(svg) if not quiet)
            assert set(stops.values()) <= {1}
            assert set(stops) == {html.unescape(address) for address, *_ in LINK.findall(svg)}
            addresses += stops
    assert {re.match(r".*/(\w+)\?", one)[1] for one in addresses} == {"groups", "item", "compare"}  # type: ignore[index]
    for address in addresses:
        assert re.search(r'id="view-title"|id="stream"', client.get(address).text), address
    assert 'class="to"' in settled(client, f"{home}/lenses/item_view?go=1&item=i1&by=gender")
    assert "is not among the groups of this run" in settled(client, f"{home}/groups?axis=gender&group=robot")

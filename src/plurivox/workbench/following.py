"""The page of a study whose files grow: counts as they arrive, and a deliberate look at the tests."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from plurivox.base.errors import InputError, SelectionError
from plurivox.report.settings import MOST_LOOKS
from plurivox.workbench.pages import Form, bench_of, form_of, go, one, revision, study_of, study_page
from plurivox.workbench.watcher import CHANGED
from plurivox.workbench.watches import Watch, changes, summary

SHOWN = 30
"""Arrivals that a page lists."""


def watch_of(request: Request) -> Watch:
    """Return how the study in an address is watched, or raise if it has no file to watch."""
    found = bench_of(request).watcher.watches.of(study_of(request).id)
    if found is None:
        raise SelectionError(
            "this study has no file to watch", hint="Name the file when you start: plurivox serve ratings.csv."
        )
    return found


async def following(request: Request) -> Response:
    """Show what the files contain now, what arrived when, and which look the tests belong to."""
    bench, study, watch = bench_of(request), study_of(request), watch_of(request)
    look = bench.look(study)
    tested = summary(look) if look is not None and not look["problem"] else None
    arrivals = bench.watcher.watches.arrivals(study.id)
    good = [told for told in arrivals if not told.get("problem")]
    now = good[-1] if good else tested
    newest = bench.watcher.watches.newest(study)
    return study_page(
        request, "watch.html.j2", study, "watch", watch=watch, tested=tested, now=now, log=_log(arrivals),
        problem_now=arrivals[-1].get("problem") if arrivals else None, run=bench.last_run(study.id), most=MOST_LOOKS,
        new=newest.files != study.files, groups=_groups(tested, now), use=_use(tested, now), shown=_last(arrivals),
    )  # fmt: skip


def _last(arrivals: Sequence[Mapping[str, Any]]) -> str:
    """Return the mark of what arrived last, by which a page tells what it shows."""
    return repr(arrivals[-1]["at"]) if arrivals else ""


def _log(arrivals: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return what changed when, the latest first."""
    found: list[dict[str, Any]] = []
    before: Mapping[str, Any] | None = None
    for told in arrivals:
        if told.get("problem"):
            found.append({"at": told["at"], "text": told["problem"]["text"], "bad": True, "end": ""})
            continue
        fewer = before is not None and told["sizes"]["ratings"] < before["sizes"]["ratings"]
        text = changes(before, told) if before is not None else f"At first: {changes(None, told)}"
        end = " — fewer than before: is the file whole?" if fewer else ""
        found.append({"at": told["at"], "text": text, "bad": fewer, "end": end})
        before = told
    return found[::-1][:SHOWN]


def _groups(tested: Mapping[str, Any] | None, now: Mapping[str, Any] | None) -> list[tuple[str, str, Any, int]]:
    """Return raters of each group, at the last look and now."""
    known = {(axis, name): n for axis, name, n in (tested or {}).get("groups", ())}
    return [(axis, name, known.get((axis, name)), n) for axis, name, n in (now or {}).get("groups", ())]


def _use(tested: Mapping[str, Any] | None, now: Mapping[str, Any] | None) -> list[tuple[str, float | None, float]]:
    """Return the share of each point of the scale, at the last look and now."""
    if now is None or not sum(now["usage"]):
        return []
    n = sum(now["usage"])
    same = tested is not None and tested["scale"] == now["scale"] and sum(tested["usage"])
    old = [100 * k / sum(tested["usage"]) for k in tested["usage"]] if tested and same else [None] * len(now["usage"])
    return [(label, a, 100 * k / n) for label, a, k in zip(now["scale"], old, now["usage"], strict=False)]


def _number(form: Form, name: str) -> int | None:
    text = one(form, name).strip().replace(",", "")
    if text and not (text.isascii() and text.isdigit() and len(text) < 12):
        raise InputError(f"{name} is {text[:40]!r}", hint="Give a whole number.")
    return int(text) if text else None


async def change(request: Request) -> Response:
    """Start or stop watching."""
    study, form = study_of(request), await form_of(request)
    bench_of(request).watcher.watches.change(
        study.id, going=one(form, "going") == "1", planned=_number(form, "planned"), expected=_number(form, "expected")
    )
    return go(f"/studies/{study.id}/watch")


async def run_now(request: Request) -> Response:
    """Accept what arrived, and run the analyses: a look."""
    bench, form = bench_of(request), await form_of(request)
    watch_of(request)
    study = bench.watcher.watches.take_in(study_of(request).id, revision(form))
    look = bench.look(study)
    if look is None:  # what was shown was read before, and is only recorded again
        await bench.jobs.until_ended(bench.jobs.ask(study, "look", {}, again=True).id)
        look = bench.look(study)
    run = bench.run(study, bench.usual(study, look))
    return go(f"/studies/{study.id}/results?run={run.id}")


async def events(request: Request) -> Response:
    """Tell a page when something arrives, as long as it listens, and at once if it shows less than there is."""
    watcher, study = bench_of(request).watcher, watch_of(request).study
    shown = request.query_params.get("shown", "")

    async def told() -> AsyncIterator[bytes]:
        with watcher.listening(study) as listener:
            yield b": here\n\n"
            if _last(watcher.watches.arrivals(study)) != shown:
                listener.tell(CHANGED)
            async for names in listener.changes():
                yield "".join(f"event: {name}\ndata: {name}\n\n" for name in names).encode() or b": waiting\n\n"

    return StreamingResponse(told(), media_type="text/event-stream")


ROUTES = [
    Route("/studies/{study}/watch", following),
    Route("/studies/{study}/watch", change, methods=["POST"]),
    Route("/studies/{study}/watch/run", run_now, methods=["POST"]),
    Route("/studies/{study}/watch/events", events),
]

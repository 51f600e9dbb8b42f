"""The workbench for programs: JSON under /api/v1, and its OpenAPI description from the records of settings."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from plurivox import __version__
from plurivox.base.errors import InputError, SelectionError
from plurivox.base.settings import Settings
from plurivox.base.settings.record import Spec, plain
from plurivox.lenses import lenses
from plurivox.report.settings import ReportSettings
from plurivox.workbench.bench import Bench, open_packed
from plurivox.workbench.making import lens_named, problem_in_words
from plurivox.workbench.pages import bench_of, of_study, page, said_of
from plurivox.workbench.reading import ReadingSettings
from plurivox.workbench.records import DONE, PLACES, StoredRun, StudyRecord
from plurivox.workbench.runs import run_of

PATIENCE = 2.0
"""Seconds that a request waits for its answer before it is told to ask again."""


async def body_of(request: Request, *allowed: str) -> dict[str, Any]:
    """Return the object that a request sends, or raise if it is not one or has unknown keys."""
    try:
        found = json.loads(await request.body() or b"{}")
    except (ValueError, RecursionError):
        raise InputError("this is not JSON", hint="Send an object.") from None
    if not isinstance(found, dict):
        raise InputError("this is not an object", hint="Send an object, such as {}.")
    for name in found:
        if allowed and name not in allowed:
            raise InputError(f"there is no {name!r}", hint=f"Known: {', '.join(allowed)}.")
    return found


def shown_study(study: StudyRecord) -> dict[str, Any]:
    """Return what programs are told about a study."""
    files = {role: {"name": one.shown, "size": one.size, "sha256": one.sha256} for role, one in study.files.items()}
    return {
        "id": study.id, "name": study.name, "created": study.created, "changed": study.changed,
        "revision": study.revision, "reading": study.reading, "asked": study.asked, "files": files,
    }  # fmt: skip


def shown_run(bench: Bench, run: StoredRun) -> dict[str, Any]:
    """Return what programs are told about a run, with its result once there is one."""
    state = bench.jobs.progress(run.id)
    told: dict[str, Any] = {
        "id": run.id, "kind": run.kind, "state": run.state, "created": run.created, "ended": run.ended,
        "asked": run.asked, "problem": run.problem,
        "progress": {"percent": state.share, "doing": state.what or state.name},
    }  # fmt: skip
    folder, record = bench.jobs.made_by(run if run.state == DONE else None)
    if folder is not None:
        result = folder / "result.json"
        told["result"] = json.loads(result.read_text(encoding="utf-8")) if result.is_file() else record
    return told


async def asked(bench: Bench, study: StudyRecord, kind: str, question: Mapping[str, Any]) -> Response:
    """Have something computed; return its answer if that is quick, otherwise what to ask for again."""
    if "ratings" not in study.files:
        raise InputError("the study has no ratings yet", hint="Add the file with the ratings.")
    run = bench.run(study, question) if kind == "run" else bench.jobs.ask(study, kind, question, again=True)
    if run.going:
        with contextlib.suppress(TimeoutError):
            run = await asyncio.wait_for(bench.jobs.until_ended(run.id), PATIENCE)
    status = 202 if run.going else 200 if run.state == DONE else 400
    if status == 400:
        told = run.problem or problem_in_words(f"it was {run.state}")
        return JSONResponse({"error": {"status": 400, **told}}, 400)
    return JSONResponse(shown_run(bench, run), status)


async def studies(request: Request) -> Response:
    """List all studies."""
    return JSONResponse([shown_study(one) for one in bench_of(request).store.studies()])


async def add_study(request: Request) -> Response:
    """Add a study without files, the simulated one, or a packed one on this machine."""
    bench, given = bench_of(request), await body_of(request, "name", "simulated", "packed")
    name, simulated, packed = given.get("name", "A study"), given.get("simulated", False), given.get("packed")
    _check_name(name)
    if packed is not None:
        if not isinstance(packed, str) or not packed.strip() or not packed.isprintable() or simulated is not False:
            raise InputError("this is not a packed study", hint="Send the path of a folder made by plurivox pack.")
        bench.check_local()
        found = await asyncio.to_thread(open_packed, bench.store, packed)
        return JSONResponse(shown_study(bench.store.study(found)), 201)
    if not isinstance(simulated, bool):
        raise InputError("simulated must be true or false", hint="Send true for the simulated study.")
    found = await bench.simulated() if simulated else bench.store.add_study(name)
    return JSONResponse(shown_study(bench.store.study(found)), 201)


def _check_name(name: Any) -> None:
    if not isinstance(name, str) or not len(name.strip()) > 0 or len(name) > 200 or not name.isprintable():
        raise InputError("this is not a name", hint="Send a text of 1 to 200 characters.")


async def study(request: Request, bench: Bench, known: StudyRecord) -> Response:
    """Return what is known about a study."""
    return JSONResponse(shown_study(known))


async def change_study(request: Request, bench: Bench, known: StudyRecord) -> Response:
    """Change its name, how its files are read, or its settings."""
    given = await body_of(request, "name", "revision", "reading", "asked")
    revision = given.pop("revision", None)
    if revision is not None and not isinstance(revision, int):
        raise InputError("revision is not a whole number", hint="Send the one that the study has.")
    if "name" in given:
        _check_name(given["name"])
    for name, record in (("reading", ReadingSettings), ("asked", ReportSettings)):
        if name in given:
            if not isinstance(given[name], dict):
                raise InputError(f"{name} is not an object", hint="Send settings by their names.")
            given[name] = said_of(record.from_dict(given[name]))
    bench.store.change_study(known.id, revision, **given)
    return JSONResponse(shown_study(bench.store.study(known.id)))


async def delete_study(request: Request, bench: Bench, known: StudyRecord) -> Response:
    """Delete a study and its files."""
    await bench.forget(known.id)
    return Response(status_code=204)


async def put_file(request: Request, bench: Bench, known: StudyRecord) -> Response:
    """Add a file, or replace another."""
    role = _role(request)
    name = request.query_params.get("name", "")
    if not name.strip():
        raise InputError("the file has no name", hint="Send it as ?name=ratings.csv.")
    with bench.store.adding(known.id, role, name) as upload:  # piece by piece, straight to disk
        async for piece in request.stream():
            await asyncio.to_thread(upload.write, piece)
    return JSONResponse(shown_study(bench.store.study(known.id)))


def _role(request: Request) -> str:
    role: str = request.path_params["role"]
    if role not in PLACES:
        raise SelectionError(f"a study has no file {role!r}", hint=f"It has: {', '.join(PLACES)}.")
    return role


async def remove_file(request: Request, bench: Bench, known: StudyRecord) -> Response:
    """Remove a file."""
    bench.store.remove_file(known.id, _role(request))
    return Response(status_code=204)


async def look(request: Request, bench: Bench, known: StudyRecord) -> Response:
    """Return what was recognised in the files, and what is wrong."""
    return await asked(bench, known, "look", {})


async def runs(request: Request, bench: Bench, known: StudyRecord) -> Response:
    """List what was computed."""
    names = ("id", "kind", "state", "created", "ended")
    return JSONResponse([{name: getattr(one, name) for name in names} for one in bench.store.runs(known.id)])


async def start_run(request: Request, bench: Bench, known: StudyRecord) -> Response:
    """Run every analysis that the files allow."""
    return await asked(bench, known, "run", ReportSettings.from_dict(await body_of(request)).as_dict())


async def run(request: Request, bench: Bench, known: StudyRecord) -> Response:
    """Return how far a run is, with its result once there is one."""
    return JSONResponse(shown_run(bench, run_of(request, bench, known)))


async def cancel_run(request: Request, bench: Bench, known: StudyRecord) -> Response:
    """End a run."""
    await bench.jobs.cancel(run_of(request, bench, known).id)
    return Response(status_code=204)


async def question(request: Request, bench: Bench, known: StudyRecord) -> Response:
    """Ask one lens."""
    lens = lens_named(request.path_params["lens"])
    takes_item = any(one.name == "item" for one in lens.inputs)
    given = await body_of(request, "settings", *(("item",) if takes_item else ()))
    settings = given.get("settings", {})
    if not isinstance(settings, dict):
        raise InputError("settings is not an object", hint="Send settings by their names.")
    if takes_item and not isinstance(given.get("item"), str):
        raise InputError("no item is named", hint='Send its id as "item".')
    lacking = [one.name for one in lens.inputs if one.options[0].argument and one.name != "item"
               and one.name not in known.files]  # fmt: skip
    if lacking:
        raise InputError(f"this needs {' and '.join(lacking)}", hint="Add the file first.")
    record = lens.settings.from_dict(settings)
    question = bench.question(known, lens, record, given["item"] if takes_item else "")
    return await asked(bench, known, "question", question)


# The description ------------------------------------------------------------------------------------------------------

_KINDS = {bool: "boolean", int: "integer", float: "number", str: "string"}
_STRING: dict[str, Any] = {"type": "string"}


def schema_of(settings: type[Settings]) -> dict[str, Any]:
    """Return the JSON schema of a settings record."""
    specs = settings.specs()
    made: dict[str, Any] = {
        "type": "object", "additionalProperties": False,
        "properties": {name: _schema(spec) for name, spec in specs.items()},
    }  # fmt: skip
    required = [name for name, spec in specs.items() if spec.required]
    return made | ({"required": required} if required else {})


def _schema(spec: Spec) -> dict[str, Any]:
    told: dict[str, Any] = {"description": spec.help}
    if spec.choices is not None:
        told["enum"] = [*spec.choices, *([None] if spec.optional else [])]
    elif spec.kind is not None and spec.canonical is None:
        kind = _KINDS[spec.kind]
        told["type"] = [kind, "null"] if spec.optional else kind
        told |= {name: value for name, value in (("minimum", spec.least), ("maximum", spec.most)) if value is not None}
    if not spec.required:
        told["default"] = plain(spec.default)
    return told


def _body(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"required": True, "content": {"application/json": {"schema": dict(schema)}}}


def _object(properties: Mapping[str, Any], *required: str) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "properties": dict(properties),
            **({"required": list(required)} if required else {})}  # fmt: skip


def _answers(*statuses: int) -> dict[str, Any]:
    words = {200: "Done", 201: "Added", 202: "Being computed: ask for the run again", 204: "Gone", 400: "Not usable: "
             "the error says why", 404: "Not found", 409: "Changed in the meantime", 413: "Too large"}  # fmt: skip
    found: dict[str, Any] = {}
    for status in statuses:
        found[str(status)] = {"description": words[status]}
        if status >= 400 and status != 413:
            found[str(status)]["content"] = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
        elif status < 204:
            found[str(status)]["content"] = {"application/json": {"schema": {}}}
    return found


V1 = "/api/v1"
_NAME = {"type": "string", "minLength": 1, "maxLength": 200}
_IN_PATH: dict[str, Any] = {
    "study": {"schema": _STRING, "description": "Its id."}, "run": {"schema": _STRING, "description": "Its id."},
    "role": {"schema": {"type": "string", "enum": list(PLACES)}},
}  # fmt: skip
_FILE_NAME = {"name": "name", "in": "query", "required": True, "schema": {"type": "string", "minLength": 1},
              "description": "The file name; its extension gives the kind of file."}  # fmt: skip
_BYTES = {"required": True, "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}}
_ENDPOINTS: tuple[tuple[str, str, Callable[..., Any], tuple[int, ...]], ...] = (
    ("get", "/studies", studies, (200,)),
    ("post", "/studies", add_study, (201, 400)),
    ("get", "/studies/{study}", study, (200, 404)),
    ("patch", "/studies/{study}", change_study, (200, 400, 404, 409)),
    ("delete", "/studies/{study}", delete_study, (204, 404)),
    ("put", "/studies/{study}/files/{role}", put_file, (200, 400, 404, 413)),
    ("delete", "/studies/{study}/files/{role}", remove_file, (204, 404)),
    ("post", "/studies/{study}/look", look, (200, 202, 400, 404)),
    ("get", "/studies/{study}/runs", runs, (200, 404)),
    ("post", "/studies/{study}/runs", start_run, (200, 202, 400, 404)),
    ("get", "/studies/{study}/runs/{run}", run, (200, 404)),
    ("delete", "/studies/{study}/runs/{run}", cancel_run, (204, 404)),
)
"""Method, address, what answers (whose name and docstring describe it), and statuses."""


def _parameters(path: str) -> dict[str, Any]:
    named = [{"name": name, "in": "path", "required": True, **_IN_PATH[name]} for name in re.findall(r"{(\w+)}", path)]
    return {"parameters": named} if named else {}


@functools.cache
def description() -> dict[str, Any]:
    """Return the OpenAPI description."""
    paths: dict[str, Any] = {}
    new = {"name": _NAME, "simulated": {"type": "boolean"}, "packed": _STRING}
    changes = {"name": _NAME, "revision": {"type": "integer"}, "reading": schema_of(ReadingSettings),
               "asked": schema_of(ReportSettings)}  # fmt: skip
    bodies: dict[Callable[..., Any], dict[str, Any]] = {
        add_study: {"requestBody": _body(_object(new))}, change_study: {"requestBody": _body(_object(changes))},
        put_file: {"parameters": [_FILE_NAME], "requestBody": _BYTES},
        start_run: {"requestBody": _body(schema_of(ReportSettings))},
    }  # fmt: skip
    for method, path, function, statuses in _ENDPOINTS:
        paths.setdefault(path, _parameters(path))[method] = {
            "operationId": function.__name__, "summary": function.__doc__, **bodies.get(function, {}),
            "responses": _answers(*statuses),
        }  # fmt: skip
    for lens in lenses():
        inputs = {source.name: _STRING for source in lens.inputs if source.name == "item"}
        body = _object({"settings": schema_of(lens.settings), **inputs}, *inputs)
        paths[f"/studies/{{study}}/questions/{lens.name}"] = {
            **_parameters("{study}"),
            "post": {
                "operationId": f"ask_{lens.name}", "summary": lens.question,
                "description": lens.about.replace("\n", " "),
                "requestBody": _body(body), "responses": _answers(200, 202, 400, 404),
            },
        }  # fmt: skip
    purpose = (
        "What the pages of the workbench do, for programs on the same machine. Send the key that the page /api shows"
    )
    return {
        "openapi": "3.1.0",
        "info": {"title": "plurivox workbench", "version": __version__,
                 "description": f"{purpose} as: Authorization: Bearer KEY."},
        "servers": [{"url": V1}],
        "security": [{"key": []}],
        "paths": paths,
        "components": {"schemas": {"Error": _object({"error": {"type": "object"}}, "error")},
                       "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}}},
    }  # fmt: skip


async def openapi(request: Request) -> Response:
    """Describe all this."""
    return JSONResponse(description())


async def about(request: Request) -> Response:
    """Explain the API to people, with the key that programs send."""
    told = description()
    lines = [(method.upper(), f"/api/v1{path}", one["summary"]) for path, methods in told["paths"].items()
             for method, one in methods.items() if method != "parameters"]  # fmt: skip
    return page(request, "api.html.j2", lines=lines, key=bench_of(request).key, host=request.headers["host"])


ROUTES = [
    Route("/api", about),
    Route(f"{V1}/openapi.json", openapi),
    *(
        of_study(f"{V1}{path}", function, method.upper())
        if "{study}" in path
        else Route(f"{V1}{path}", function, methods=[method.upper()])
        for method, path, function, _ in _ENDPOINTS
    ),
    of_study(f"{V1}/studies/{{study}}/questions/{{lens}}", question, "POST"),
]

"""The OpenAPI description for programs, made from the records of lenses, reports and reading."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from plurivox import __version__
from plurivox.base.settings import Settings
from plurivox.base.settings.record import Spec
from plurivox.base.settings.values import plain
from plurivox.report.settings import ReportSettings
from plurivox.workbench.bench import single
from plurivox.workbench.reading import ReadingSettings
from plurivox.workbench.records import PLACES

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


_STUDY = {"name": "study", "in": "path", "required": True, "schema": {"type": "string"}, "description": "Its id."}
_RUN = {"name": "run", "in": "path", "required": True, "schema": {"type": "string"}, "description": "Its id."}
_ROLE = {"name": "role", "in": "path", "required": True, "schema": {"type": "string", "enum": list(PLACES)}}
_NAME = {"name": "name", "in": "query", "required": True, "schema": {"type": "string", "minLength": 1},
         "description": "The file name; its extension gives the kind of file."}  # fmt: skip


@functools.cache
def description() -> dict[str, Any]:
    """Return the description."""
    paths: dict[str, Any] = {
        "/studies": {
            "get": {"operationId": "studies", "summary": "List all studies.", "responses": _answers(200)},
            "post": {
                "operationId": "add_study",
                "summary": "Add a study without files, the simulated one, or a packed one on this machine.",
                "requestBody": _body(_object({"name": {"type": "string", "minLength": 1, "maxLength": 200},
                                              "simulated": {"type": "boolean"}, "packed": {"type": "string"}})),
                "responses": _answers(201, 400),
            },
        },
        "/studies/{study}": {
            "parameters": [_STUDY],
            "get": {"operationId": "study", "summary": "Return what is known about a study.",
                    "responses": _answers(200, 404)},
            "patch": {
                "operationId": "change_study", "summary": "Change its name, how its files are read, or its settings.",
                "requestBody": _body(_object({
                    "name": {"type": "string", "minLength": 1, "maxLength": 200}, "revision": {"type": "integer"},
                    "reading": schema_of(ReadingSettings), "asked": schema_of(ReportSettings)})),
                "responses": _answers(200, 400, 404, 409),
            },
            "delete": {"operationId": "delete_study", "summary": "Delete a study and its files.",
                       "responses": _answers(204, 404)},
        },
        "/studies/{study}/files/{role}": {
            "parameters": [_STUDY, _ROLE],
            "put": {
                "operationId": "put_file", "summary": "Add a file, or replace another.",
                "parameters": [_NAME],
                "requestBody": {"required": True, "content": {"application/octet-stream": {"schema": {
                    "type": "string", "format": "binary"}}}},
                "responses": _answers(200, 400, 404, 413),
            },
            "delete": {"operationId": "remove_file", "summary": "Remove a file.", "responses": _answers(204, 404)},
        },
        "/studies/{study}/look": {
            "parameters": [_STUDY],
            "post": {"operationId": "look", "summary": "Return what was recognised in the files, and what is wrong.",
                     "responses": _answers(200, 202, 400, 404)},
        },
        "/studies/{study}/runs": {
            "parameters": [_STUDY],
            "get": {"operationId": "runs", "summary": "List what was computed.", "responses": _answers(200, 404)},
            "post": {"operationId": "start_run", "summary": "Run every analysis that the files allow.",
                     "requestBody": _body(schema_of(ReportSettings)), "responses": _answers(200, 202, 400, 404)},
        },
        "/studies/{study}/runs/{run}": {
            "parameters": [_STUDY, _RUN],
            "get": {"operationId": "run", "summary": "Return how far a run is, with its result once there is one.",
                    "responses": _answers(200, 404)},
            "delete": {"operationId": "cancel_run", "summary": "End a run.", "responses": _answers(204, 404)},
        },
    }  # fmt: skip
    for lens in single():
        inputs = {source.name: _STRING for source in lens.inputs if source.name == "item"}
        body = _object({"settings": schema_of(lens.settings), **inputs}, *inputs)
        paths[f"/studies/{{study}}/questions/{lens.name}"] = {
            "parameters": [_STUDY],
            "post": {
                "operationId": f"ask_{lens.name}", "summary": lens.question,
                "description": lens.about.replace("\n", " "),
                "requestBody": _body(body), "responses": _answers(200, 202, 400, 404),
            },
        }  # fmt: skip
    error = _object({"error": {"type": "object"}}, "error")
    return {
        "openapi": "3.1.0",
        "info": {"title": "plurivox workbench", "version": __version__,
                 "description": "What the pages of the workbench do, for programs on the same machine. Send the key "
                 "that "
                 "the page /api shows as: Authorization: Bearer KEY."},
        "servers": [{"url": "/api/v1"}],
        "security": [{"key": []}],
        "paths": paths,
        "components": {"schemas": {"Error": error},
                       "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}}},
    }  # fmt: skip

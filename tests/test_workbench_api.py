"""The programs' side: what its description says holds, and nothing that is sent makes the server fail."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from plurivox.lenses import lenses
from plurivox.workbench.api import description, schema_of
from plurivox.workbench.reading import ReadingSettings
from workbench_support import RATINGS, workbench

pytest.importorskip("starlette")
pytest.importorskip("vl_convert")


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with workbench(tmp_path_factory.mktemp("bench")) as found:
        guard: Any = found.app
        found.headers["authorization"] = f"Bearer {guard.key}"
        yield found


@pytest.fixture(scope="module")
def study(client: Any) -> str:
    added = client.post("/api/v1/studies", json={"name": "One"})
    assert added.status_code == 201
    home = f"/api/v1/studies/{added.json()['id']}"
    put = client.put(f"{home}/files/ratings?name=mine.csv", content=RATINGS.encode())
    assert put.status_code == 200
    assert put.json()["files"]["ratings"]["size"] == len(RATINGS)
    changed = client.patch(home, json={"reading": {"rater_attributes": ["gender"], "scale": "0:3"}})
    assert changed.status_code == 200, changed.text
    return home


def answered(client: Any, home: str, done: Any) -> Any:
    """Return the run behind an answer once it has ended."""
    while done.status_code == 202 or (done.status_code == 200 and done.json()["state"] in ("waiting", "running")):
        time.sleep(0.2)
        done = client.get(f"{home}/runs/{done.json()['id']}")
    assert done.status_code == 200, done.text
    return done.json()


def test_a_question_gets_the_answer_that_python_gives(client: Any, study: str, tmp_path: Any) -> None:
    import plurivox as pv

    asked = {"by": [["gender"]], "permutations": 19, "max_permutations": 19, "seed": 3}
    found = answered(client, study, client.post(f"{study}/questions/cohesion", json={"settings": asked}))
    (tmp_path / "mine.csv").write_text(RATINGS)
    ratings = pv.read_ratings(tmp_path / "mine.csv", rater_attributes=["gender"], scale="0:3")
    own = pv.cohesion(ratings, by="gender", permutations=19, max_permutations=19, seed=3)
    values = {(row["group"], row["statistic"]): row["value"] for row in found["result"]["rows"]}
    for row in own.rows:
        assert values[row.group, row.statistic] == (row.value if row.value == row.value else "NaN")


def test_an_item_and_a_look(client: Any, study: str) -> None:
    one = answered(client, study, client.post(
        f"{study}/questions/item_view", json={"item": "i3", "settings": {"permutations": 9}}))  # fmt: skip
    assert one["result"]["kind"] == "item"
    look = answered(client, study, client.post(f"{study}/look"))
    assert look["result"]["sizes"] == {"ratings": 168, "items": 12, "raters": 14}


@pytest.mark.parametrize(("method", "path", "sent", "status", "told"), [
    ("POST", "/questions/cohesion", {"settings": {"by": 3}}, 400, "by is 3"),
    ("POST", "/questions/cohesion", {"settings": {"nothing": 1}}, 400, "there is no setting 'nothing'"),
    ("POST", "/questions/cohesion", [], 400, "not an object"),
    ("POST", "/questions/nothing", {}, 404, "no lens 'nothing'"),
    ("POST", "/questions/alignment", {}, 400, "this needs answers"),
    ("POST", "/questions/item_view", {}, 400, "no item is named"),
    ("PATCH", "", {"revision": 0, "name": "x"}, 409, "another tab"),
    ("PATCH", "", {"reading": {"duplicates": "some"}}, 400, "duplicates is 'some'"),
    ("GET", "/runs/none", None, 404, "no such run"), ("PUT", "/files/secrets?name=a.csv", {}, 404, "no file 'secrets'"),
    ("PUT", "/files/raters", {}, 400, "no name"),
])  # fmt: skip
def test_what_is_wrong_is_said(
    client: Any, study: str, method: str, path: str, sent: Any, status: int, told: str
) -> None:
    done = client.request(method, f"{study}{path}", json=sent)
    assert done.status_code == status
    assert told in done.json()["error"]["text"]


def test_every_lens_is_described_with_all_of_its_settings() -> None:
    paths = description()["paths"]
    for lens in lenses():
        body = paths[f"/studies/{{study}}/questions/{lens.name}"]["post"]["requestBody"]
        settings = body["content"]["application/json"]["schema"]["properties"]["settings"]
        assert set(settings["properties"]) == set(lens.settings.specs())
    assert schema_of(ReadingSettings)["properties"]["duplicates"]["enum"] == ["error", "first", "last", "mode", "keep"]


def test_every_route_is_described(client: Any) -> None:
    described = {
        (method.upper(), f"/api/v1{path}") for path, methods in description()["paths"].items() for method in methods
    }
    for route in client.guard.app.routes:
        if route.path.startswith("/api/v1/studies") and "{lens}" not in route.path:
            for method in route.methods - {"HEAD"}:
                assert (method, route.path) in described


@pytest.mark.slow
def test_schemathesis_finds_no_error_of_ours(client: Any, study: str) -> None:
    schemathesis = pytest.importorskip("schemathesis")
    from hypothesis import HealthCheck, Phase, given, settings

    api = schemathesis.openapi.from_dict(description())
    seen: dict[str, int] = {}
    for operation in api.get_all_operations():
        found = operation.ok()

        @settings(max_examples=25, deadline=None, database=None, derandomize=True, phases=[Phase.generate],
                  suppress_health_check=list(HealthCheck))  # fmt: skip
        @given(case=found.as_strategy())
        def tried(case: Any) -> None:
            path = case.formatted_path
            if case.method in ("POST", "PATCH", "PUT") and "{study}" in case.path:
                path = case.path.format(**{**case.path_parameters, "study": study.rpartition("/")[2]})
            body: dict[str, Any] = {"content": case.body} if isinstance(case.body, bytes) else {}
            if isinstance(case.body, dict | list | str | int | float | None):
                body = {"json": case.body}
            query = {name: str(value) for name, value in (case.query or {}).items()}
            done = client.request(case.method, f"/api/v1{path}", params=query, **body)
            assert done.status_code < 500, (case.method, path, case.body, done.text)
            seen[case.operation.label] = seen.get(case.operation.label, 0) + 1

        tried()
    assert len(seen) == sum(
        len([one for one in methods if one != "parameters"]) for methods in description()["paths"].values()
    )

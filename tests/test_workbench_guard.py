"""Who gets an answer: every route of the application is tried by everybody who must not get one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.routing import Route
from starlette.testclient import TestClient

from plurivox.base.errors import InputError
from plurivox.workbench.guard import SMALL, policy
from plurivox.workbench.server import Address, guarded, hosts_of
from plurivox.workbench.store import StudyStore
from workbench_support import HOME, OWN, PORT, RATINGS, add_study, workbench

pytest.importorskip("starlette")
pytest.importorskip("jinja2")


@pytest.fixture(scope="module")
def study(client: Any) -> str:
    return add_study(client).rpartition("/")[2]


def every_request(client: Any, study: str) -> list[tuple[str, str]]:
    """Return each method and path that the application answers, found from its routes, and one that there is not."""
    named = {"study": study, "role": "ratings", "run": "0" * 16, "lens": "cohesion", "name": "report.css"}
    found = [("GET", "/nothing-here")]
    for route in client.guard.app.routes:
        assert isinstance(route, Route), "a route of another kind must be walked, too"
        path = re.sub(r"\{(\w+)\}", lambda part: named[part[1]], route.path)
        found += [(method, path) for method in sorted(route.methods or ())]
    return found


def test_all_routes_are_walked(client: Any, study: str) -> None:
    requests = every_request(client, study)
    assert len(requests) > 50
    assert {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"} <= {method for method, _ in requests}


SECRETS = ("i0", "r0", "ratings.csv", "plurivox serve --", "study")


def refused(answer: Any, status: int) -> None:
    """Hold that an answer tells nothing, and that no cookie comes with it."""
    assert answer.status_code == status, (answer.request.method, answer.request.url)
    assert "set-cookie" not in answer.headers
    assert len(answer.text) < 200
    assert "gender" not in answer.text
    assert "<" not in answer.text


def test_without_a_token_nobody_gets_anything(client: Any, study: str) -> None:
    stranger = TestClient(client.guard, base_url=HOME, follow_redirects=False)
    for method, path in every_request(client, study):
        refused(stranger.request(method, path, headers=OWN), 401)
        refused(stranger.request(method, f"{path}?token=wrong", headers=OWN), 401)
        refused(stranger.request(method, path, headers={**OWN, "authorization": "Bearer wrong"}), 401)
        refused(stranger.request(method, path, headers={**OWN, "cookie": f"plurivox-{PORT}=wrong"}), 401)


@pytest.mark.parametrize("headers", [
    {"origin": "http://evil.example"}, {"origin": "null"}, {"origin": f"https://127.0.0.1:{PORT}"},
    {"origin": f"http://127.0.0.1:{PORT + 1}"}, {"sec-fetch-site": "cross-site"}, {"sec-fetch-site": "same-site"},
    {**OWN, "sec-fetch-site": "cross-site"},
])  # fmt: skip
def test_another_site_gets_nothing(client: Any, study: str, headers: dict[str, str]) -> None:
    for method, path in every_request(client, study):
        refused(client.request(method, path, headers=headers, follow_redirects=False), 403)


@pytest.mark.parametrize(
    "host", ["evil.example", f"evil.example:{PORT}", "127.0.0.1", f"127.0.0.1:{PORT + 1}", f"127.0.0.1.evil:{PORT}", ""]
)
def test_a_rebound_name_gets_nothing(client: Any, study: str, host: str) -> None:
    for method, path in every_request(client, study):
        refused(client.request(method, path, headers={"host": host, **OWN}, follow_redirects=False), 421)


def test_what_changes_something_must_say_where_it_comes_from(client: Any, study: str) -> None:
    for method, path in every_request(client, study):
        if method not in ("GET", "HEAD"):
            refused(client.request(method, path, follow_redirects=False), 403)
    assert client.get(f"/studies/{study}").status_code == 200  # it is still there


def test_the_first_address_holds_good_once(tmp_path: Path) -> None:
    store = StudyStore(tmp_path)
    guard = guarded(store, PORT)
    with TestClient(guard, base_url=HOME) as first:
        done = first.get(f"/help?token={guard.token}&a=b", follow_redirects=False)
        assert (done.status_code, done.headers["location"]) == (303, "/help?a=b")
        cookie = done.headers["set-cookie"]
        assert cookie.startswith(f"plurivox-{PORT}=")
        assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(cookie.split("; "))
        assert guard.token not in cookie
        assert first.get("/help").status_code == 200
        again = first.get(f"/help?token={guard.token}", follow_redirects=False)  # known already: to the clean address
        assert (again.status_code, again.headers["location"]) == (303, "/help")
        second = TestClient(guard, base_url=HOME)
        assert second.get(f"/?token={guard.token}").status_code == 401
    store.close()


def test_a_path_never_leads_to_another_host(tmp_path: Path) -> None:
    store = StudyStore(tmp_path)
    guard = guarded(store, PORT)
    client = TestClient(guard, base_url=HOME)
    done = client.get(f"{HOME}//evil.example/x?token={guard.token}", follow_redirects=False)
    assert done.headers["location"].startswith("/evil.example")
    store.close()


def test_programs_send_a_key(client: Any) -> None:
    program = TestClient(client.guard, base_url=HOME)
    key = {"authorization": f"Bearer {client.guard.key}"}
    assert program.get("/api/v1/studies", headers=key).status_code == 200
    added = program.post("/api/v1/studies", json={"name": "by a program"}, headers=key)
    assert added.status_code == 201
    assert program.delete(f"/api/v1/studies/{added.json()['id']}", headers=key).status_code == 204


def test_every_answer_is_covered(client: Any, study: str) -> None:
    for method, path in every_request(client, study):
        if method in ("GET", "HEAD") and not path.endswith("events"):
            headers = client.request(method, path).headers
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["referrer-policy"] == "same-origin"
            assert headers["x-frame-options"] == "DENY"
            assert headers["cache-control"] == ("no-cache" if path.startswith("/assets") else "no-store"), path
            nonce = re.search(r"'nonce-([^']+)'", headers["content-security-policy"])
            assert nonce
            assert headers["content-security-policy"] == policy(nonce[1])


def test_no_page_has_a_script_or_a_style_of_its_own(client: Any, study: str) -> None:
    for path in ("/", "/help", "/api", f"/studies/{study}"):
        text = client.get(path).text
        assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:", text)
        assert len(set(re.findall(r'nonce="([^"]+)"', text))) == 1
        assert all("src=" in script or "application/json" in script for script in re.findall(r"<script[^>]*>", text))


def test_a_body_that_is_too_large_is_refused(client: Any, study: str) -> None:
    large = b"x" * (SMALL + 1)
    assert client.post(f"/studies/{study}/ask", content=large, headers=OWN).status_code == 413

    def in_pieces() -> Iterator[bytes]:
        for _ in range(3):
            yield b"x" * (SMALL // 2)

    form = {**OWN, "content-type": "application/x-www-form-urlencoded"}
    assert client.post(f"/studies/{study}/ask", content=in_pieces(), headers=form).status_code == 413


def test_an_upload_is_limited(tmp_path: Path) -> None:
    with workbench(tmp_path, max_upload=1000) as small:
        done = small.post("/studies/files", files={"files": ("a.csv", RATINGS)}, headers=OWN)
        assert done.status_code == 413
        assert "--max-upload" in done.text
        assert small.get("/api/v1/studies").json() == []
        assert not list((tmp_path / "studies").iterdir())


@pytest.mark.parametrize(("host", "names", "hosts"), [
    ("127.0.0.1", (), ("127.0.0.1", "localhost", "[::1]")), ("::1", (), ("[::1]", "127.0.0.1", "localhost")),
    ("192.0.2.7", (), ("192.0.2.7",)),
    ("192.0.2.7", ("Lab.example.org", "box_1"), ("192.0.2.7", "lab.example.org", "box_1")),
    ("0.0.0.0", (), ("127.0.0.1", "localhost", "[::1]")), ("", (), ("127.0.0.1", "localhost", "[::1]")),
    ("0.0.0.0", ("lab", "192.0.2.7", "LAB"), ("lab", "192.0.2.7", "127.0.0.1", "localhost", "[::1]")),
    ("::", ("fe80::1", "[fe80::2]"), ("[fe80::1]", "[fe80::2]", "127.0.0.1", "localhost", "[::1]")),
])  # fmt: skip
def test_the_names_by_which_browsers_may_call_a_host(host: str, names: tuple[str, ...], hosts: tuple[str, ...]) -> None:
    assert hosts_of(host, names) == hosts


@pytest.mark.parametrize("host", ["0", "0.0.0.0", "::0"])
def test_everywhere_is_everywhere_however_it_is_written(host: str) -> None:
    address = Address.open(host, 0)
    with address.listening:
        assert (address.hosts, address.nameless) == (("127.0.0.1", "localhost", "[::1]"), True)


@pytest.mark.parametrize(
    "name",
    ["*", "*.example.org", "", ".", "lab.", ".lab", "http://lab", "lab:8000", "lab/", "a b", "-a", "läb", "a" * 300,
     "[lab]", "user@lab", "lab\r\nX: y", "0.0.0.0", "::", "[::]"],
)  # fmt: skip
def test_what_is_not_the_name_of_a_host_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=r"--allow-host: .* is not the name of a host"):
        hosts_of("0.0.0.0", [name])


def test_an_allowed_name_is_one_more_and_no_other(tmp_path: Path) -> None:
    address = Address.open("127.0.0.1", 0, ["lab.example.org"])
    with address.listening:
        assert not address.local  # so that no folder of this machine can be named from there
    store = StudyStore(tmp_path)
    guard = guarded(store, PORT, address.hosts)
    lab = f"http://lab.example.org:{PORT}"
    with TestClient(guard, base_url=lab) as client:
        assert client.get(f"/?token={guard.token}").status_code == 200
        assert client.post("/studies/simulated", headers={"origin": "http://evil.example"}).status_code == 403
        assert client.post("/studies/simulated", headers={"origin": HOME}).status_code == 403  # another of its names
        for host in ("lab.example.org", f"LAB2.example.org:{PORT}", f"x.lab.example.org:{PORT}", f"0.0.0.0:{PORT}"):
            assert client.get("/", headers={"host": host}).status_code == 421
        assert client.get("/", headers={"host": f"lab.example.org:{PORT}"}).status_code == 200
    store.close()

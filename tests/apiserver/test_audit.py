# SPDX-License-Identifier: Apache-2.0
"""The audit log: the fields of a line, and that a line that cannot be written disturbs no request."""

from __future__ import annotations

import json
import os
import resource
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.log import text_of
from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.__main__ import main
from embedded_apiserver.audit import AuditedHandler
from embedded_apiserver.server import APIServer

NODES = "/api/v1/nodes"
AGENT = {"user-agent": "somebody/1.0", "content-type": "application/json"}


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_each_request_is_a_line_that_says_who_asked_what_when_and_what_came_of_it(
    sim: Simulation, tmp_path: Path
) -> None:
    host, path = sim.host("server"), tmp_path / "audit.log"
    requests = [
        HTTPRequest("POST", NODES, (), AGENT, b'{"metadata":{"name":"a"}}'),
        HTTPRequest("GET", f"{NODES}/b", (("pretty", "true"),), AGENT),
        HTTPRequest("GET", NODES, (("watch", "true"),), AGENT),
        HTTPRequest("DELETE", f"{NODES}/a", (), {}),
    ]

    with AuditedHandler(host, APIServer(host), path) as handler:
        for request in requests:
            handler.handle(request, lambda: None)
            sim.advance(1.0)

    lines = lines_of(path)
    assert [(line["verb"], line["requestURI"], line["responseStatus"]["code"]) for line in lines] == [
        ("create", "/api/v1/nodes", 201),
        ("get", "/api/v1/nodes/b?pretty=true", 404),
        ("watch", "/api/v1/nodes?watch=true", 200),
        ("delete", "/api/v1/nodes/a", 200),
    ]
    assert [line["userAgent"] for line in lines] == ["somebody/1.0"] * 3 + [""]
    times = [line["requestReceivedTimestamp"] for line in lines]
    assert times == sorted(set(times))


def test_what_the_file_has_is_kept(sim: Simulation, tmp_path: Path) -> None:
    host, path = sim.host("server"), tmp_path / "audit.log"
    for _ in range(2):
        with AuditedHandler(host, APIServer(host), path) as handler:
            handler.handle(HTTPRequest("GET", NODES))

    assert len(lines_of(path)) == 2


BAD = "a\udcff\ud800"
"""Text that results from bytes that are not UTF-8, and from half of a surrogate pair."""


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param(HTTPRequest("DELETE", f"{NODES}/a", (), {"user-agent": BAD}), id="user agent"),
        pytest.param(HTTPRequest("DELETE", f"{NODES}/a", (), {"x-other": BAD}), id="another header"),
        pytest.param(HTTPRequest("DELETE", f"{NODES}/a", (("pretty", BAD),)), id="query value"),
        pytest.param(HTTPRequest("DELETE", f"{NODES}/a", ((BAD, "x"),)), id="query name"),
        pytest.param(HTTPRequest("DELETE", f"{NODES}/{BAD}"), id="path"),
        pytest.param(HTTPRequest(BAD, f"{NODES}/a"), id="method"),
        pytest.param(
            HTTPRequest("POST", NODES, (("fieldManager", BAD),), AGENT, b'{"metadata":{"name":"b"}}'), id="owner"
        ),
        pytest.param(HTTPRequest("POST", NODES, (), {"user-agent": BAD}, b'{"metadata":{"name":"b"}}'), id="its agent"),
    ],
)
def test_a_request_whose_text_is_no_text_is_answered_and_has_its_line(
    sim: Simulation, tmp_path: Path, request_: HTTPRequest
) -> None:
    host, path = sim.host("server"), tmp_path / "audit.log"
    server = APIServer(host)
    with AuditedHandler(host, server, path) as handler:
        handler.handle(HTTPRequest("POST", NODES, (), AGENT, b'{"metadata":{"name":"a"}}'))
        before = {item.key for item in server.storage.read("nodes").items}
        answer = handler.handle(request_)
        after = {item.key for item in server.storage.read("nodes").items}

    assert isinstance(answer, HTTPResponse)
    assert (before != after) == (answer.status < 300)
    assert answer.status < 500
    assert [line["responseStatus"]["code"] for line in lines_of(path)] == [201, answer.status]


class Fixed:
    """Gives the same response to each request."""

    def handle(self, request: HTTPRequest, on_ready: Callable[[], None] | None = None) -> HTTPResponse:
        return HTTPResponse(204)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no disk that is always full")
def test_a_disk_that_is_full_is_logged_and_requests_are_answered(
    sim: Simulation, caplog: pytest.LogCaptureFixture
) -> None:
    with AuditedHandler(sim.host("server"), Fixed(), Path("/dev/full")) as handler:
        answer = handler.handle(HTTPRequest("GET", NODES))

    assert answer == HTTPResponse(204)
    assert [text_of(record) for record in caplog.records] == ["request not audited"]


def test_a_line_that_did_not_fit_is_ended_before_the_next_one(sim: Simulation, tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    path.write_bytes(b'{"kind":"Event","half a line')

    with AuditedHandler(sim.host("server"), Fixed(), path) as handler:
        for _ in range(2):
            handler.handle(HTTPRequest("GET", NODES))

    first, *whole = path.read_text().splitlines()
    assert first == '{"kind":"Event","half a line'
    assert [json.loads(line)["requestURI"] for line in whole] == [NODES] * 2


@pytest.fixture
def limited_files() -> Iterator[None]:
    """Lets no file grow beyond 400 bytes, like a disk that becomes full in the middle of a line."""
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (400, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
    signal.signal(signal.SIGXFSZ, handler)


@pytest.mark.usefixtures("limited_files")
def test_a_disk_that_becomes_full_within_a_line_is_logged(
    sim: Simulation, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "audit.log"
    with AuditedHandler(sim.host("server"), Fixed(), path) as handler:
        answers = [handler.handle(HTTPRequest("GET", NODES)) for _ in range(3)]

    assert answers == [HTTPResponse(204)] * 3
    assert [text_of(record) for record in caplog.records] == ["request not audited"] * 2
    assert path.stat().st_size == 400


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o777])
def test_the_file_is_for_its_owner_alone_whatever_the_umask(sim: Simulation, tmp_path: Path, umask: int) -> None:
    path = tmp_path / "audit.log"
    before = os.umask(umask)
    try:
        AuditedHandler(sim.host("server"), Fixed(), path).close()
    finally:
        os.umask(before)

    assert path.stat().st_mode & 0o777 == 0o600


def test_a_file_that_others_may_read_is_told_with_the_remedy(
    sim: Simulation, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "audit.log"
    path.touch()
    path.chmod(0o640)

    AuditedHandler(sim.host("server"), Fixed(), path).close()

    told = f"other users may read what the server keeps: run chmod go= {path}"
    assert [text_of(record) for record in caplog.records] == [told]
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_file_that_cannot_be_written_is_told_at_the_start(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["--audit-log-path", str(tmp_path / "missing" / "audit.log")])

    assert code == 2
    assert "missing/audit.log cannot be written" in capsys.readouterr().err


def test_a_line_tells_the_user_and_whom_it_acts_as(sim: Simulation, tmp_path: Path) -> None:
    path, token = tmp_path / "audit.log", {"authorization": "Bearer secret"}
    host = sim.host("server")
    with AuditedHandler(host, APIServer(host, token="secret"), path) as handler:
        for headers in (
            token,
            {},
            {"authorization": "Bearer wrong"},
            {**token, "impersonate-user": "jane", "impersonate-group": "dev"},
            {"impersonate-user": "jane"},
            {**token, "impersonate-user": BAD},
        ):
            handler.handle(HTTPRequest("GET", NODES, (), headers))

    admin = {"username": "admin", "groups": ["system:masters", "system:authenticated"]}
    anonymous = {"username": "system:anonymous", "groups": ["system:unauthenticated"]}
    jane = {"username": "jane", "groups": ["dev", "system:authenticated"]}
    users = [(line["user"], line.get("impersonatedUser")) for line in lines_of(path)]
    assert users[:5] == [(admin, None), (anonymous, None), ({}, None), (admin, jane), (anonymous, None)]
    assert len(users) == 6

# SPDX-License-Identifier: Apache-2.0
"""The server's record of requests: what a line says, and that it does not get in the way."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from controller_runtime.api.http import HTTPRequest, HTTPResponse
from controller_runtime.apiserver.__main__ import main
from controller_runtime.apiserver.audit import AuditedHandler
from controller_runtime.apiserver.server import APIServer
from controller_runtime.core.log import text_of
from controller_runtime.testing.simulation import Simulation

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


class Fixed:
    """Answers the same to everything."""

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


def test_a_file_that_cannot_be_written_is_told_at_the_start(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["--audit-log-path", str(tmp_path / "missing" / "audit.log")])

    assert code == 2
    assert "missing/audit.log cannot be written" in capsys.readouterr().err

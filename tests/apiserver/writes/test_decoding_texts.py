# SPDX-License-Identifier: Apache-2.0
"""The words of a real server about values that do not fit into their fields, recorded from Kubernetes 1.36.2."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.system import SystemHost
from embedded_apiserver.server import APIServer

RECORDED = Path(__file__).parent / "data" / "decoding-1.36.jsonl"
SERVER = APIServer(SystemHost("decoding"))


def sent(method: str, path: str, media_type: str, body: str) -> Any:
    """Return the answer of the embedded server, decoded."""
    path, _, query = path.partition("?")
    pairs = tuple((name, value) for name, _, value in (one.partition("=") for one in query.split("&") if one))
    answer = SERVER.handle(HTTPRequest(method, path, pairs, {"content-type": media_type}, body.encode()))
    assert isinstance(answer, HTTPResponse)
    return json.loads(answer.body)


@pytest.fixture(scope="module", autouse=True)
def _objects() -> None:
    """Make the objects that the recorded patches are for."""
    container = {"name": "c", "image": "i"}
    for path, more in (
        ("/api/v1/namespaces/default/pods", {"spec": {"containers": [container]}}),
        ("/api/v1/namespaces/default/secrets", {}),
        ("/apis/coordination.k8s.io/v1/namespaces/default/leases", {}),
    ):
        sent("POST", path, "application/json", json.dumps({"metadata": {"name": "dec"}, **more}))


@pytest.mark.parametrize("line", RECORDED.read_text(encoding="utf-8").splitlines())
def test_an_error_is_told_as_by_a_real_server(line: str) -> None:
    recorded = json.loads(line)

    answer = sent(recorded["method"], recorded["path"], recorded["type"], recorded["body"])

    assert answer["message"] == recorded["message"]

# SPDX-License-Identifier: Apache-2.0
"""The statuses of components: the scheduler and the controllers are asked, and nothing is stored."""

from __future__ import annotations

from typing import Any

import pytest
from kit.apiserver.asking import Asking

from apimachinery.http import HTTPRequest, HTTPResponse
from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.server import APIServer
from embedded_apiserver.webhooks.caller import Target, unreachable

STATUSES = "/api/v1/componentstatuses"
REFUSED = 'Get "https://127.0.0.1:{0}/healthz": dial tcp 127.0.0.1:{0}: connect: connection refused'


class Components:
    """A scheduler that works, or does not; nothing listens where the controllers should."""

    def __init__(self, status: int) -> None:
        self.status = status

    def call(self, target: Target, request: HTTPRequest, timeout: float) -> HTTPResponse:
        assert (request.path, target.is_trusted) == ("/healthz", True)
        if ":10259/" in target.url:
            return HTTPResponse(self.status, {}, b"told")
        raise unreachable(target)


def _health(status: dict[str, Any]) -> tuple[str, str, str]:
    condition = status["conditions"][0]
    return status["metadata"]["name"], condition["status"], condition["message"]


@pytest.mark.parametrize(("answered", "healthy"), [(200, "True"), (302, "True"), (500, "False")])
def test_each_component_is_asked_for_its_health(sim: Simulation, answered: int, healthy: str) -> None:
    ask = Asking(APIServer(sim.host("server"), caller=Components(answered)))

    assert [_health(one) for one in ask.ok("GET", STATUSES)["items"]] == [
        ("scheduler", healthy, "told"),
        ("controller-manager", "False", REFUSED.format(10257)),
        ("etcd-0", "True", "ok"),
    ]
    assert _health(ask.ok("GET", f"{STATUSES}/scheduler")) == ("scheduler", healthy, "told")


def test_a_server_that_calls_nobody_finds_none(ask: Asking) -> None:
    assert _health(ask.ok("GET", f"{STATUSES}/scheduler")) == ("scheduler", "False", REFUSED.format(10259))
    assert ask("GET", f"{STATUSES}/none")[0] == 404


def test_selectors_choose_by_the_name_alone(ask: Asking) -> None:
    chosen = ask.ok("GET", STATUSES, fieldSelector="metadata.name=etcd-0")["items"]

    assert [_health(one)[0] for one in chosen] == ["etcd-0"]
    assert ask.ok("GET", STATUSES, labelSelector="a=b")["items"] == []

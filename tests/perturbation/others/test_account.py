# SPDX-License-Identifier: Apache-2.0
"""An operator runs under the rights of its own account, and each right that it lacks is told once."""

from __future__ import annotations

import pytest
from kit.perturbation.recorded_runs import a_run

from apimachinery.errors import UsageError
from apimachinery.http import HTTPRequest
from apimachinery.objects import ObjectKey
from controller_runtime.client.client import Client
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.testing.perturbation.judging import judge, learn
from controller_runtime.testing.perturbation.others.account import account_of, check_account, right_of
from controller_runtime.testing.perturbation.others.credentials import Credentials
from controller_runtime.testing.perturbation.others.server import OperatorsServer
from controller_runtime.testing.role import acting
from controller_runtime.testing.simulation import Simulation
from embedded_apiserver import APIServer

ACCOUNT = ObjectKey("manager", "default")
ROLE = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create", "list"]}


def test_an_operator_may_do_what_its_account_may_and_what_it_may_not_is_noted_once(simulation: Simulation) -> None:
    host = simulation.host("here")
    server = APIServer(host)
    acting(ROLE).create(Client(host, InProcessTransport(host, server)))
    between = OperatorsServer(host, server, None, None, lambda: None, credentials := Credentials(host), ACCOUNT)
    token = {"authorization": f"Bearer {credentials.issue()}"}

    def send(method: str, path: str, body: bytes = b"") -> int:
        answer = between.handle(HTTPRequest(method, path, (), {**token, "content-type": "application/json"}, body))
        return getattr(answer, "status", 0)

    assert send("GET", "/api/v1/configmaps") == 200
    assert send("POST", "/api/v1/namespaces/default/configmaps", b'{"metadata":{"name":"a"}}') == 201
    assert [send("GET", f"/api/v1/namespaces/default/secrets/{name}") for name in "ab"] == [403, 403]
    assert send("PATCH", "/api/v1/namespaces/default/pods/a/status", b"{}") == 403
    assert between.run.forbidden == ["GET secrets", "PATCH pods/status"]


def test_a_right_that_only_a_perturbed_run_needs_is_a_finding() -> None:
    calm, here = a_run(forbidden=["GET pods"]), a_run(forbidden=["GET pods", "DELETE secrets"])

    assert [*judge(learn([calm]), here).complaints] == [
        "its account has no right to DELETE secrets, which no calm run asked for"
    ]
    assert not judge(learn([calm]), calm).complaints


@pytest.mark.parametrize("text", ["operator", "/operator", "default/", "a/b/c"])
def test_an_account_is_a_namespace_and_a_name(text: str) -> None:
    assert account_of("default/operator") == ObjectKey("operator", "default")
    assert account_of(None) is None

    with pytest.raises(UsageError, match=f"--as {text}: it takes namespace and name of a ServiceAccount"):
        account_of(text)


def test_an_account_that_the_story_does_not_make_is_wrong_input(simulation: Simulation) -> None:
    host = simulation.host("here")
    client = Client(host, InProcessTransport(host, APIServer(host)))
    check_account(None, client)

    with pytest.raises(UsageError, match="--as default/manager: `before` of the story makes no such ServiceAccount"):
        check_account(ACCOUNT, client)

    acting(ROLE).create(client)
    check_account(ACCOUNT, client)


def test_a_right_is_told_without_the_name_of_the_object(simulation: Simulation) -> None:
    kinds = APIServer(simulation.host("here")).kinds

    for path, right in [
        ("/apis/apps/v1/namespaces/default/deployments/a-9c12/scale", "GET deployments.apps/scale"),
        ("/api/v1/pods", "GET pods"),
        ("/metrics", "GET /metrics"),
    ]:
        assert right_of(HTTPRequest("GET", path), kinds) == right

# SPDX-License-Identifier: Apache-2.0
"""Metrics over TLS are for those whom the API server authorizes, and it is not asked at each scrape."""

from __future__ import annotations

from typing import Any

import pytest

from controller_runtime import ObjectKey
from controller_runtime.manager.secure_metrics import show_metrics
from controller_runtime.resources import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, SERVICE_ACCOUNTS
from controller_runtime.testing import EmbeddedCluster, Refused, Simulation
from controller_runtime.transports import HTTPRequest
from controller_runtime.webhooks import authorizing

RBAC = "rbac.authorization.k8s.io"


def token(cluster: EmbeddedCluster, name: str) -> str:
    cluster.user.create(SERVICE_ACCOUNTS, {"metadata": {"name": name, "namespace": "default"}})
    made: Any = cluster.user.create_subresource(
        SERVICE_ACCOUNTS, ObjectKey(name, "default"), "token", {"spec": {"audiences": []}}
    )
    return str(made["status"]["token"])


def allow(cluster: EmbeddedCluster, name: str, path: str = "/metrics") -> None:
    rule = {"nonResourceURLs": [path], "verbs": ["get"]}
    cluster.user.create(CLUSTER_ROLES, {"metadata": {"name": "reader"}, "rules": [rule]})
    subject = {"kind": "ServiceAccount", "name": name, "namespace": "default"}
    ref = {"apiGroup": RBAC, "kind": "ClusterRole", "name": "reader"}
    cluster.user.create(CLUSTER_ROLE_BINDINGS, {"metadata": {"name": "reader"}, "roleRef": ref, "subjects": [subject]})


def read(cluster: EmbeddedCluster, **headers: str) -> tuple[int, bytes]:
    answer = cluster.manager.webhooks.handle(HTTPRequest("GET", "/metrics", (), headers))
    return answer.status, answer.body


def test_only_an_account_with_the_right_reads_them_and_answers_hold_for_a_minute() -> None:
    with Simulation(0) as simulation, EmbeddedCluster(simulation.host("operator")) as cluster:
        show_metrics(cluster.manager)
        known, other = token(cluster, "prometheus"), token(cluster, "other")
        allow(cluster, "prometheus")

        assert read(cluster)[0] == 401
        assert read(cluster, authorization="Basic abc")[0] == 401
        assert read(cluster, authorization="Bearer made-up")[0] == 401
        assert read(cluster, authorization=f"Bearer {other}")[0] == 403
        status, body = read(cluster, authorization=f"Bearer {known}")
        assert (status, b"controller_runtime" in body) == (200, True)
        asked = len(cluster.transport.requests)
        assert read(cluster, authorization=f"bearer {known}")[0] == 200
        assert len(cluster.transport.requests) == asked
        simulation.advance(authorizing.KEPT + 1)
        cluster.user.delete(CLUSTER_ROLE_BINDINGS, ObjectKey("reader"))
        assert read(cluster, authorization=f"Bearer {known}")[0] == 403


def test_a_server_that_cannot_be_asked_refuses_and_is_asked_again(caplog: pytest.LogCaptureFixture) -> None:
    faults = {0: Refused()}
    with (
        Simulation(0) as simulation,
        EmbeddedCluster(simulation.host("operator"), faults=lambda number, _: faults.get(number)) as cluster,
    ):
        show_metrics(cluster.manager)
        known = token(cluster, "prometheus")
        allow(cluster, "prometheus")

        assert read(cluster, authorization=f"Bearer {known}") == (
            500,
            b"the API server cannot be asked; the log has the reason\n",
        )
        assert "cannot ask the API server who may read metrics" in caplog.text
        assert read(cluster, authorization=f"Bearer {known}")[0] == 200


def test_other_methods_are_refused() -> None:
    with Simulation(0) as simulation, EmbeddedCluster(simulation.host("operator")) as cluster:
        show_metrics(cluster.manager)

        assert cluster.manager.webhooks.handle(HTTPRequest("POST", "/metrics")).status == 405


def test_the_status_page_has_a_right_of_its_own() -> None:
    with Simulation(0) as simulation, EmbeddedCluster(simulation.host("operator")) as cluster:
        show_metrics(cluster.manager)
        known = token(cluster, "operator")
        allow(cluster, "operator", "/debug")
        headers = {"authorization": f"Bearer {known}"}

        page = cluster.manager.webhooks.handle(HTTPRequest("GET", "/debug", (), headers))

        assert (page.status, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
        assert read(cluster, **headers)[0] == 403
        assert cluster.manager.webhooks.handle(HTTPRequest("GET", "/debug")).status == 401

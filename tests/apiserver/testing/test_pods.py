# SPDX-License-Identifier: Apache-2.0
"""The steps of a pod's life, and pods that take them on a server."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.system import SystemHost
from embedded_apiserver import APIServer
from embedded_apiserver.testing.pods import RunningPods, exit_by_restart_policy, next_step

HOST = SystemHost()
CONTAINERS = [{"name": "c", "image": "i"}]
NOW = "2026-01-01T00:00:00Z"
META = {"name": "a", "namespace": "default"}


def pod(phase: str = "Pending", metadata: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {**META, **(metadata or {})},
        "spec": {"containers": CONTAINERS, **spec},
        "status": {"phase": phase},
    }


DELETED = {"deletionTimestamp": NOW, "deletionGracePeriodSeconds": 30}


@pytest.mark.parametrize(
    ("seen", "status", "step"),
    [
        (pod(), None, ("POST", "binding")),
        (pod(schedulingGates=[{"name": "wait"}]), None, None),
        (pod(nodeName="n"), None, ("PATCH", "status")),
        (pod("Running", nodeName="n"), None, None),
        (pod("Running", nodeName="n"), 0, ("PATCH", "status")),
        (pod("Succeeded", nodeName="n"), 0, None),
        (pod("Failed", nodeName="n"), 1, None),
        (pod("Running", DELETED, nodeName="n"), None, ("DELETE", "")),
        (pod("Running", {**DELETED, "deletionGracePeriodSeconds": 0}, nodeName="n"), None, None),
    ],
)
def test_each_step_follows_from_the_pod(seen: dict[str, Any], status: int | None, step: tuple[str, str] | None) -> None:
    found = next_step(seen, status, NOW, "10.244.0.1")

    assert (None if found is None else (found.method, found.part)) == step


@pytest.mark.parametrize(("status", "phase", "reason"), [(0, "Succeeded", "Completed"), (1, "Failed", "Error")])
def test_the_exit_status_decides_how_a_pod_has_ended(status: int, phase: str, reason: str) -> None:
    step = next_step(pod("Running", nodeName="n"), status, NOW, "")

    assert step is not None
    assert step.body["status"]["phase"] == phase
    [container] = step.body["status"]["containerStatuses"]
    assert (container["state"]["terminated"]["exitCode"], container["state"]["terminated"]["reason"]) == (
        status,
        reason,
    )


class Cluster:
    """A server, and requests to it."""

    def __init__(self) -> None:
        self.server = APIServer(HOST, token="secret")

    def ask(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        headers = {"authorization": "Bearer secret", "content-type": "application/json"}
        content = b"" if body is None else msgspec.json.encode(body)
        answer = self.server.handle(HTTPRequest(method, f"/api/v1/namespaces/default/pods{path}", (), headers, content))
        assert isinstance(answer, HTTPResponse)
        found: dict[str, Any] = msgspec.json.decode(answer.body)
        return found

    def create(self, name: str, **spec: Any) -> None:
        self.ask("POST", "", {"metadata": {"name": name}, "spec": {"containers": CONTAINERS, **spec}})

    def phases(self) -> dict[str, str]:
        return {each["metadata"]["name"]: each["status"]["phase"] for each in self.ask("GET", "")["items"]}


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def test_pods_that_are_there_and_pods_that_come_run_or_end_by_their_policy(cluster: Cluster) -> None:
    cluster.create("before")
    RunningPods(HOST, cluster.server, "secret", exit_by_restart_policy)
    cluster.create("after")
    cluster.create("once", restartPolicy="Never")

    assert cluster.phases() == {"after": "Running", "before": "Running", "once": "Succeeded"}
    shown = cluster.ask("GET", "/after")
    assert {each["type"]: each["status"] for each in shown["status"]["conditions"]}["Ready"] == "True"
    assert shown["status"]["containerStatuses"][0]["ready"]


def test_a_deleted_pod_is_gone_at_once(cluster: Cluster) -> None:
    RunningPods(HOST, cluster.server, "secret", exit_by_restart_policy)
    cluster.create("a")

    cluster.ask("DELETE", "/a")

    assert cluster.phases() == {}


def test_a_pod_ends_as_the_test_says(cluster: Cluster) -> None:
    RunningPods(HOST, cluster.server, "secret", lambda pod: 3 if pod["metadata"]["name"] == "bad" else None)
    cluster.create("bad")
    cluster.create("good", restartPolicy="Never")

    assert cluster.phases() == {"bad": "Failed", "good": "Running"}


def test_no_pod_runs_any_more_once_they_are_closed(cluster: Cluster) -> None:
    running = RunningPods(HOST, cluster.server, "secret", exit_by_restart_policy)
    running.close()
    cluster.create("a")

    assert cluster.phases() == {"a": "Pending"}

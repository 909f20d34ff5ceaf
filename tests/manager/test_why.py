# SPDX-License-Identifier: Apache-2.0
"""Why was this reconciled? The causes of each reconcile with the object and the version, in the log and over HTTP."""

from __future__ import annotations

import json
import logging
from typing import Any

import attrs
import pytest

from apimachinery.errors import ControllerRuntimeError
from apimachinery.http import HTTPRequest
from apimachinery.log import fields_of, text_of
from apimachinery.objects import ObjectKey, meta
from controller_runtime.api.builtin_resources import CONFIG_MAPS
from controller_runtime.api.resources import NODES
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.counters import KEPT
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.manager.endpoints import debug_answer
from controller_runtime.manager.inspection import why
from controller_runtime.testing import EmbeddedCluster, Simulation, a_node


@attrs.define
class Failing(Reconciler):
    """Fails as often as it is told to, and then asks to be called again in an hour."""

    failures: int

    def reconcile(self, request: Request) -> Result:
        if self.failures:
            self.failures -= 1
            raise ControllerRuntimeError("not yet")
        return Result(requeue_after=3600.0)


def asked(cluster: EmbeddedCluster, path: str, *query: tuple[str, str], is_local: bool = True) -> tuple[int, str]:
    answer = debug_answer(cluster.manager)(HTTPRequest("GET", path, query), is_local)
    return answer.status, answer.body.decode()


def test_each_reconcile_tells_which_version_of_which_object_caused_it(
    simulation: Simulation, cluster: EmbeddedCluster
) -> None:
    cluster.manager.add(Controller("c", Failing(1)).watch(NODES))
    cluster.start()
    simulation.settle()
    cluster.user.create(NODES, a_node("a"))
    created = meta(cluster.user.get(NODES, ObjectKey("a"))).resource_version
    simulation.advance(10.0)

    [shown] = json.loads(asked(cluster, "/debug/why", ("request", "a"))[1])["controllers"]

    assert (shown["name"], shown["running"], shown["due"]) == ("c", [], [])
    assert shown["later"] == [{"in": 3590.005, "causes": [{"cause": "requeue_after", "times": 1}]}]
    retried, first = shown["past"]
    assert (first["outcome"], retried["outcome"]) == ("error", "requeue_after")
    assert first["causes"] == [{"cause": "nodes added", "object": "a", "version": created, "times": 1}]
    assert retried["causes"] == [{"cause": "retry", "times": 1}]


def test_another_object_is_named(simulation: Simulation, cluster: EmbeddedCluster) -> None:
    """Many changes of a kind are one cause, with the number of them and the last one."""
    to_one = Controller("c", Failing(0)).watch(CONFIG_MAPS, map=lambda delta: [Request("whole")])
    for name in ("x", "y"):
        cluster.user.create(CONFIG_MAPS, {"metadata": {"name": name, "namespace": "default"}})
    last = meta(cluster.user.get(CONFIG_MAPS, ObjectKey("y", "default"))).resource_version
    cluster.manager.add(to_one)
    cluster.start()
    simulation.settle()

    [shown] = why(cluster.manager, Request("whole"))["controllers"]

    causes = shown["past"][0]["causes"]
    assert causes == [{"cause": "configmaps listed", "object": "default/y", "version": last, "times": 2}]


def test_the_log_has_the_versions(
    simulation: Simulation, cluster: EmbeddedCluster, caplog: pytest.LogCaptureFixture
) -> None:
    cluster.manager.add(Controller("c", Failing(0)).watch(NODES))
    cluster.start()
    simulation.settle()
    with caplog.at_level(logging.DEBUG, logger="controller_runtime.controller.outcome"):
        cluster.user.create(NODES, a_node("a"))
        simulation.settle()
    created = meta(cluster.user.get(NODES, ObjectKey("a"))).resource_version

    lines: list[Any] = [fields_of(record) for record in caplog.records if text_of(record) == "reconciled"]
    assert [str(fields["causes"]) for fields in lines] == [f"nodes added (a at {created})"]


def test_no_more_reconciles_are_remembered_than_it_says(simulation: Simulation, cluster: EmbeddedCluster) -> None:
    controller = Controller("c", Failing(0)).every(1.0, lambda: [Request("a")], jitter=0.0)
    cluster.manager.add(controller)
    cluster.start()
    simulation.advance(2.0 * KEPT)

    shown = why(cluster.manager, Request("a"))

    assert len(shown["controllers"][0]["past"]) == shown["remembered"] == KEPT
    assert why(cluster.manager, Request("unknown"))["controllers"] == []


def test_the_endpoint_needs_a_request_and_is_for_this_machine(cluster: EmbeddedCluster) -> None:
    assert asked(cluster, "/debug/why") == (
        400,
        "ask for /debug/why?request=NAMESPACE/NAME, or NAME for a kind without a namespace\n",
    )
    assert asked(cluster, "/debug/why", ("request", "a"), is_local=False)[0] == 403
    assert asked(cluster, "/debug/else")[0] == 404
    status, body = asked(cluster, "/debug/why", ("request", "default/a"))
    assert (status, json.loads(body)["request"]) == (200, "default/a")

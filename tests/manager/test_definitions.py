# SPDX-License-Identifier: Apache-2.0
"""A manager installs the definitions of its classes, and compares the classes with those that are there."""

from __future__ import annotations

import copy
import logging
from typing import Any

import pytest
from kit.crd.cabins import Cabin, CabinSpec, CabinV1Alpha1, Lodge

from apimachinery.http import HTTPRequest, HTTPResponse
from controller_runtime import (
    Controller,
    Manager,
    ObjectKey,
    ObjectMeta,
    Reconciler,
    Request,
    Result,
    Setup,
    Stop,
    spawn,
)
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.crd import DEFINITIONS, definition
from controller_runtime.errors import UsageError
from controller_runtime.resources import NODES
from controller_runtime.testing import (
    Answered,
    EmbeddedCluster,
    Faults,
    FaultyTransport,
    RecordingTransport,
    Refused,
    Simulation,
    scripted,
)
from embedded_apiserver.server import APIServer

REFUSED = Refused()
CABINS, LODGES = ObjectKey("cabins.example.com"), ObjectKey("lodgings.example.com")


class Nothing(Reconciler):
    def reconcile(self, request: Request) -> Result:
        return Result()


def a_cabin() -> Cabin:
    return Cabin(CabinSpec(3), metadata=ObjectMeta(name="hut", namespace="default"))


def without_beds() -> dict[str, Any]:
    made = copy.deepcopy(definition(Cabin))
    spec = made["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    del spec["properties"]["beds"], spec["required"]
    del made["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["x-kubernetes-validations"]  # they are about the beds
    return made


def test_an_installed_class_is_served_as_soon_as_the_cluster_is_started(
    cluster: EmbeddedCluster, simulation: Simulation
) -> None:
    cluster.manager.install(Cabin, CabinV1Alpha1)
    cabins = cluster.manager.lister(Cabin)
    cluster.start()

    cluster.user.create(a_cabin())
    simulation.settle()

    assert [cabin.spec.beds for cabin in cabins.list()] == [3]
    versions = cluster.user.get(DEFINITIONS, CABINS)["spec"]["versions"]
    assert [(one["name"], one["storage"]) for one in versions] == [("v1", True), ("v1alpha1", False)]


def run_alone(simulation: Simulation, faults: Faults, setup: Setup) -> list[str]:
    """Runs a manager without a cluster of the fixtures, which installs for it; returns the paths that it asked."""
    host, server = simulation.host("operator"), APIServer(simulation.host("operator-server"))
    transport = RecordingTransport(FaultyTransport(host, InProcessTransport(host, server), faults))
    manager, stop = Manager(host, transport), Stop(host)
    setup(manager)
    thread = spawn(host, stop, "manager", lambda: manager.run(stop))
    simulation.advance(5.0)
    stop.set()
    assert thread.join_until(None)
    return [request.path for request in transport.requests]


def installs_cabins(manager: Manager) -> None:
    manager.install(Cabin)
    manager.lister(Cabin)


def test_a_manager_installs_before_its_caches_ask(simulation: Simulation) -> None:
    paths = run_alone(simulation, scripted({}), installs_cabins)

    assert paths.index(DEFINITIONS.path(name=CABINS.name)) < paths.index("/apis/example.com/v1/cabins")


def test_the_manager_of_a_cluster_needs_no_right_to_install(cluster: EmbeddedCluster, simulation: Simulation) -> None:
    installs_cabins(cluster.manager)
    cluster.start()
    simulation.settle()

    assert cluster.transport.writes() == []
    assert cluster.user.get(DEFINITIONS, CABINS)["spec"]["scope"] == "Namespaced"


def test_all_classes_of_caches_are_installed_unless_they_are_there(
    cluster: EmbeddedCluster, simulation: Simulation
) -> None:
    there = definition(Cabin)
    there["spec"]["names"]["shortNames"] = ["hut"]
    cluster.user.create(DEFINITIONS, there)
    cluster.manager.install()
    cluster.manager.lister(Cabin)
    cluster.manager.add(Controller("lodges", Nothing()).watch(Lodge))
    cluster.start()
    simulation.settle()

    assert cluster.user.get(DEFINITIONS, CABINS)["spec"]["names"]["shortNames"] == ["hut"]
    assert cluster.user.get(DEFINITIONS, LODGES)["spec"]["scope"] == "Cluster"


def test_a_definition_of_another_owner_is_not_taken_over(cluster: EmbeddedCluster) -> None:
    there = without_beds()
    cluster.user.apply(DEFINITIONS, there, field_manager="somebody")
    cluster.manager.install(Cabin)

    with pytest.raises(UsageError, match=r"the definition cabins\.example\.com is not ours to install: .*somebody"):
        cluster.start()
    read = cluster.user.get(DEFINITIONS, CABINS)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    assert "beds" not in read["properties"]["spec"]["properties"]


def test_the_server_may_come_later(simulation: Simulation) -> None:
    paths = run_alone(simulation, scripted({0: REFUSED, 1: REFUSED}), installs_cabins)

    assert paths[:3] == [DEFINITIONS.path(name=CABINS.name)] * 3


def test_a_class_that_cannot_read_the_objects_stops_the_manager(simulation: Simulation) -> None:
    text = (
        r"Cabin cannot read the objects of cabins\.example\.com: \.spec\.beds: is not in the definition: "
        r"no object can be read; install the definition of the class, or change the class"
    )
    cluster = EmbeddedCluster(simulation.host("here"))
    cluster.user.create(DEFINITIONS, without_beds())
    cluster.manager.add(Controller("cabins", Nothing()).watch(Cabin))
    cluster.start()
    simulation.settle()

    with pytest.raises(UsageError, match=text):
        cluster.stop()


def test_what_could_become_a_problem_is_logged_by_its_field(
    cluster: EmbeddedCluster, simulation: Simulation, caplog: pytest.LogCaptureFixture
) -> None:
    there = copy.deepcopy(definition(Cabin))
    fields = there["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    del fields["tags"]
    cluster.user.create(DEFINITIONS, there)
    cluster.manager.lister(Cabin)
    cluster.start()

    simulation.settle()

    [line] = [line for line in caplog.messages if "differs from its definition" in line]
    assert line.startswith("Cabin differs from its definition field=.spec.tags")


def test_a_class_is_compared_although_a_resource_asked_for_its_cache_first(simulation: Simulation) -> None:
    cluster = EmbeddedCluster(simulation.host("here"))
    cluster.user.create(DEFINITIONS, without_beds())
    cluster.manager.lister(cluster.user.resource("cabins"))
    cluster.manager.lister(Cabin)
    cluster.start()
    simulation.settle()

    with pytest.raises(UsageError, match="Cabin cannot read the objects"):
        cluster.stop()


def test_without_the_right_to_read_definitions_the_manager_starts_with_one_line_of_debugging(
    simulation: Simulation, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    host = simulation.host("here")

    body = b'{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}'
    answer = Answered(HTTPResponse(403, {"content-type": "application/json"}, body))

    def forbids(number: int, request: HTTPRequest) -> Answered | None:
        return answer if DEFINITIONS.plural in request.path else None

    with EmbeddedCluster(host, faults=forbids) as cluster:
        cluster.user.create(DEFINITIONS, definition(Cabin))
        cabins = cluster.manager.lister(Cabin)
        cluster.start()
        cluster.user.create(a_cabin())
        simulation.settle()
        assert len(cabins) == 1

    lines = [line for line in caplog.messages if "not compared" in line]
    assert lines == ["class not compared with its definition: no right to read it definition=cabins.example.com"]


def test_a_missing_definition_is_a_warning_and_its_cache_waits(
    cluster: EmbeddedCluster, simulation: Simulation, caplog: pytest.LogCaptureFixture
) -> None:
    cabins = cluster.manager.lister(Cabin)
    cluster.start()
    simulation.advance(1.0)
    cluster.user.create(DEFINITIONS, definition(Cabin))
    cluster.user.create(a_cabin())
    simulation.advance(60.0)

    assert (
        "definition not found: its cache waits until it is installed definition=cabins.example.com" in caplog.messages
    )
    assert len(cabins) == 1


def test_a_manager_without_classes_asks_for_no_definition(cluster: EmbeddedCluster, simulation: Simulation) -> None:
    cluster.manager.lister(NODES)
    cluster.start()
    simulation.settle()

    assert not [request for request in cluster.transport.requests if DEFINITIONS.plural in request.path]

# SPDX-License-Identifier: Apache-2.0
"""Checks of a test, and clusters that are made from the options of another one."""

from __future__ import annotations

import inspect
from typing import Any

from apimachinery.http import HTTPRequest, HTTPResponse
from controller_runtime.testing import EmbeddedCluster
from controller_runtime.testing.checks import Checks
from controller_runtime.testing.manager_process import SimulatedMachine
from controller_runtime.testing.simulation import Simulation

OF_ONE = {"host", "server", "transport", "faults", "webhook_faults", "record"}


def test_a_check_of_always_knows_that_it_is_evaluated_from_its_first_time_on() -> None:
    checks, seen = Checks(), list[bool]()

    checks.always(lambda: seen.append(checks.is_checking))
    checks.written("after a write")

    assert seen == [True, True]
    assert not checks.is_checking


def test_the_options_of_a_cluster_are_all_that_make_another_one_alike(simulation: Simulation) -> None:
    class Webhook:
        def handle(self, request: HTTPRequest) -> HTTPResponse:
            return HTTPResponse(500, {}, b"")

    given: dict[str, Any] = {
        "webhooks": {"default/a": Webhook()},
        "garbage_collection": True,
        "workloads": True,
        "allow_panics": True,
        "release": "1.33",
        "namespace": "default",
        "disable_admission_plugins": ("ResourceQuota",),
        "cluster_objects": True,
    }
    with EmbeddedCluster(simulation.host("a"), **given) as cluster:
        options = cluster.options

    assert options.items() >= given.items()
    assert set(options) == set(inspect.signature(EmbeddedCluster).parameters) - OF_ONE


class Named:
    def __init__(self, name: bytes) -> None:
        self.name = name

    def handle(self, request: HTTPRequest, on_ready: object = None) -> HTTPResponse:
        return HTTPResponse(200, {}, self.name)


def test_a_machine_of_a_simulation_reaches_the_server_that_it_was_connected_to_last(simulation: Simulation) -> None:
    host = simulation.host("machine")
    machine = SimulatedMachine(host, simulation.host("server"))
    answers = []

    def ask() -> None:
        for server in (Named(b"a"), Named(b"b")):
            transport = machine.connect(server)
            answers.append(transport.request(HTTPRequest("GET", "/"), host.monotonic() + 1.0).body)

    host.spawn("asking", ask)
    simulation.settle()

    assert answers == [b"a", b"b"]

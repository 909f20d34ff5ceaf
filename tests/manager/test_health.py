# SPDX-License-Identifier: Apache-2.0
"""Health checks fail when they should, and their answers say the right things to the right clients."""

from __future__ import annotations

from collections.abc import Iterator

import attrs
import pytest

from apimachinery.host import Host
from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.stop import Stop
from controller_runtime.api.resources import NODES
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.manager.health import Health, health_of
from controller_runtime.manager.inspection import describe
from controller_runtime.testing import EmbeddedCluster, Simulation, a_node
from controller_runtime.testing.faults import Fault, Refused, SilentStream

FINE = Health(live={"a": lambda: "", "b": lambda: ""}, ready={"c": lambda: ""})
BROKEN = Health(live={"a": lambda: "", "b": lambda: "the disk is full"}, ready={"b": lambda: "the disk is full"})


def ask(health: Health, path: str, *query: tuple[str, str], trusted: bool = True) -> tuple[int, str]:
    response = health.answer(HTTPRequest("GET", path, query), trusted=trusted)
    return response.status, response.body.decode()


@pytest.mark.scenario("MG-13")
@pytest.mark.parametrize(
    ("health", "path", "query", "status", "says"),
    [
        pytest.param(FINE, "/livez", [], 200, "ok", id="all is well"),
        pytest.param(FINE, "/healthz", [], 200, "ok", id="the older name"),
        pytest.param(FINE, "/readyz", [("verbose", "")], 200, "[+]c ok\nreadyz check passed\n", id="verbose"),
        pytest.param(
            BROKEN,
            "/livez",
            [],
            500,
            "[+]a ok\n[-]b failed: reason withheld\nlivez check failed\n",
            id="one fails",
        ),
        pytest.param(BROKEN, "/livez", [("exclude", "b")], 200, "ok", id="the one excluded"),
        pytest.param(
            BROKEN,
            "/livez",
            [("exclude", "b"), ("verbose", "true")],
            200,
            "[+]a ok\n[+]b excluded: ok\nlivez check passed\n",
            id="excluded and verbose",
        ),
        pytest.param(
            FINE,
            "/readyz",
            [("exclude", "x"), ("verbose", "")],
            200,
            "[+]c ok\nwarning: no check is named 'x', so none is excluded\nreadyz check passed\n",
            id="nothing to exclude",
        ),
        pytest.param(BROKEN, "/livez/a", [], 200, "ok", id="one that is well"),
        pytest.param(
            BROKEN, "/readyz/b", [], 500, "[-]b failed: reason withheld\nreadyz check failed\n", id="one that is not"
        ),
        pytest.param(BROKEN, "/livez/x", [], 404, "no such check\n", id="none of that name"),
        pytest.param(BROKEN, "/livez/a/b", [], 404, "no such check\n", id="too deep"),
        pytest.param(BROKEN, "/elsewhere", [], 404, "no such check\n", id="no such list"),
    ],
)
def test_answers_to_others(health: Health, path: str, query: list[tuple[str, str]], status: int, says: str) -> None:
    """A failing check is named without its reason; checks can be excluded, and requested alone."""
    assert ask(health, path, *query, trusted=False) == (status, says)


def test_this_machine_is_told_why() -> None:
    assert ask(BROKEN, "/readyz")[1] == "[-]b failed: the disk is full\nreadyz check failed\n"


@attrs.define
class Patient(Reconciler):
    """Reconciles one request until it is allowed to end."""

    host: Host
    end: Stop = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.end = Stop(self.host, "patient")

    def reconcile(self, request: Request) -> Result:
        self.end.wait_until(None)
        return Result()


def test_a_reconcile_that_does_not_end_makes_the_program_unhealthy(
    simulation: Simulation, cluster: EmbeddedCluster
) -> None:
    health = health_of(cluster.manager)
    patient = Patient(cluster.host)
    cluster.manager.add(Controller("patient", patient).watch(NODES))
    cluster.user.create(NODES, a_node("a"))
    cluster.start()

    simulation.advance(590.0)
    assert ask(health, "/livez") == (200, "ok")
    simulation.advance(20.0)
    assert ask(health, "/livez/workers") == (
        500,
        "[-]workers failed: patient: a reconcile has been running for 610 s\nlivez check failed\n",
    )
    patient.end.set()
    simulation.settle()
    assert ask(health, "/livez") == (200, "ok")


def test_a_reconcile_that_goes_on_long_past_its_timeout_is_shown_and_makes_the_program_unready(
    simulation: Simulation, cluster: EmbeddedCluster
) -> None:
    """No code can end such a reconcile, and a restart may not be worth it yet, so the process stays live."""
    health, patient = health_of(cluster.manager), Patient(cluster.host)
    cluster.manager.add(Controller("patient", patient, reconcile_timeout=30.0).watch(NODES))
    cluster.user.create(NODES, a_node("a"))
    cluster.start()

    simulation.advance(59.0)
    assert ask(health, "/readyz") == (200, "ok")
    simulation.advance(2.0)
    assert ask(health, "/readyz/reconciles")[1].startswith(
        "[-]reconciles failed: patient: a reconcile has been running for 61 s and may take 30 s\n"
    )
    assert ask(health, "/livez") == (200, "ok")
    shown = describe(cluster.manager)["controllers"][0]
    assert shown["reconcile_timeout"] == 30.0
    assert [(turn["request"], turn["since"]) for turn in shown["running"]] == [("a", 61.0)]
    patient.end.set()


def test_it_is_ready_once_every_cache_has_its_list_and_until_it_stops(
    simulation: Simulation, cluster: EmbeddedCluster
) -> None:
    health = health_of(cluster.manager)
    cluster.manager.informer(NODES)
    assert ask(health, "/readyz/informers")[1].startswith("[-]informers failed: nodes has no initial list yet\n")

    cluster.start()
    simulation.settle()
    assert ask(health, "/readyz") == (200, "ok")

    cluster.stop()
    assert ask(health, "/readyz") == (
        500,
        "[+]informers ok\n[+]reconciles ok\n[-]shutdown failed: the manager stops\n[+]mappers ok\n[+]objects ok\n"
        "readyz check failed\n",
    )


def test_a_cache_that_cannot_fill_shows_its_last_error_and_is_no_reason_to_restart(simulation: Simulation) -> None:
    with EmbeddedCluster(simulation.host("here"), faults=lambda number, request: Refused()) as cluster:
        health = health_of(cluster.manager)
        cluster.manager.informer(NODES)
        cluster.start()
        simulation.advance(10.0)

        status, says = ask(health, "/readyz/informers")

        assert status == 500
        assert "nodes has no initial list yet: GET /api/v1/nodes: connection refused" in says
        assert ask(health, "/livez") == (200, "ok")


def test_a_watch_that_fell_silent_makes_it_unready(simulation: Simulation) -> None:
    silent = [False]

    def faults(number: int, request: HTTPRequest) -> Fault | None:
        return SilentStream() if silent[0] else None

    with EmbeddedCluster(simulation.host("here"), faults=faults) as cluster:
        health = health_of(cluster.manager)
        cluster.manager.informer(NODES)
        cluster.start()

        def look(seconds: int) -> Iterator[str]:
            for _ in range(seconds // 10):
                simulation.advance(10.0)
                yield ask(health, "/readyz/informers")[1]

        assert {*look(3600)} == {"ok"}, "a quiet collection is healthy"
        silent[0] = True
        assert any("nodes has heard nothing for" in answer for answer in look(1200))


def test_more_checks_stand_beside_the_managers_own(cluster: EmbeddedCluster) -> None:
    health = health_of(cluster.manager, live={"disk": lambda: "full"}, ready={"peer": lambda: "away"})

    assert ask(health, "/livez")[1] == "[+]workers ok\n[+]election ok\n[-]disk failed: full\nlivez check failed\n"
    assert "[-]peer failed: away" in ask(health, "/readyz")[1]


def test_answers_are_plain_text() -> None:
    response: HTTPResponse = FINE.answer(HTTPRequest("GET", "/livez"), trusted=True)

    assert response.headers["content-type"] == "text/plain; charset=utf-8"

# SPDX-License-Identifier: Apache-2.0
"""A controller that is killed at any of its writes, or whose answer is lost, mends what it left."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from kit.owning import KEY, OwningBench, Site, deployment_of, pages_of

from controller_runtime import CONFIG_MAPS, DEPLOYMENTS, Dependents, HTTPRequest, Manager, Owned
from controller_runtime.testing import CutReply, Delayed, EmbeddedCluster, Fault, Simulation

WRITES = 9  # of the story below, at least; a test counts them
SLOW = 1.0  # seconds that each write is on its way, so that a kill hits it there


def setup(manager: Manager) -> None:
    first = Owned[Site, Any](CONFIG_MAPS, pages_of)
    second = Owned[Site, Any](DEPLOYMENTS, deployment_of, after=first)
    manager.install(Site)
    manager.add(Dependents(manager, "sites", Site, first, second).controller())


def is_write(request: HTTPRequest) -> bool:
    return request.method not in ("GET", "HEAD") and "customresourcedefinitions" not in request.path


def story(bench: OwningBench, advance: Callable[[], None]) -> None:
    """Make a site, change what it wants, and wait until all is done."""
    bench.create("a", "b")
    advance()
    bench.cluster.user.patch(Site, KEY, {"spec": {"pages": ["b", "c"], "text": "new"}})
    advance()
    bench.make_ready()
    advance()


def check_end(bench: OwningBench) -> None:
    assert bench.names() == ["site-b", "site-c"]
    assert {each["data"]["text"] for each in bench.cluster.user.list(CONFIG_MAPS, view=dict)} == {"new"}
    assert bench.ready() == ("True", "Ready", "3 objects are ready")


@pytest.mark.parametrize("killed_at", range(1, WRITES + 1))
def test_a_kill_at_any_write_is_made_good_by_a_restart(simulation: Simulation, killed_at: int) -> None:
    def slow(number: int, request: HTTPRequest) -> Fault | None:
        return Delayed(SLOW) if is_write(request) else None

    with EmbeddedCluster(simulation.host("cluster"), faults=slow) as cluster:
        bench = OwningBench(cluster, simulation)
        was_killed = False

        def advance() -> None:
            nonlocal was_killed
            for _ in range(80):
                simulation.advance(SLOW / 2)
                if not was_killed and len([each for each in cluster.transport.requests if is_write(each)]) >= killed_at:
                    was_killed = True
                    cluster.restart()

        cluster.run(setup)
        story(bench, advance)

        check_end(bench)
        assert was_killed


@pytest.mark.parametrize("cut_at", range(WRITES))
def test_an_answer_that_is_lost_is_made_good_by_the_retry(simulation: Simulation, cut_at: int) -> None:
    writes = 0

    def cut(number: int, request: HTTPRequest) -> Fault | None:
        nonlocal writes
        writes += is_write(request)
        return CutReply() if is_write(request) and writes == cut_at + 1 else None

    with EmbeddedCluster(simulation.host("cluster"), faults=cut) as cluster:
        bench = OwningBench(cluster, simulation)
        cluster.run(setup)
        story(bench, lambda: simulation.advance(40.0))

        check_end(bench)
        assert writes > cut_at

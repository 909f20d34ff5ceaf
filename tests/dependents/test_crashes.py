# SPDX-License-Identifier: Apache-2.0
"""A controller that is killed at any write, or whose answer or whose server's data is lost, repairs what it left."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from kit.owning import KEY, OwningBench, Site, deployment_of, page, pages_of

from apimachinery.objects import Received
from controller_runtime import Dependents, Manager, Owned
from controller_runtime.api.collection import Collection
from controller_runtime.resources import CONFIG_MAPS, DEPLOYMENTS
from controller_runtime.testing import CutReply, Delayed, EmbeddedCluster, Fault, SilentStream, Simulation
from controller_runtime.transports import HTTPRequest

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


def test_an_apply_that_a_restored_backup_has_lost_is_sent_again(simulation: Simulation) -> None:
    """The cache never reaches the version of the answer, so the answer must not stand for the object."""

    def without_changes(number: int, request: HTTPRequest) -> Fault | None:
        return SilentStream(after=1) if request.path.endswith("/configmaps") else None

    with EmbeddedCluster(simulation.host("cluster"), faults=without_changes) as cluster:
        bench = OwningBench(cluster, simulation)
        bench.run(Owned(CONFIG_MAPS, pages_of))
        bench.create("a")
        bench.touch()
        assert bench.requests().count("PATCH configmaps/site-a") == 1

        cluster.user.delete(CONFIG_MAPS, page("a"))
        cluster.manager.informers.of(Collection(CONFIG_MAPS)).store.replace({}, "1")
        bench.touch()

        assert bench.names() == ["site-a"]


def test_a_status_that_a_restored_backup_has_lost_is_not_awaited(bench: OwningBench) -> None:
    bench.run(Owned(CONFIG_MAPS, pages_of))
    bench.create("a")
    store = bench.cluster.manager.informers.of(Collection(Site)).store
    [shown] = store.list()
    restored = Received(shown.raw.replace(b'"status":', b'"lost":'), *shown.key, shown.uid, shown.resource_version)
    bench.requests()

    store.replace({shown.plain_key: restored}, "1")
    bench.cluster.user.delete(CONFIG_MAPS, page("a"))
    bench.sim.settle()

    assert bench.requests() == ["PATCH configmaps/site-a", "PATCH sites/site/status"]

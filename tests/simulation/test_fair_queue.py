# SPDX-License-Identifier: Apache-2.0
"""A namespace that floods a controller does not hold up the others, in a whole system under virtual time."""

from __future__ import annotations

import attrs
import pytest

from apimachinery.host import Clock
from apimachinery.objects import ObjectKey
from apimachinery.stop import Stop
from controller_runtime.api.builtin_resources import CONFIG_MAPS
from controller_runtime.api.resources import NAMESPACES
from controller_runtime.controller.channel import Channel
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.reconciler import Reconciler, Request, Result, by_namespace
from controller_runtime.testing import EmbeddedCluster, Simulation

pytestmark = pytest.mark.once

FLOOD = 500
TOOK = 0.1
QUIET = [f"quiet-{number}" for number in range(5)]


@attrs.frozen
class Slow(Reconciler):
    """Takes a tenth of a second, and notes when each reconcile ended."""

    clock: Clock
    never: Stop
    ended: list[tuple[str, float]] = attrs.field(factory=list)

    def reconcile(self, request: Request) -> Result:
        self.never.wait(TOOK)
        self.ended.append((request.namespace, self.clock.monotonic()))
        return Result()


def waits_of_the_quiet(cluster: EmbeddedCluster, simulation: Simulation, *, is_fair: bool) -> dict[str, float]:
    """Return how long a change in each quiet namespace waited for the end of its reconcile."""
    slow, flood = Slow(cluster.host, Stop(cluster.host, "never")), Channel(cluster.host, capacity=FLOOD)
    controller = Controller("slow", slow, workers=2, fair_by=by_namespace if is_fair else None)
    cluster.manager.add(controller.watch(CONFIG_MAPS).receive(flood))
    cluster.start()
    for namespace in QUIET:
        cluster.user.create(NAMESPACES, {"metadata": {"name": namespace}})
    simulation.settle()
    for number in range(FLOOD):
        flood.push(ObjectKey(f"object-{number}", "busy"))
    began = cluster.host.monotonic()
    for namespace in QUIET:
        cluster.user.create(CONFIG_MAPS, {"metadata": {"name": "a", "namespace": namespace}})
    simulation.advance(FLOOD * TOOK)
    assert len(slow.ended) == FLOOD + len(QUIET)
    return {namespace: at - began for namespace, at in slow.ended if namespace != "busy"}


@pytest.mark.parametrize("is_fair", [True, False], ids=["fair", "first come, first served"])
def test_a_change_in_a_quiet_namespace_waits_for_one_round(
    simulation: Simulation, cluster: EmbeddedCluster, is_fair: bool
) -> None:
    waits = waits_of_the_quiet(cluster, simulation, is_fair=is_fair)

    groups, workers = len(QUIET) + 1, 2
    bound = (groups * 4 / 3 + workers) / workers * TOOK  # and those that the workers had in hand
    assert all(wait <= bound for wait in waits.values()) is is_fair
    assert (min(waits.values()) > (FLOOD - workers) / workers * TOOK) is not is_fair

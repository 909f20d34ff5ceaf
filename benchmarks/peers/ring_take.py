# SPDX-License-Identifier: Apache-2.0
"""One replica that takes all slots of a ring by name with many objects: KEYS SECONDS own|member.

Its reconciles compute for half a millisecond each, on four threads. `member` requests the objects on the thread that
renews the lease, as it was once, so that the two can be compared.
"""

from __future__ import annotations

import itertools
import sys
import time
from typing import Any

from apimachinery.objects import cached_from_bytes
from apimachinery.stop import Stop
from apimachinery.system import SystemHost
from benchmarks.harness import report
from controller_runtime.api.collection import Collection
from controller_runtime.api.resources import NODES
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.manager.manager import Manager
from controller_runtime.ring.by import RingBy
from controller_runtime.ring.ring import Ring
from controller_runtime.ring.slots import slots_in
from embedded_apiserver.server import APIServer

WORKERS, WORK = 4, 0.0005


class Busy(Reconciler):
    """Computes for `WORK` seconds, and counts the objects that it saw."""

    def __init__(self) -> None:
        self.seen: set[Request] = set()

    def reconcile(self, request: Request) -> Result:
        """Do the work of one object."""
        until = time.monotonic() + WORK
        while time.monotonic() < until:
            pass
        self.seen.add(request)
        return Result()


def main() -> None:
    """Print how long the renewing thread paused, and how many memberships ended."""
    keys, seconds, walks = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3] == "member"
    host = SystemHost()
    stop, busy = Stop(host), Busy()
    manager = Manager(host, InProcessTransport(host, APIServer(host)))
    ring = manager.ring("taking", RingBy.NAME)
    nodes = manager.lister(NODES, dict[str, Any])
    controller = Controller("busy", ring.shared(busy), workers=WORKERS)
    manager.add(controller.watch(NODES).receive(ring.requests(nodes)))
    informer = manager.informers.of(Collection(NODES))
    turns = _watch_turns(ring, walks=walks)
    program = host.spawn("program", lambda: manager.run(stop))
    informer.wait_for_sync(stop, None)
    made = (cached_from_bytes(b'{"metadata":{"name":"node-%d","resourceVersion":"1"}}' % n) for n in range(keys))
    objects = {each.plain_key: each for each in made}
    informer._delivery.drop(lambda: [*informer.store.replace(objects, informer.store.version)].clear())
    ring.ownership.end_all("the cache was filled")  # the next membership takes all slots, with their objects
    while not ring.ownership.owned:
        Stop(host).wait(0.05)
    turns.clear()
    began, lost = host.monotonic(), ring.member.status.counts().changes["lost"]
    Stop(host).wait(seconds)
    begins = [began, *(begin for begin, _ in turns), host.monotonic()]
    gaps = [later - earlier for earlier, later in itertools.pairwise(begins)]
    figures = {
        "longest_turn_s": max(turn for _, turn in turns) if turns else seconds,
        "longest_pause_s": max(0.0, max(gaps) - ring.config.retry_period),
        "slots_lost": ring.member.status.counts().changes["lost"] - lost,
        "objects_seen": len(busy.seen),
        "slots_owned": ring.ownership.owned.bit_count(),
    }
    report(figures)
    stop.set()
    stop.cancel()
    program.join_until(host.monotonic() + 10.0)


def _watch_turns(ring: Ring, *, walks: bool) -> list[tuple[float, float]]:
    """Return a list that gets the begin and the length of each turn of the member."""
    turns: list[tuple[float, float]] = []
    member, turn = ring.member, ring.member._turn

    def measured(*, stops: bool) -> None:
        began = time.monotonic()
        try:
            turn(stops=stops)
        finally:
            turns.append((began, time.monotonic() - began))

    member._turn = measured  # type: ignore[method-assign]
    if walks:

        def request(slots: int) -> None:
            for slot in slots_in(slots):
                ring.requested._request(slot)

        member._on_take = request
    return turns


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""The cost of guards and recorder: the same reconciles by two managers in turn, with both and with neither.

WORK TURNS EACH: WORK is `noop`, `read` or `write`; both managers live in this process, on a server of their own.
"""

from __future__ import annotations

import statistics
import sys
import time

from apimachinery.host import Host
from apimachinery.objects import ObjectKey
from apimachinery.stop import Stop, spawn
from apimachinery.system import SystemHost
from benchmarks.harness import report
from controller_runtime import Controller, Manager, Reconciler, Request, Result
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.controller.channel import Channel
from controller_runtime.incidents import Incidents
from controller_runtime.resources import CONFIG_MAPS
from embedded_apiserver import APIServer

DONE = Result()
LAST = ObjectKey("last", "default")
OBJECTS = 100


class Working(Reconciler):
    """Does nothing, reads an object, or reads and writes one."""

    def __init__(self, manager: Manager, work: str, ended: Stop) -> None:
        self.manager, self.work, self.ended, self.count = manager, work, ended, 0
        self.maps = manager.lister(CONFIG_MAPS, dict, namespace="default")

    def reconcile(self, request: Request) -> Result:
        if request is LAST:
            self.ended.set()
            return DONE
        if self.work != "noop":
            self.maps.get(key := ObjectKey(f"map-{int(request.name) % OBJECTS}", "default"))
            if self.work == "write":
                self.count += 1
                self.manager.client.patch(CONFIG_MAPS, key, {"data": {"count": str(self.count)}})
        return DONE


class Turns:
    """One manager that is given the same requests again and again."""

    def __init__(self, host: Host, work: str, is_recorded: bool, stop: Stop) -> None:
        self.host, self.is_recorded = host, is_recorded
        transport = InProcessTransport(host, APIServer(host))
        self.manager = Manager(host, transport, incidents=Incidents() if is_recorded else None)
        body = {"metadata": {"namespace": "default"}, "data": {"text": "x" * 1000}}
        for number in range(OBJECTS):
            named = {**body, "metadata": {**body["metadata"], "name": f"map-{number}"}}
            self.manager.client.create(CONFIG_MAPS, named)
        self.channel = Channel(host, capacity=1_000_000)
        self.reconciler = Working(self.manager, work, Stop(host))
        controller = Controller("working", self.reconciler, may_wake_itself=not is_recorded)
        self.manager.add(controller.receive(self.channel))
        spawn(host, stop, "manager", lambda: self.manager.run(stop))

    def take(self, requests: list[ObjectKey]) -> float:
        """Return the CPU seconds of all requests."""
        self.reconciler.ended = Stop(self.host)
        before = time.process_time()
        for request in requests:
            self.channel.push(request)
        self.channel.push(LAST)
        self.reconciler.ended.wait(300.0)
        return time.process_time() - before


def main() -> None:
    """Print the microseconds of one reconcile by each, and how much of the pace is left: the median of all pairs."""
    work, turns, each = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    host = SystemHost()
    stop = Stop(host)
    plain, recorded = (Turns(host, work, is_recorded, stop) for is_recorded in (False, True))
    requests = [ObjectKey(str(number), "default") for number in range(each)]
    pairs = []
    for turn in range(turns + 2):
        first, second = (plain, recorded) if turn % 2 == 0 else (recorded, plain)
        seconds = {side.is_recorded: side.take(requests) for side in (first, second)}
        if turn >= 2:  # the first fill caches
            pairs.append((seconds[False], seconds[True]))
    stop.set()
    report(
        {
            "without_us": statistics.median(without for without, _ in pairs) / each * 1e6,
            "with_us": statistics.median(with_ for _, with_ in pairs) / each * 1e6,
            "pace": statistics.median(without / with_ for without, with_ in pairs),
        }
    )


if __name__ == "__main__":
    main()

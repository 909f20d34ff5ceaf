# SPDX-License-Identifier: Apache-2.0
"""Writes to an embedded server in this process, without a check and with one that is called in process: WRITES."""

from __future__ import annotations

import statistics
import sys
import time

from apimachinery.host import Host
from apimachinery.objects import ObjectKey
from apimachinery.stop import Stop
from apimachinery.system import SystemHost
from benchmarks.harness import report
from benchmarks.peers.webhook_tls import Cabin, refuse
from controller_runtime.manager.manager import Manager
from controller_runtime.testing import EmbeddedCluster
from controller_runtime.webhooks import Admission, Checks, FieldError

ROUNDS = 10
"""Both kinds of writes take turns, because the machine may be busy for a while."""


class Writer:
    """Patches one object of a cluster again and again."""

    def __init__(self, cluster: EmbeddedCluster) -> None:
        self._user = cluster.user
        self._user.create(Cabin, {"metadata": {"name": "hut", "namespace": "default"}, "spec": {"beds": 1}})

    def cpu_of(self, writes: int) -> float:
        """Return the seconds of CPU that so many writes take."""
        begin = time.process_time()
        for number in range(writes):
            self._user.patch(Cabin, ObjectKey("hut", "default"), {"metadata": {"annotations": {"n": str(number)}}})
        return time.process_time() - begin


def measure(host: Host, writes: int) -> tuple[float, float, int]:
    """Return the CPU seconds of one write without a check and with one, and how often the check was called."""
    calls = 0

    def counted(cabin: Cabin, request: Admission[Cabin]) -> FieldError | None:
        nonlocal calls
        calls += 1
        return refuse(cabin, request)

    def checked(manager: Manager) -> None:
        manager.install(Cabin)
        manager.webhooks.add(Checks(Cabin, counted))

    with EmbeddedCluster(host) as bare, EmbeddedCluster(host) as guarded:
        bare.run(lambda manager: manager.install(Cabin))
        guarded.run(checked)
        never = Stop(host)
        while not guarded.manager.webhooks.is_serving:
            never.wait(0.01)
        writers = [Writer(each) for each in (bare, guarded)]
        rounds = [[writer.cpu_of(writes // ROUNDS) for writer in writers] for _ in range(ROUNDS)]
    plain, with_check = (statistics.median(column) / (writes // ROUNDS) for column in zip(*rounds, strict=True))
    return plain, with_check, calls


def main() -> None:
    """Print the CPU of both kinds of writes, and their ratio."""
    plain, checked, calls = measure(SystemHost(), int(sys.argv[1]))
    if not calls:
        raise SystemExit("the embedded server calls no webhooks")
    report({"plain_us": plain * 1e6, "checked_us": checked * 1e6, "times": checked / plain})


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""Reconciles are counted without a lock, and each of them once, whoever reads meanwhile."""

from __future__ import annotations

import pytest

from apimachinery.objects import ObjectKey
from apimachinery.stop import Stop, spawn
from apimachinery.system import SystemHost
from controller_runtime.controller.counters import KEPT, Outcome, ReconcileTally
from controller_runtime.queue.causes import Causes


@pytest.mark.parametrize("reconciles", [0, 1, 63, 64, 65, 1000])
def test_each_reconcile_is_counted_once(reconciles: int) -> None:
    tally = ReconcileTally(SystemHost(), "racks")

    for number in range(reconciles):
        request = ObjectKey(f"rack-{number}")
        assert tally.begin(request) == number + 1
        assert tally.snapshot().active_workers == 1
        tally.end(Outcome.ERROR, 0.25, (request, float(number), Causes()), is_late=number % 2 == 0)

    counters = tally.snapshot()
    assert counters.errors == counters.reconciles == counters.durations.count == reconciles
    assert counters.durations.total == reconciles * 0.25
    assert counters.timeouts == (reconciles + 1) // 2
    assert counters.active_workers == 0
    assert [ended[1] for ended, _, _ in tally.last()] == [float(n) for n in range(reconciles)][-KEPT:]


def test_threads_that_count_at_the_same_time_lose_nothing() -> None:
    host, each, count = SystemHost(), 5000, 4
    tally, stop = ReconcileTally(host, "racks"), Stop(host)
    numbers: list[list[int]] = [[] for _ in range(count)]

    def work(worker: int) -> None:
        request = ObjectKey(f"rack-{worker}")
        for _ in range(each):
            numbers[worker].append(tally.begin(request))
            tally.end(Outcome.SUCCESS, 0.001, (request, 0.0, Causes()))

    threads = [spawn(host, stop, f"worker-{worker}", lambda worker=worker: work(worker)) for worker in range(count)]
    while not all(thread.join_until(host.monotonic()) for thread in threads):
        assert tally.snapshot().active_workers <= count

    assert tally.snapshot().success == each * count
    assert sorted(number for found in numbers for number in found) == [*range(1, each * count + 1)]

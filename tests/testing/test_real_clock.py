# SPDX-License-Identifier: Apache-2.0
"""Code under virtual time that asks the real clock is named by its line."""

from __future__ import annotations

import datetime
import logging
import time
import warnings
from collections.abc import Callable
from time import monotonic as imported_by_another_name

import pytest
from kit.noting import Noting

from controller_runtime.api.resources import NODES
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.reconciler import Result
from controller_runtime.testing import EmbeddedCluster, RealClockWarning, Simulation, a_node

sleep = time.__dict__["sleep"]  # for no time at all; a test that sleeps is refused by its name


def warnings_of(call: Callable[[], object]) -> list[warnings.WarningMessage]:
    """Call a function in a thread of a simulation, and return the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with Simulation(warn_of_real_clock=True) as simulation:
            simulation.host("here").spawn("asking", lambda: call() and None)
            simulation.settle()
    return [each for each in caught if each.category is RealClockWarning]


@pytest.mark.parametrize(
    ("call", "told"),
    [
        pytest.param(lambda: time.time(), "time.time asks the real clock", id="time"),
        pytest.param(lambda: imported_by_another_name(), "time.monotonic asks", id="monotonic under another name"),
        pytest.param(lambda: datetime.datetime.now(), "datetime.now asks", id="now"),
        pytest.param(lambda: datetime.datetime.now(datetime.UTC), "datetime.now asks", id="now in UTC"),
        pytest.param(lambda: datetime.date.today(), "date.today asks", id="today"),
        pytest.param(lambda: sleep(0), "time.sleep sleeps in real time", id="sleep"),
    ],
)
def test_the_line_that_asks_is_named(call: Callable[[], object], told: str) -> None:
    found = warnings_of(call)

    assert [(each.filename, each.lineno) for each in found] == [(__file__, call.__code__.co_firstlineno)]
    assert told in str(found[0].message)


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda: time.perf_counter(), id="measuring"),
        pytest.param(lambda: datetime.datetime.fromtimestamp(0.0, datetime.UTC), id="converting"),
        pytest.param(lambda: logging.getLogger(__name__).warning("the standard library asks"), id="another package"),
    ],
)
def test_what_does_not_depend_on_the_time_is_not_named(call: Callable[[], object]) -> None:
    assert warnings_of(call) == []


def test_the_thread_of_the_test_may_ask_the_real_clock(simulation: Simulation) -> None:
    assert time.monotonic() > 0


def ask() -> Result:
    time.time()
    return Result()


def test_a_warning_that_is_an_error_fails_the_test_though_the_reconcile_is_retried() -> None:
    def run() -> None:
        with Simulation(warn_of_real_clock=True) as simulation, EmbeddedCluster(simulation.host("here")) as cluster:
            cluster.run(lambda manager: manager.add(Controller("asking", Noting(extra=ask)).watch(NODES)))
            cluster.user.create(NODES, a_node("a"))
            simulation.settle()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(
            RealClockWarning, match=r"time.time asks the real clock.*`manager.host` as a Clock"
        ) as caught:
            run()

    assert caught.value.__notes__[0] == f"{__file__}:{ask.__code__.co_firstlineno + 1}, in ask"

# SPDX-License-Identifier: Apache-2.0
"""The contract of a host, tested on the real machine and on a simulated one."""

from __future__ import annotations

import contextvars
import math
import random
import threading
import uuid
from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest

from apimachinery.host import Condition, Host
from apimachinery.system import SystemHost
from controller_runtime.testing.simulation import Simulation


@pytest.fixture(params=["system", *(pytest.param(seed, id=f"simulated-{seed}") for seed in range(8))])
def host(request: pytest.FixtureRequest) -> Iterator[Host]:
    if request.param == "system":
        yield SystemHost("r0")
    else:
        with Simulation(seed=request.param) as sim:
            yield sim.host("r0")


class Gate:
    """Lets threads wait until it is opened."""

    def __init__(self, host: Host) -> None:
        self.condition: Condition = host.condition("gate")
        self.is_open = False

    def open(self) -> None:
        with self.condition:
            self.is_open = True
            self.condition.notify_all()

    def pass_through(self) -> None:
        with self.condition:
            while not self.is_open:
                self.condition.wait_until(None)


def wait_for(host: Host, condition: Condition, predicate: Callable[[], bool]) -> None:
    with condition:
        while not predicate():
            condition.wait_until(None)


def test_waiting_lasts_until_the_deadline(host: Host) -> None:
    condition = host.condition("c")
    deadline = host.monotonic() + 0.01

    with condition:
        while host.monotonic() < deadline:
            condition.wait_until(deadline)

    assert host.monotonic() >= deadline


@pytest.mark.parametrize(
    "deadline", [pytest.param(lambda h: h.monotonic(), id="now"), pytest.param(lambda h: 0.0, id="long past")]
)
def test_a_deadline_already_past_returns(host: Host, deadline: Callable[[Host], float]) -> None:
    condition = host.condition("c")

    with condition:
        condition.wait_until(deadline(host))


@pytest.mark.parametrize("deadline", [pytest.param(None, id="for ever"), pytest.param(math.inf, id="infinite")])
def test_a_notified_waiter_wakes(host: Host, deadline: float | None) -> None:
    condition, flags = host.condition("c"), []

    def wait() -> None:
        with condition:
            while not flags:
                condition.wait_until(deadline)

    thread = host.spawn("waiter", wait)
    with condition:
        flags.append(True)
        condition.notify()

    assert thread.join_until(None)


def test_notify_all_wakes_every_waiter(host: Host) -> None:
    gate = Gate(host)
    threads = [host.spawn(f"waiter-{i}", gate.pass_through) for i in range(3)]

    gate.open()

    assert [thread.join_until(None) for thread in threads] == [True] * 3


def test_waiting_gives_the_lock_back_and_takes_it_again(host: Host) -> None:
    condition, said = host.condition("c"), []

    def answer() -> None:
        with condition:
            said.append("answer")
            condition.notify()

    with condition:
        said.append("ask")
    thread = host.spawn("other", answer)
    wait_for(host, condition, lambda: "answer" in said)

    assert said == ["ask", "answer"]
    assert thread.join_until(None)


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda condition: condition.notify(), id="notify"),
        pytest.param(lambda condition: condition.notify_all(), id="notify_all"),
        pytest.param(lambda condition: condition.wait_until(None), id="wait_until"),
    ],
)
def test_a_condition_is_refused_to_who_does_not_hold_it(host: Host, call: Callable[[Condition], None]) -> None:
    condition = host.condition("c")

    with pytest.raises(RuntimeError):
        call(condition)


def test_a_lock_admits_one_at_a_time(host: Host) -> None:
    lock, inside, seen = host.lock("l"), [], []

    def enter() -> None:
        for _ in range(50):
            with lock:
                inside.append(1)
                seen.append(len(inside))
                inside.pop()

    threads = [host.spawn(f"t{i}", enter) for i in range(3)]

    assert all(thread.join_until(None) for thread in threads)
    assert seen == [1] * 150


def test_an_exception_gives_the_lock_back(host: Host) -> None:
    lock = host.lock("l")

    with pytest.raises(KeyError), lock:
        raise KeyError

    with lock:
        pass


def test_joining_ends_at_its_deadline_while_the_thread_runs(host: Host) -> None:
    gate = Gate(host)
    thread = host.spawn("waiter", gate.pass_through)

    ended = [thread.join_until(host.monotonic() + 0.01), thread.join_until(0.0)]

    gate.open()
    assert ended == [False, False]
    assert thread.join_until(None)


def test_a_thread_that_has_ended_is_joined_even_past_the_deadline(host: Host) -> None:
    thread = host.spawn("short", lambda: None)
    thread.join_until(None)

    assert thread.join_until(0.0)


def test_a_thread_cannot_join_itself(host: Host) -> None:
    gate, threads, errors = Gate(host), [], []

    def join_itself() -> None:
        gate.pass_through()
        try:
            threads[0].join_until(None)
        except RuntimeError as error:
            errors.append(str(error))

    threads.append(host.spawn("narcissus", join_itself))
    gate.open()
    threads[0].join_until(None)

    assert errors == ["cannot join current thread"]


def test_a_thread_runs_in_a_copy_of_its_spawners_context(host: Host) -> None:
    variable = contextvars.ContextVar("variable", default="unset")
    variable.set("spawner's")
    seen = []

    def look_and_change() -> None:
        seen.append(variable.get())
        variable.set("thread's")

    thread = host.spawn("t", look_and_change)
    variable.set("changed since")

    assert thread.join_until(None)
    assert seen == ["spawner's"]
    assert variable.get() == "changed since"


def test_threads_carry_the_name_they_were_given(host: Host) -> None:
    names = []

    thread = host.spawn("worker-1", lambda: names.append(threading.current_thread().name))

    assert thread.join_until(None)
    assert thread.name == "worker-1"
    assert names[0].endswith("worker-1")


def test_clocks_are_aware_and_do_not_go_back(host: Host) -> None:
    earlier = host.monotonic()

    assert host.monotonic() >= earlier > 0
    assert host.now().utcoffset() == timedelta(0)


def test_uuids_are_random_and_new_each_time(host: Host) -> None:
    first, second = uuid.UUID(host.uuid()), uuid.UUID(host.uuid())

    assert first != second
    assert (first.version, first.variant) == (4, uuid.RFC_4122)


def test_chance_is_a_generator_of_the_hosts_own(host: Host) -> None:
    assert isinstance(host.random, random.Random)
    assert 0.0 <= host.random.random() < 1.0


def test_leaving_without_a_lock_is_allowed(host: Host) -> None:
    host.leaving("a call")


def test_the_system_host_hands_out_bare_locks_that_are_not_reentrant() -> None:
    host = SystemHost()
    lock, condition = host.lock("l"), host.condition("c")

    with lock, condition:
        assert not lock.acquire(blocking=False)
        assert not condition.acquire(blocking=False)

    assert isinstance(lock, type(threading.Lock()))
    assert isinstance(condition, threading.Condition)


def test_a_simulated_lock_taken_twice_by_one_thread_is_refused(sim: Simulation) -> None:
    lock = sim.host("r0").lock("l")

    with lock, pytest.raises(RuntimeError, match="test holds r0:l already"), lock:
        pass


def test_what_leaves_a_system_thread_reaches_the_excepthook(monkeypatch: pytest.MonkeyPatch) -> None:
    died = []
    monkeypatch.setattr(threading, "excepthook", lambda args: died.append(args.exc_value))
    bug = ValueError("bug")

    def fail() -> None:
        raise bug

    SystemHost().spawn("t", fail).join_until(None)

    assert died == [bug]


def test_the_system_host_is_named_after_its_machine() -> None:
    assert SystemHost().name
    assert SystemHost("r0").name == "r0"

# SPDX-License-Identifier: Apache-2.0
"""A stop that signals set: safe at any moment, and without harm to other handlers."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from types import FrameType

import pytest

from apimachinery.errors import UsageError
from apimachinery.stop import Stop
from apimachinery.system import SystemHost
from controller_runtime.core.signals import stop_on_signals

pytestmark = pytest.mark.ends

ASKED = signal.SIGUSR2

# A process that hangs shows where, and ends itself with status 1.
PREAMBLE = """
import faulthandler, os, random, signal, sys, threading
faulthandler.dump_traceback_later(30.0, exit=True)
from controller_runtime.core.signals import stop_on_signals
from apimachinery.stop import Stop
from apimachinery.system import SystemHost

host = SystemHost("here")
"""


@pytest.fixture(autouse=True)
def _handler() -> Iterator[None]:
    """Put the handler of a test's signal back, whatever the test does."""
    before = signal.getsignal(ASKED)
    yield
    signal.signal(ASKED, before)


def run(program: str) -> tuple[int, str, str]:
    """Run `program` in a process, and return its status, output and errors."""
    done = subprocess.run([sys.executable, "-c", PREAMBLE + program], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def test_two_hundred_signals_inside_the_lock_of_the_stop_hang_nobody() -> None:
    """Each signal arrives on the main thread while that thread holds the lock that `Stop.set` needs."""
    program = """
class Interrupted(type(host.condition(""))):
    def __enter__(self):
        entered = super().__enter__()
        if threading.current_thread() is threading.main_thread() and is_armed:
            is_armed.clear()
            signal.raise_signal(signal.SIGTERM)
        return entered

host.condition = lambda label: Interrupted()
is_armed = []
for number in range(200):
    stop = Stop(host)
    with stop_on_signals(host, stop):
        is_armed.append(number)
        stop.wait_until(None)
print("ended")
"""
    assert run(program) == (0, "ended\n", "")


def test_hundreds_of_signals_at_any_moment_hang_nobody() -> None:
    """A timer sends the signals, while the main thread uses the stop without a pause."""
    program = """
chance = random.Random(1)
for number in range(300):
    stop = Stop(host)
    with stop_on_signals(host, stop, [signal.SIGALRM]):
        signal.setitimer(signal.ITIMER_REAL, chance.uniform(0.00001, 0.002))
        while not stop.is_set():
            stop.on_set(lambda: None)()
            stop.wait(0.0)
print("ended")
"""
    assert run(program) == (0, "ended\n", "")


def test_a_signal_that_another_thread_receives_while_the_main_thread_sleeps_is_heard() -> None:
    """The main thread runs no handler before it wakes, and nothing but the stop wakes it."""
    program = """
def send():
    main = threading.main_thread().ident
    for looks in range(3):
        while sys._current_frames()[main].f_code.co_name != "wait":
            pass
    signal.pthread_kill(threading.get_ident(), signal.SIGTERM)

for number in range(20):
    stop = Stop(host)
    with stop_on_signals(host, stop):
        sender = host.spawn("sender", send)
        stop.wait_until(None)
        sender.join_until(None)
print("ended")
"""
    assert run(program) == (0, "ended\n", "")


@pytest.mark.parametrize(
    ("second", "seconds", "outcome"),
    [
        pytest.param("SIGTERM", 0.4, (0, "ended\n", ""), id="repeated at once"),
        pytest.param("SIGTERM", 0.6, (1, "", "asked to stop twice: ending at once\n"), id="repeated later"),
        pytest.param("SIGINT", 0.0, (1, "", "asked to stop twice: ending at once\n"), id="another"),
    ],
)
def test_a_signal_that_is_sent_to_the_process_and_to_its_group_asks_once(
    second: str, seconds: float, outcome: tuple[int, str, str]
) -> None:
    """As the command `timeout` sends it, and as a terminal and a starter of programs do together."""
    program = f"""
now = [0.0]
host.monotonic = lambda: now[0]
stop = Stop(host)
with stop_on_signals(host, stop):
    signal.raise_signal(signal.SIGTERM)
    stop.wait_until(None)
    now[0] = {seconds}
    signal.raise_signal(signal.{second})
print("ended")
"""
    assert run(program) == outcome


def test_a_callback_that_hangs_does_not_keep_the_second_signal_from_ending_the_process() -> None:
    program = """
stop, hanging, never = Stop(host), Stop(host), Stop(host)
stop.on_set(lambda: (hanging.set(), never.wait_until(None)))
with stop_on_signals(host, stop):
    signal.raise_signal(signal.SIGTERM)
    hanging.wait_until(None)
    signal.raise_signal(signal.SIGINT)
    never.wait_until(None)
"""
    assert run(program) == (1, "", "asked to stop twice: ending at once\n")


def test_a_closed_terminal_may_say_so_again() -> None:
    program = """
stop = Stop(host)
with stop_on_signals(host, stop, [signal.SIGHUP]):
    signal.raise_signal(signal.SIGHUP)
    signal.raise_signal(signal.SIGHUP)
    stop.wait_until(None)
    signal.raise_signal(signal.SIGHUP)
print("ended")
"""
    assert run(program) == (0, "ended\n", "")


def test_a_forked_child_is_ended_by_a_signal_as_before_and_its_parent_is_not_told() -> None:
    program = """
import warnings
warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside threads, which is the point here
stop = Stop(host)
with stop_on_signals(host, stop):
    child = os.fork()
    if child == 0:
        signal.raise_signal(signal.SIGTERM)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    print(os.waitstatus_to_exitcode(status), stop.is_set())
"""
    assert run(program) == (0, f"{-signal.SIGTERM} False\n", "")


def test_the_first_signal_sets_the_stop_and_the_old_handler_returns_after_the_block() -> None:
    host, heard = SystemHost("here"), list[int]()

    def old(number: int, frame: FrameType | None) -> None:
        heard.append(number)

    signal.signal(ASKED, old)
    stop = Stop(host)
    with stop_on_signals(host, stop, [ASKED]):
        signal.raise_signal(ASKED)
        assert stop.wait_until(None)
    signal.raise_signal(ASKED)

    assert (heard, signal.getsignal(ASKED)) == ([ASKED], old)
    assert [thread.name for thread in threading.enumerate() if thread.name in ("signals", "stopping")] == []


def test_a_handler_that_other_code_installs_inside_stays() -> None:
    host = SystemHost("here")

    def others(number: int, frame: FrameType | None) -> None:
        """Do nothing: a handler of other code."""

    with stop_on_signals(host, Stop(host), [ASKED]):
        signal.signal(ASKED, others)

    assert signal.getsignal(ASKED) is others


def test_of_two_blocks_the_inner_one_gets_the_signal_and_then_the_outer_one() -> None:
    host = SystemHost("here")
    outer, inner = Stop(host), Stop(host)
    with stop_on_signals(host, outer, [ASKED]):
        with stop_on_signals(host, inner, [ASKED]):
            signal.raise_signal(ASKED)
            inner.wait_until(None)
        assert not outer.is_set()
        signal.raise_signal(ASKED)

        assert outer.wait_until(None)


def test_of_two_blocks_for_different_signals_each_gets_its_own_once() -> None:
    program = """
outer, inner = Stop(host), Stop(host)
with stop_on_signals(host, outer):
    with stop_on_signals(host, inner, [signal.SIGUSR2]):
        signal.raise_signal(signal.SIGTERM)
        outer.wait_until(None)
        print(inner.is_set())
        signal.raise_signal(signal.SIGUSR2)
        inner.wait_until(None)
print("ended")
"""
    assert run(program) == (0, "False\nended\n", "")


def test_a_forked_child_may_leave_the_block_and_its_parent_hears_on() -> None:
    program = """
import warnings
warnings.simplefilter("ignore", DeprecationWarning)
stop = Stop(host)
with stop_on_signals(host, stop):
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        signal.raise_signal(signal.SIGTERM)
        stop.wait_until(None)
print("parent" if child else "child", stop.is_set(), flush=True)
os._exit(0)  # a child's own end would wait for the watchdog above, which was not forked with it
"""
    assert run(program) == (0, "child False\nparent True\n", "")


def test_an_event_loop_around_the_block_keeps_its_own_signals() -> None:
    host = SystemHost("here")

    async def ask_both() -> bool:
        told, stop = asyncio.Event(), Stop(host)
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGUSR1, told.set)
        try:
            with stop_on_signals(host, stop, [ASKED]):
                signal.raise_signal(signal.SIGUSR1)
                signal.raise_signal(ASKED)
                await told.wait()
                stop.wait_until(None)
            told.clear()
            signal.raise_signal(signal.SIGUSR1)
            return await told.wait()
        finally:
            loop.remove_signal_handler(signal.SIGUSR1)

    assert asyncio.run(ask_both())


def test_an_event_loop_inside_keeps_its_own_signals_and_leaves_ours() -> None:
    host, stop = SystemHost("here"), Stop(SystemHost("here"))

    async def ask_both() -> None:
        told = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, told.set)
        signal.raise_signal(signal.SIGUSR1)
        signal.raise_signal(ASKED)
        await told.wait()

    with stop_on_signals(host, stop, [ASKED]):
        asyncio.run(ask_both())

        assert stop.wait_until(None)


def test_a_callback_that_raises_is_a_failure_of_the_stop_and_keeps_nobody_waiting() -> None:
    host = SystemHost("here")
    stop = Stop(host)
    stop.on_set(lambda: 1 / 0)
    with stop_on_signals(host, stop, [ASKED]):
        signal.raise_signal(ASKED)
        stop.wait_until(None)

    assert isinstance(stop.failure, ZeroDivisionError)


def test_another_thread_is_refused_and_nothing_is_left_behind() -> None:
    host, failures = SystemHost("here"), list[Exception]()
    before = signal.getsignal(ASKED)

    def enter() -> None:
        try:
            with stop_on_signals(host, Stop(host), [ASKED]):
                pass
        except UsageError as error:
            failures.append(error)

    host.spawn("other", enter).join_until(None)

    assert [str(failure) for failure in failures] == ["signals are handled on the main thread only"]
    assert signal.getsignal(ASKED) == before
    assert "signals" not in [thread.name for thread in threading.enumerate()]


def test_an_error_of_the_body_leaves_the_block_as_it_is() -> None:
    host = SystemHost("here")
    with pytest.raises(ValueError, match="of the body"), stop_on_signals(host, Stop(host), [ASKED]):
        raise ValueError("of the body")

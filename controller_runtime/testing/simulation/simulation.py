# SPDX-License-Identifier: Apache-2.0
"""A simulation and its hosts: threads, time and random choices that follow from one seed.

Both classes are here, because each needs the other: a simulation makes hosts, and a part that was given a host
(`EmbeddedCluster(host=…)`) reaches the simulation through it, to crash and restart it, or to let time pass.
"""

from __future__ import annotations

import contextlib
import contextvars
import logging
import random
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import datetime, timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from apimachinery.plain_functions import synchronous
from controller_runtime.testing.simulation.clocks import EPOCH, Clocks
from controller_runtime.testing.simulation.locks import SimulatedCondition, SimulatedLock, SimulatedThread
from controller_runtime.testing.simulation.process import pinned, uncollected
from controller_runtime.testing.simulation.scheduler import Scheduler
from controller_runtime.testing.simulation.strategies import Strategy
from controller_runtime.testing.simulation.tasks import Machine, Task
from controller_runtime.testing.simulation.timeline import SECOND, nanoseconds

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

H = TypeVar("H", bound=Callable[[], None])


class Simulation:
    """Runs production code, unchanged, in virtual time and with a schedule drawn from `seed`; a context manager.

    The thread that enters the block, the test's thread, belongs to the simulation too: it may make the
    same calls as the others, and it lets time pass with `advance`. The failure of a thread or of a check,
    or a hang, is raised in it at once. If the block ends without an error, all threads run until each of them
    waits or is paused, and the end checks are called. In any case every thread is then ended by `Crashed` and joined.

    The same seed gives the same `digest`, in any process, as long as the code is the same.

    Args:
        seed: Determines every choice.
        switch_chance: Probability with which taking a lock lets another thread run; None: drawn from the seed.
        strategy: The way to choose the next thread; None: drawn from the seed.
        livelock_after: Number of steps in one instant, without one of the test's thread, that counts as a livelock.
        stuck_after: Real seconds without a step after which a thread counts as stuck.
        keep_trace: True to keep every step in `trace`, to find the step at which two runs begin to differ.
        warn_of_real_clock: True to warn, with a `RealClockWarning` that names the line, of code on the simulation's
            threads that reads a clock of `time` or `datetime`, or sleeps. On Python 3.11 these are then half as fast.

    Attributes:
        seed: As given.
        on_wait: Called at the end of each `advance` with its seconds, and of each `settle` with 0; None for no call.

    Threads: `advance` and `settle` only from the thread that entered the block; all else from any of the simulation.
    """

    def __init__(
        self,
        seed: int = 0,
        *,
        switch_chance: float | None = None,
        strategy: Strategy | None = None,
        livelock_after: int = 50_000,
        stuck_after: float = 10.0,
        keep_trace: bool = False,
        warn_of_real_clock: bool = False,
    ) -> None:
        self.seed = seed
        self._scheduler = Scheduler(
            seed,
            switch_chance=switch_chance,
            strategy=strategy,
            livelock_after=livelock_after,
            stuck_after=stuck_after,
            keep_trace=keep_trace,
        )
        self._scheduler.watches_clocks = warn_of_real_clock
        self._incarnations: dict[str, int] = {}
        self._hosts: dict[Machine, SimulatedHost] = {}
        self._server_hosts: dict[str, SimulatedHost] = {}
        self._end_checks: list[Callable[[], None]] = []
        self._undo = ExitStack()
        self.on_wait: Callable[[float], None] | None = None

    @property
    def scheduler(self) -> Scheduler:
        """The scheduler, for parts of the simulation itself, such as a network."""
        return self._scheduler

    def chance(self, name: str) -> random.Random:
        """Return a random generator that depends only on the seed and `name`."""
        return random.Random(f"{self.seed}/{name}")

    # Hosts and their faults.

    def host(self, name: str, *, drift: int = 0) -> SimulatedHost:
        """Return a new host.

        Args:
            name: A name that is unique in the simulation, without a `#`.
            drift: Microseconds per second by which its monotonic clock is fast; negative if it is slow.

        Raises:
            ValueError: There is a host of this name.
        """
        if name in self._incarnations:
            raise ValueError(f"host {name} exists already; restart gives it a successor")
        self._incarnations[name] = 1
        return self._make_host(name, drift)

    def server_host(self, host: SimulatedHost) -> SimulatedHost:
        """Return the host for the server of a cluster whose manager is on `host`: always the same one, named
        `<name>-server`.
        """
        name = f"{host.name.partition('#')[0]}-server"
        if name not in self._server_hosts:
            self._server_hosts[name] = self.host(name)
            self._server_hosts[name].machine.is_watched = False  # its threads run no code under test
        return self._server_hosts[name]

    def crash(self, host: SimulatedHost) -> None:
        """Kill `host`: `Crashed` is raised in each of its threads, and by later calls on it. Idempotent.

        Locks and conditions can still be made; `Crashed` is raised by their use.
        """
        self._scheduler.note(f"crash {host.name}")
        self._scheduler.crash(host.machine)

    def restart(self, host: SimulatedHost) -> SimulatedHost:
        """Kill `host` if it is alive, and return its successor: a new host (`r1`, then `r1#2`) without its state."""
        self.crash(host)
        name = host.name.partition("#")[0]
        self._incarnations[name] += 1
        return self._make_host(f"{name}#{self._incarnations[name]}", host.clocks.drift)

    def pause(self, host: SimulatedHost, seconds: float) -> None:
        """Stop `host` as SIGSTOP does: none of its threads runs for `seconds`, but its clocks go on."""
        self._scheduler.note(f"pause {host.name}")
        self._scheduler.freeze(host.machine, self._scheduler.timeline.now + nanoseconds(seconds))

    def suspend(self, host: SimulatedHost, seconds: float) -> None:
        """Suspend the machine of `host`: like `pause`, but its monotonic clock stands still, too, as on Linux."""
        self._scheduler.note(f"suspend {host.name}")
        until = self._scheduler.timeline.now + nanoseconds(seconds)
        host.clocks.fall_asleep(until)
        self._scheduler.freeze(host.machine, until)

    def stall(self, thread: SimulatedThread, seconds: float) -> None:
        """Keep one thread from running for `seconds`, while the other threads of its host run."""
        self._scheduler.note(f"stall {thread.task.name}")
        self._scheduler.freeze(thread.task, self._scheduler.timeline.now + nanoseconds(seconds))

    def jump(self, host: SimulatedHost, seconds: float) -> None:
        """Move the wall clock of `host` forwards or backwards; its monotonic clock stays as it is."""
        self._scheduler.note(f"jump {host.name}")
        host.clocks.offset += nanoseconds(seconds)

    # Time.

    @property
    def time(self) -> float:
        """Virtual seconds since the simulation began."""
        return self._scheduler.timeline.now / SECOND

    def advance(self, seconds: float) -> None:
        """Let `seconds` of virtual time pass, then let all threads run until each of them waits or is paused.

        Raises:
            ValueError: `seconds` is negative.
            RuntimeError: Another thread than the test's calls.
        """
        if seconds < 0:
            raise ValueError(f"time cannot go back by {-seconds} s")
        root = self._root("advance")
        self._scheduler.park(root, "advance", due=self._scheduler.timeline.now + nanoseconds(seconds))
        self._scheduler.settle()
        if self.on_wait is not None:
            self.on_wait(seconds)

    def settle(self) -> None:
        """Let all threads run until each of them waits or is paused, while time stands still.

        Raises:
            RuntimeError: Another thread than the test's calls.
        """
        self._root("settle")
        self._scheduler.settle()
        if self.on_wait is not None:
            self.on_wait(0.0)

    # Invariants. Checks may read anything, also under locks, and must not wait or notify.

    def check(self, hook: H) -> H:
        """Call `hook` before every step; also a decorator. The run fails if `hook` raises."""
        self._scheduler.checks.append(synchronous("check", hook))
        return hook

    def check_end(self, hook: H) -> H:
        """Call `hook` when the block ends without an error; also a decorator. It may do everything that a test may."""
        self._end_checks.append(synchronous("check_end", hook))
        return hook

    # The state of the simulation.

    def threads(self, host: SimulatedHost | None = None) -> list[str]:
        """Return the names (`r0/worker-1`) of the threads that have not ended, of one host or of all.

        The test's thread is left out.
        """
        return [
            task.name
            for task in self._scheduler.tasks
            if task is not self._scheduler.root and (host is None or task.machine is host.machine)
        ]

    @property
    def digest(self) -> str:
        """A hash of every step so far: its time, thread and label."""
        return self._scheduler.trace.digest

    @property
    def trace(self) -> list[str]:
        """Every step so far; empty unless `keep_trace` is set."""
        return self._scheduler.trace.lines

    @property
    def steps(self) -> int:
        """The number of times that the next thread to run was chosen."""
        return self._scheduler.steps

    def note(self, event: str) -> None:
        """Add `event` to the trace, and so to the digest."""
        self._scheduler.note(event)

    # The block.

    def __enter__(self) -> Self:
        self._scheduler.start()
        self._undo.enter_context(pinned())
        self._undo.enter_context(uncollected())
        self._undo.enter_context(self._stamped_logs())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        with self._undo:
            try:
                if error is None and not self._scheduler.given_up:
                    self._scheduler.settle()
                    for hook in self._end_checks:
                        hook()
            except BaseException as late:
                late.add_note(self._where())
                raise
            finally:
                self._scheduler.close()
        if error is not None:
            error.add_note(self._where())

    def _where(self) -> str:
        return f"in Simulation(seed={self.seed}) at {self.time:.9f} s of virtual time, step {self.steps}"

    def _make_host(self, name: str, drift: int) -> SimulatedHost:
        host = SimulatedHost(self, name, self.chance(f"host/{name}"), drift)
        self._hosts[host.machine] = host
        return host

    def _root(self, what: str) -> Task:
        task = self._scheduler.enter(self._scheduler.root.machine)
        if task is not self._scheduler.root:
            raise RuntimeError(f"only the test's thread may {what}; this is {task.name}")
        self._scheduler.refuse_locks(task, what)
        return task

    @contextlib.contextmanager
    def _stamped_logs(self) -> Iterator[None]:
        """Stamp log records with virtual time inside the block; a record of a dead host raises `Crashed`."""
        plain = logging.getLogRecordFactory()

        def stamped(*args: Any, **kwargs: Any) -> logging.LogRecord:
            record: logging.LogRecord = plain(*args, **kwargs)
            task = self._scheduler.current
            if task.thread is threading.current_thread():
                host = self._hosts.get(task.machine)
                wall = host.now() if host is not None else EPOCH + timedelta(seconds=self.time)
                record.created, record.msecs = wall.timestamp(), wall.microsecond // 1000
            return record

        logging.setLogRecordFactory(stamped)
        try:
            yield
        finally:
            logging.setLogRecordFactory(plain)


class SimulatedHost:
    """A host of one simulation, the simulated counterpart of `SystemHost`; `Simulation.host` returns it.

    Its machine can crash, pause, and have wrong clocks.

    Args:
        simulation: The simulation.
        name: The host's name.
        chance: The random generator of the host.
        drift: Microseconds per second by which its monotonic clock is fast; negative if it is slow.

    Attributes:
        name: As given.
        random: As `chance`.
        machine: The host's threads as a unit that crashes and pauses.
        clocks: The host's clocks, which can be read even after it has crashed.
        simulation: As given.
        scheduler: The scheduler of the simulation.

    Threads: those of the simulation, which run one at a time.
    """

    def __init__(self, simulation: Simulation, name: str, chance: random.Random, drift: int) -> None:
        self.name = name
        self.random = chance
        self.machine = Machine(name)
        self.simulation = simulation
        self.scheduler: Scheduler = simulation.scheduler
        self.clocks = Clocks(self.scheduler.timeline, chance, drift)

    @property
    def crashed(self) -> bool:
        """True once the host has crashed."""
        return self.machine.dead

    @property
    def paused(self) -> bool:
        """True while none of its threads may run."""
        return self.machine.frozen_until > self.scheduler.timeline.now

    def now(self) -> datetime:
        """Return the time of the wall clock, which `Simulation.jump` moves."""
        self._be_alive()
        return self.clocks.now()

    def monotonic(self) -> float:
        """Return the seconds of the monotonic clock since its own origin; it drifts, and a suspension stops it."""
        self._be_alive()
        return self.clocks.monotonic()

    def elapsed(self) -> float:
        """Return `monotonic` plus the seconds for which this host was suspended, measured with the same drift."""
        self._be_alive()
        return self.clocks.elapsed()

    def uuid(self) -> str:
        """Return a version 4 UUID that follows from the seed."""
        self._be_alive()
        return str(uuid.UUID(int=self.random.getrandbits(128), version=4))

    def lock(self, label: str) -> SimulatedLock:
        """Return a lock; taking it may let another thread run."""
        return SimulatedLock(self.scheduler, self.machine, label)

    def condition(self, label: str) -> SimulatedCondition:
        """Return a condition; waiting lets another thread run."""
        return SimulatedCondition(self.scheduler, self.machine, self.clocks, label)

    def spawn(self, name: str, target: Callable[[], None], *, daemon: bool = False) -> SimulatedThread:
        """Start a thread and return it; an exception that ends the thread fails the run.

        Raises:
            LockHeld: The caller holds a lock.
        """
        run = synchronous(f"the target of thread {name}", target)
        task = self.scheduler.enter(self.machine)
        self.scheduler.refuse_locks(task, f"the start of {name}")
        context = contextvars.copy_context()
        started = self.scheduler.spawn(self.machine, f"{self.name}/{name}", lambda: context.run(run))
        self.scheduler.step(task, f"spawn {name}")
        return SimulatedThread(self.scheduler, self.clocks, name, started)

    def leaving(self, label: str) -> None:
        """Let another thread run; `label` names the place in the trace.

        Raises:
            LockHeld: The caller holds a lock.
        """
        task = self.scheduler.enter(self.machine)
        self.scheduler.refuse_locks(task, label)
        self.scheduler.step(task, label)

    def new_event_loop(self) -> AbstractEventLoop:
        """Return a new asyncio event loop in virtual time, a `SimulatedEventLoop`."""
        self._be_alive()
        # Imported here, because asyncio is large, and most simulations have no coroutines.
        from controller_runtime.testing.simulation.event_loop import SimulatedEventLoop

        return SimulatedEventLoop(self)

    def _be_alive(self) -> None:
        if not self.scheduler.observing:
            self.scheduler.enter(self.machine)

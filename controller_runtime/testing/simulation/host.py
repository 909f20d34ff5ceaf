# SPDX-License-Identifier: Apache-2.0
"""The simulated counterpart of `SystemHost`: a machine that can crash, freeze, and have wrong clocks.

Its locks, conditions and threads keep the contracts of `core.host` with the help of the scheduler.
They also refuse mistakes that would stay unnoticed in production, such as a wait with a lock held.
"""

from __future__ import annotations

import contextvars
import math
import random
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Self

from apimachinery.plain_functions import synchronous
from controller_runtime.testing.simulation.report import stack_of
from controller_runtime.testing.simulation.scheduler import Scheduler
from controller_runtime.testing.simulation.tasks import Machine, State, Task
from controller_runtime.testing.simulation.timeline import SECOND, nanoseconds

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

    from controller_runtime.testing.simulation.simulation import Simulation

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
"""The time of every wall clock when a simulation begins."""

_MILLION = 1_000_000


class SimulatedHost:
    """A host of one simulation; `Simulation.host` returns it.

    Args:
        simulation: The simulation that it belongs to.
        name: The host's name.
        chance: Its random generator.
        drift: Microseconds per second by which its monotonic clock is fast; negative if it is slow.

    Threads: those of the simulation, which run one at a time.
    """

    def __init__(self, simulation: Simulation, name: str, chance: random.Random, drift: int) -> None:
        self.name = name
        self.random = chance
        self.machine = Machine(name)
        self.simulation = simulation
        self.scheduler: Scheduler = simulation.scheduler
        self.offset = 0  # nanoseconds by which the wall clock is ahead
        self.drift = drift  # microseconds a second by which the monotonic clock is fast
        # Not zero, and different on each host, because a monotonic clock begins anywhere. Not larger,
        # because floats of more seconds have no nanoseconds.
        self._origin = chance.randrange(1_000, 2_000) * SECOND + chance.randrange(SECOND)
        self._reached = 0.0
        # The nanoseconds for which the monotonic clock stood still, without those of the suspension that began last.
        self._stood_still = 0
        self._asleep_from = self._asleep_until = 0

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
        return EPOCH + timedelta(microseconds=(self.scheduler.timeline.now + self.offset) // 1000)

    def monotonic(self) -> float:
        """Return the virtual seconds since this host's own origin."""
        self._be_alive()
        elapsed = self._awake(self.scheduler.timeline.now) * (_MILLION + self.drift) // _MILLION
        return max((self._origin + elapsed) / SECOND, self._reached)

    def elapsed(self) -> float:
        """Return `monotonic` plus the seconds for which this host was suspended, at the same rate of its clock."""
        awake, now = self.monotonic(), self.scheduler.timeline.now
        return awake + (now - self._awake(now)) * (_MILLION + self.drift) // _MILLION / SECOND

    def fall_asleep(self, until: int) -> None:
        """Let the monotonic clock stand still until an instant (nanoseconds); see `Simulation.suspend`."""
        now = self.scheduler.timeline.now
        self._stood_still = now - self._awake(now)
        self._asleep_from, self._asleep_until = now, max(until, self._asleep_until)

    def _awake(self, instant: int) -> int:
        """Return for how many nanoseconds the machine has not been suspended, at an instant that is not before now."""
        return instant - self._stood_still - max(0, min(instant, self._asleep_until) - self._asleep_from)

    def uuid(self) -> str:
        """Return a version 4 UUID that follows from the seed."""
        self._be_alive()
        return str(uuid.UUID(int=self.random.getrandbits(128), version=4))

    def lock(self, label: str) -> SimulatedLock:
        """Return a lock; taking it may let another thread run."""
        return SimulatedLock(self, label)

    def condition(self, label: str) -> SimulatedCondition:
        """Return a condition; waiting lets another thread run."""
        return SimulatedCondition(self, label)

    def spawn(self, name: str, target: Callable[[], None], *, daemon: bool = False) -> SimulatedThread:
        """Start a thread and return it; an exception that leaves it fails the run."""
        run = synchronous(f"the target of thread {name}", target)
        task = self.scheduler.enter(self.machine)
        self.scheduler.refuse_locks(task, f"the start of {name}")
        context = contextvars.copy_context()
        started = self.scheduler.spawn(self.machine, f"{self.name}/{name}", lambda: context.run(run))
        self.scheduler.step(task, f"spawn {name}")
        return SimulatedThread(self, name, started)

    def leaving(self, label: str) -> None:
        """Let another thread run. Raise `LockHeld` if the caller holds a lock."""
        task = self.scheduler.enter(self.machine)
        self.scheduler.refuse_locks(task, label)
        self.scheduler.step(task, label)

    def new_event_loop(self) -> AbstractEventLoop:
        """Return an asyncio event loop under virtual time; see `event_loop.SimulatedEventLoop`."""
        self._be_alive()
        # Imported here, because asyncio is large, and most simulations have no coroutines.
        from controller_runtime.testing.simulation.event_loop import SimulatedEventLoop

        return SimulatedEventLoop(self)

    def has_reached(self, deadline: float | None) -> bool:
        """Return whether `deadline` (monotonic seconds of this host) has passed; `monotonic` agrees from then on."""
        due = self.instant_of(deadline)
        if deadline is None or due is None or due > self.scheduler.timeline.now:
            return False
        # Sums of floats are off by a fraction of a nanosecond. Without this a caller that loops until `deadline`
        # could find `monotonic` just below it, and loop forever, because time stands still while it loops.
        self._reached = max(self._reached, deadline)
        return True

    def instant_of(self, deadline: float | None) -> int | None:
        """Return the nanosecond of the simulation at which `deadline` passes; None for never."""
        if deadline is None or deadline == math.inf:
            return None
        elapsed = nanoseconds(deadline) - self._origin
        awake = -(-elapsed * _MILLION // (_MILLION + self.drift))  # rounded up, so that it is not before the deadline
        return awake + self._stood_still + max(0, self._asleep_until - self._asleep_from)

    def _be_alive(self) -> None:
        if not self.scheduler.observing:
            self.scheduler.enter(self.machine)


class SimulatedLock:
    """A lock that may let other threads run before it is taken, and refuses to be taken twice by one thread."""

    def __init__(self, host: SimulatedHost, label: str) -> None:
        self._host = host
        self._scheduler = host.scheduler
        self._label = label
        self._owner: Task | None = None
        self._contenders: list[Task] = []

    def __str__(self) -> str:
        return f"{self._host.name}:{self._label}"

    def __enter__(self) -> Self:
        scheduler = self._scheduler
        if scheduler.observing:
            return self
        task = scheduler.enter(self._host.machine)
        if self._owner is task:
            raise RuntimeError(f"{task.name} holds {self} already, and it is not re-entrant")
        if scheduler.chance.random() < scheduler.switch_chance:
            scheduler.step(task, f"take {self._label}")
        self._take(task)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        # Without `enter`, which raises on a crashed host: a thread that unwinds still has to release its locks.
        if self._owner is self._scheduler.current and not self._scheduler.observing:
            self._release(self._owner)

    def _take(self, task: Task) -> None:
        while self._owner is not None:
            task.wants = self
            self._scheduler.wanting += 1
            try:
                self._scheduler.park(task, f"contended {self._label}", self._contenders)
            finally:
                task.wants = None
                self._scheduler.wanting -= 1
        self._owner = task
        task.held.append(self)

    def _release(self, task: Task) -> None:
        self._owner = None
        task.held.remove(self)
        for contender in list(self._contenders):
            self._scheduler.wake(contender)


class SimulatedCondition(SimulatedLock):
    """A condition whose waiters wake in an order drawn from the seed, and now and then without a notification."""

    def __init__(self, host: SimulatedHost, label: str) -> None:
        super().__init__(host, label)
        self._waiters: list[Task] = []

    def wait_until(self, deadline: float | None) -> None:
        """Release the lock, sleep until notified or `deadline`, and take it again.

        Raises:
            LockHeld: The thread holds another lock.
        """
        scheduler = self._scheduler
        task = self._holder("wait on")
        scheduler.refuse_locks(task, f"a wait on {self._label}", but=self)
        self._release(task)
        if self._host.has_reached(deadline) or self._returns_early():
            scheduler.step(task, self._label)
        else:
            scheduler.park(task, self._label, self._waiters, self._host.instant_of(deadline))
            self._host.has_reached(deadline)
        self._take(task)

    def notify(self) -> None:
        """Wake one waiter, chosen at random from the seed."""
        self._holder("notify")
        if self._waiters:
            self._scheduler.wake(self._waiters[int(self._scheduler.chance.random() * len(self._waiters))])

    def notify_all(self) -> None:
        """Wake every waiter."""
        self._holder("notify")
        for waiter in list(self._waiters):
            self._scheduler.wake(waiter)

    def _holder(self, what: str) -> Task:
        task = self._scheduler.enter(self._host.machine)
        if self._owner is not task:
            raise RuntimeError(f"cannot {what} {self} without holding it")
        return task

    def _returns_early(self) -> bool:
        rate = self._scheduler.early_return_chance
        return rate > 0 and self._scheduler.chance.random() < rate


class SimulatedThread:
    """A thread of a simulated host."""

    def __init__(self, host: SimulatedHost, name: str, task: Task) -> None:
        self.name = name
        self.task = task
        self._host = host

    def join_until(self, deadline: float | None) -> bool:
        """Wait until the thread has ended or until `deadline`, and return whether it has ended.

        Raises:
            LockHeld: The caller holds a lock.
        """
        scheduler = self._host.scheduler
        task = scheduler.enter(self._host.machine)
        scheduler.refuse_locks(task, f"a join of {self.name}")
        if task is self.task:
            raise RuntimeError("cannot join current thread")
        if self.task.state is State.ENDED or self._host.has_reached(deadline):
            scheduler.step(task, f"join {self.name}")
        while self.task.state is not State.ENDED and not self._host.has_reached(deadline):  # or it was suspended
            scheduler.park(task, f"join {self.name}", self.task.joiners, self._host.instant_of(deadline))
        return self.task.state is State.ENDED

    def stack(self) -> str:
        """Return the thread's present stack; empty once it has ended."""
        return "" if self.task.state is State.ENDED else stack_of(self.task)

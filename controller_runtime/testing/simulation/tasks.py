# SPDX-License-Identifier: Apache-2.0
"""The records of the scheduler: machines, their tasks, and the errors that end them.

A task is a thread of the operating system that runs only while it holds its baton, which is its turn to run; a machine
is the set of tasks that crash together. Only the scheduler changes these records, on the thread that runs, so they need
no lock.
"""

from __future__ import annotations

import enum
import queue
import threading

from controller_runtime.testing.simulation.timeline import Timer


class Crashed(BaseException):
    """The host has crashed. It is raised in each of the host's waiting threads, and by later calls on the host.

    It is not an `Exception`, so that code which logs or retries errors does not catch it.
    """


class Hang(Exception):
    """A simulation cannot go on: no thread can run, the threads never stop, or one is stuck outside of the simulation.
    The message names the wait of each thread, except if a thread does not end with the simulation, or if the test's
    thread calls a simulation that was given up.
    """


class LockHeld(RuntimeError):
    """A lock was held across a call that waits or may let other threads run: wait, join, spawn,
    `Host.leaving`, `Simulation.advance` and `settle`.
    """


class TaskState(enum.Enum):
    """The state of a task, which is one thread of the simulation."""

    READY = "ready"
    RUNNING = "running"
    PARKED = "parked"
    ENDED = "ended"


class Machine:
    """The tasks of one host, which pause and crash together."""

    __slots__ = ("dead", "frozen_until", "is_watched", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.dead = False
        self.frozen_until = 0  # nanoseconds of the simulation
        self.is_watched = True  # for calls of the real clock; not if it runs no code under test, because that costs


class Baton:
    """The turn of one task, for which its thread waits until another thread hands it over.

    It is a queue rather than a lock, because without the GIL a thread that waits for a lock yields forty times before
    it sleeps. On a busy machine a turn then took milliseconds instead of microseconds.
    """

    __slots__ = ("_turns",)

    def __init__(self) -> None:
        self._turns: queue.SimpleQueue[None] = queue.SimpleQueue()

    def give(self) -> None:
        """Let the thread run; a second call before it runs has no effect."""
        if self._turns.empty():
            self._turns.put(None)

    def take(self, timeout: float | None = None) -> bool:
        """Wait until `give` lets the thread run; return False after `timeout` real seconds (None: no limit)."""
        try:
            self._turns.get(timeout=timeout)
        except queue.Empty:
            return False
        return True


class Task:
    """One thread of the simulation."""

    def __init__(self, machine: Machine, name: str, priority: float) -> None:
        self.machine = machine
        self.name = name
        self.priority = priority
        self.baton = Baton()
        self.thread = threading.current_thread()
        self.state = TaskState.READY
        self.frozen_until = 0  # nanoseconds of the simulation
        self.held: list[object] = []  # locks, in the order in which they were taken
        self.joiners: list[Task] = []
        # The wait of a task that is parked.
        self.label = "start"  # names the place, for the trace
        self.queue: list[Task] | None = None  # the waiters among which it is
        self.timer: Timer | None = None  # ends the wait
        # The lock that it waits for. No lock is held across a wait for anything else.
        self.wants: object = None

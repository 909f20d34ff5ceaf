# SPDX-License-Identifier: Apache-2.0
"""What the scheduler moves: machines, their tasks, and the errors that end them.

A task is an operating system thread and the baton it must hold to run; a machine is
what its tasks share and lose together. Both are plain records: the scheduler alone
changes them, on whatever thread holds the baton.
"""

from __future__ import annotations

import enum
import threading

from controller_runtime.testing.simulation.timeline import Timer


class Crashed(BaseException):
    """The host is gone: raised in each of its threads where it stands, and by every later call on it.

    Not an `Exception`, so that nothing which retries or logs errors swallows it.
    """


class Hang(Exception):
    """Nobody can go on, or nobody ever stops; the message tells who stands where."""


class LockHeld(RuntimeError):
    """A lock was held across a call that waits or leaves: wait, join, spawn, `Host.leaving`."""


class State(enum.Enum):
    """What a task is doing."""

    READY = "ready"
    RUNNING = "running"
    PARKED = "parked"
    ENDED = "ended"


class Machine:
    """What the tasks of one host share: a name and a fate."""

    __slots__ = ("dead", "frozen_until", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.dead = False
        self.frozen_until = 0  # nanoseconds of the simulation


class Task:
    """One thread of the simulation."""

    def __init__(self, machine: Machine, name: str, priority: float) -> None:
        self.machine = machine
        self.name = name
        self.priority = priority
        # Locked unless the task may run: to give up the baton is to acquire this again.
        self.baton = threading.Lock()
        self.baton.acquire()
        self.thread = threading.current_thread()
        self.state = State.READY
        self.frozen_until = 0  # nanoseconds of the simulation
        self.held: list[object] = []  # locks, in the order in which they were taken
        self.joiners: list[Task] = []
        # Where it stands while it does not run: at what, among whom, until when.
        self.label = "start"
        self.queue: list[Task] | None = None
        self.timer: Timer | None = None
        # The lock whose holder keeps it from going on. Locks are never held across a wait for anything else.
        self.wants: object = None

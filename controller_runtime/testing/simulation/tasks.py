# SPDX-License-Identifier: Apache-2.0
"""What the scheduler moves: machines, their tasks, and the errors that end them.

A task is an operating system thread and the baton it must hold to run; a machine is
what its tasks share and lose together. Both are plain records: the scheduler alone
changes them, on whatever thread holds the baton.
"""

from __future__ import annotations

import enum
import threading
from collections.abc import Callable


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


class Timer:
    """Something to do at an instant, until it is cancelled."""

    __slots__ = ("action",)

    def __init__(self, action: Callable[[], None]) -> None:
        self.action: Callable[[], None] | None = action

    def cancel(self) -> None:
        """Do nothing at that instant. Idempotent."""
        self.action = None


class Machine:
    """What the tasks of one host share: a name, a fate and a wall clock."""

    __slots__ = ("dead", "frozen_until", "name", "offset")

    def __init__(self, name: str) -> None:
        self.name = name
        self.dead = False
        self.frozen_until = 0  # nanoseconds of the simulation
        self.offset = 0  # nanoseconds by which its wall clock is wrong


class Task:
    """One thread of the simulation."""

    __slots__ = (
        "baton",
        "due",
        "frozen_until",
        "held",
        "ident",
        "joiners",
        "label",
        "machine",
        "name",
        "priority",
        "queue",
        "state",
        "timer",
    )

    def __init__(self, machine: Machine, name: str, priority: float) -> None:
        self.machine = machine
        self.name = name
        self.priority = priority
        # Locked unless the task may run: to give up the baton is to acquire this again.
        self.baton = threading.Lock()
        self.baton.acquire()
        self.state = State.READY
        self.ident = 0
        self.frozen_until = 0
        self.held: list[object] = []  # locks, in the order in which they were taken
        # Where it stands while it does not run: why, among whom, until when.
        self.label = "start"
        self.queue: list[Task] | None = None
        self.due: int | None = None
        self.timer: Timer | None = None
        self.joiners: list[Task] = []

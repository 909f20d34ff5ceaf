# SPDX-License-Identifier: Apache-2.0
"""The host that production runs on: bare `threading`, the system's clocks and its chance."""

from __future__ import annotations

import contextvars
import random
import socket
import sys
import threading
import time
import traceback
import uuid
from collections.abc import Callable
from datetime import UTC, datetime


class _Condition(threading.Condition):
    """A condition over a plain lock, waiting for absolute deadlines."""

    def __init__(self) -> None:
        super().__init__(threading.Lock())

    def wait_until(self, deadline: float | None) -> None:
        if deadline is None:
            self.wait()
            return
        # The platform's longest wait is bounded; callers loop, so an early return is within the contract.
        self.wait(min(max(deadline - time.monotonic(), 0.0), threading.TIMEOUT_MAX))


class _Thread(threading.Thread):
    """A thread that is joined by deadline."""

    def join_until(self, deadline: float | None) -> bool:
        if deadline is None:
            self.join()
        else:
            self.join(min(max(deadline - time.monotonic(), 0.0), threading.TIMEOUT_MAX))
        return not self.is_alive()

    def stack(self) -> str:
        frame = sys._current_frames().get(self.ident or 0) if self.is_alive() else None
        return "".join(traceback.format_stack(frame)) if frame is not None else ""


def stacks() -> str:
    """Where every thread of this process stands, each below its name, the innermost call last."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    stands = [(names.get(ident, str(ident)), traceback.format_stack(f)) for ident, f in sys._current_frames().items()]
    return "\n".join(f"{name}\n{''.join(lines)}" for name, lines in sorted(stands))


class SystemHost:
    """The real machine.

    Threads are not daemons unless asked for: a program that forgets to stop one does not exit,
    which is noticed; one that drops it half-way through a write would not be.

    Args:
        name: Defaults to the machine's host name.
    """

    def __init__(self, name: str | None = None) -> None:
        self.name = name if name is not None else socket.gethostname()
        self.random = random.Random()  # seeded by the operating system

    monotonic = staticmethod(time.monotonic)

    @staticmethod
    def now() -> datetime:
        """The system's wall clock."""
        return datetime.now(UTC)

    @staticmethod
    def uuid() -> str:
        """A random UUID of the system's entropy."""
        return str(uuid.uuid4())

    @staticmethod
    def lock(label: str) -> threading.Lock:
        """A bare lock; nobody here prints `label`."""
        return threading.Lock()

    @staticmethod
    def condition(label: str) -> _Condition:
        """A condition over a bare lock; nobody here prints `label`."""
        return _Condition()

    @staticmethod
    def spawn(name: str, target: Callable[[], None], *, daemon: bool = False) -> _Thread:
        """A started thread; what leaves `target` reaches `threading.excepthook`."""
        context = contextvars.copy_context()
        thread = _Thread(target=lambda: context.run(target), name=name, daemon=daemon)
        thread.start()
        return thread

    @staticmethod
    def leaving(label: str) -> None:
        """Nothing: the system switches threads whenever it likes."""

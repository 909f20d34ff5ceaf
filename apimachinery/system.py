# SPDX-License-Identifier: Apache-2.0
"""The host of production: plain `threading` objects, and the clocks and the randomness of the operating system."""

from __future__ import annotations

import contextvars
import os
import random
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable, Collection
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from apimachinery.plain_functions import synchronous

if TYPE_CHECKING:
    import asyncio


_TRIES = 4
"""The number of times that a thread looks at a condition's lock before it sleeps until the lock is free."""


_WITH_SUSPENSIONS: int | None = getattr(
    time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC if sys.platform == "darwin" else None
)
"""The clock that goes on while the machine is suspended. On macOS it is that one, since Python's `monotonic` reads
another; None where the system has none."""


class _Condition(threading.Condition):
    """A condition with a plain lock, that waits until absolute deadlines.

    A thread that sleeps until a lock is free gets it without the interpreter. Until its turn there has come, the
    threads that run find the lock taken, go to sleep as well, and from then on each pass of the lock wakes a thread:
    ten times the cost of the pass. So a thread that finds the lock taken first lets the others run, and looks again
    when the interpreter is its own: mostly the lock is free then. Without the GIL this gains nothing and costs nothing,
    because Python's own locks then do the same before they sleep.
    """

    def __init__(self) -> None:
        lock = threading.Lock()
        super().__init__(lock)
        self._take = lock.acquire

    def __enter__(self) -> bool:
        if not self._take(False):
            self._take_later()
        return True

    def _acquire_restore(self, state: object) -> None:
        self.__enter__()

    def _take_later(self) -> None:
        for _ in range(_TRIES):
            time.sleep(0)  # gives up the interpreter
            if self._take(False):
                return
        self._take()

    def wait_until(self, deadline: float | None) -> None:
        if deadline is None:
            self.wait()
            return
        # The platform bounds the longest wait. Returning early is within the contract of `Condition.wait_until`.
        self.wait(min(max(deadline - time.monotonic(), 0.0), threading.TIMEOUT_MAX))


class _Thread(threading.Thread):
    """A thread that can be joined until an absolute deadline."""

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
    """Return the stacks of all threads of this process as text: for each thread its name, then its calls, innermost
    last.
    """
    return "\n".join(f"{name}\n{stack}" for name, stack in _stands())


def stacks_of(names: Collection[str]) -> str:
    """Return the stacks of the threads with these names, in the format of `stacks`."""
    return "\n".join(f"{name}\n{stack}" for name, stack in _stands() if name in names)


def _stands() -> list[tuple[str, str]]:
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    return sorted(
        (names.get(ident, str(ident)), "".join(traceback.format_stack(frame)))
        for ident, frame in sys._current_frames().items()
    )


def thread_names(*, daemons: bool = True) -> list[str]:
    """Return the sorted names of this process's threads; without `daemons`, of those for which an exit of the process
    waits.
    """
    return sorted(thread.name for thread in threading.enumerate() if daemons or not thread.daemon)


def joins_threads() -> bool:
    """Return whether the main thread has ended and waits for the threads that are not daemons, before the process
    exits.
    """
    frame = sys._current_frames().get(threading.main_thread().ident or 0)
    while frame is not None:
        if frame.f_code.co_name == "_shutdown" and frame.f_globals.get("__name__") == "threading":
            return True
        frame = frame.f_back
    return False


def is_on_main_thread() -> bool:
    """Return whether the calling thread is the main thread. Only that thread can install signal handlers."""
    return threading.current_thread() is threading.main_thread()


class SystemHost:
    """The production `Host`: the clocks, locks, threads and randomness of this machine.

    Threads are not daemons by default: a thread that is not stopped keeps the process from exiting, which is noticed,
    while a daemon that dies in the middle of a write is not.

    Args:
        name: The name of the host in identities, such as that of a leader; by default the machine's host name.
    """

    def __init__(self, name: str | None = None) -> None:
        self.name = name if name is not None else socket.gethostname()
        self.random = random.Random()  # seeded by the operating system

    monotonic = staticmethod(time.monotonic)

    @staticmethod
    def elapsed() -> float:
        """Return the seconds since the machine was started, including suspensions; on Windows the same as
        `monotonic`.
        """
        return time.monotonic() if _WITH_SUSPENSIONS is None else time.clock_gettime(_WITH_SUSPENSIONS)

    @staticmethod
    def now() -> datetime:
        """Return the operating system's wall clock time as an aware UTC datetime."""
        return datetime.now(UTC)

    @staticmethod
    def uuid() -> str:
        """Return a random (version 4) UUID from the operating system's random bytes."""
        entropy = os.urandom(16)
        digits = entropy.hex()  # a third of the cost of `uuid.uuid4`; each object, write and review needs one
        variant = "89ab"[entropy[8] >> 6]
        return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"

    @staticmethod
    def lock(label: str) -> threading.Lock:
        """Return a plain lock; `label` is ignored."""
        return threading.Lock()

    @staticmethod
    def condition(label: str) -> _Condition:
        """Return a condition with a plain lock; `label` is ignored."""
        return _Condition()

    @staticmethod
    def spawn(name: str, target: Callable[[], None], *, daemon: bool = False) -> _Thread:
        """Start `target` on a new thread and return the thread. Uncaught exceptions go to `threading.excepthook`."""
        run = synchronous(f"the target of thread {name}", target)
        context = contextvars.copy_context()
        thread = _Thread(target=lambda: context.run(run), name=name, daemon=daemon)
        thread.start()
        return thread

    @staticmethod
    def new_event_loop() -> asyncio.AbstractEventLoop:
        """Return a new event loop of asyncio, whose time is `time.monotonic`."""
        import asyncio  # here, because a program without coroutines should not pay for its import

        return asyncio.new_event_loop()

    @staticmethod
    def leaving(label: str) -> None:
        """Do nothing. Only a simulation needs this point, to switch threads."""

# SPDX-License-Identifier: Apache-2.0
"""Stops the process when it receives a signal such as SIGTERM.

Python runs a signal's handler on the main thread, between any two instructions, even inside
a section that holds a lock. A handler that calls `Stop.set` can therefore wait for a lock
that its own thread holds, forever. It also runs late: not before the main thread wakes, if the
signal came just before that thread began to wait or was delivered to another one. So the
handlers here do nothing. The system writes the signal's number into a pipe (the wakeup
descriptor), and a thread reads it and acts.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterable, Iterator
from types import FrameType
from typing import Any

from apimachinery.errors import UsageError
from apimachinery.host import Host, Thread
from apimachinery.log import get_logger
from apimachinery.stop import Stop, spawn

log = get_logger(__name__)

REPEATED_WITHIN = 0.5
"""Seconds within which a repeated signal counts as the same request. `timeout`, and programs that start others, send a
signal to the process and to its group, or pass on one that a terminal has sent to both.
"""

_END = b"\0"  # no signal has the number zero
_NOWHERE = -1  # the wakeup descriptor of a program that has none


@contextlib.contextmanager
def stop_on_signals(host: Host, stop: Stop, numbers: Iterable[int] = (signal.SIGINT, signal.SIGTERM)) -> Iterator[None]:
    """Return a context manager: inside its block, the first of these signals sets `stop`.

    Afterwards the old handlers are restored. A second signal ends the process at once, with status 1, because the stop
    may hang. Two kinds of later signals are ignored: a SIGHUP, because a closed terminal may send several, and a
    repetition of the first signal within `REPEATED_WITHIN` seconds. The callbacks of `stop` run on a separate thread.

    A handler that other code installs inside the block replaces the one installed here, and stays. An event loop still
    gets its own signals, whether it runs around the block or inside. If blocks are nested, the inner one gets the
    signals of both. A forked child treats signals as they were treated before the block.

    Threads: the main thread only.

    Args:
        host: The source of threads; it must be the real machine, not a simulation.
        stop: The stop to set.
        numbers: The signals. They are received inside the block even if the process ignored them before.

    Raises:
        UsageError: This is not the main thread.
    """
    requests = StopRequests(host, stop)
    with contextlib.closing(requests), signals_received(host, numbers, requests.received):
        yield


class StopRequests:
    """Decides what each signal does: the first sets a stop, a later one ends the process.

    Args:
        host: The source of threads and of the time.
        stop: The stop that the first signal sets.

    Threads: `received` one, `close` any.
    """

    def __init__(self, host: Host, stop: Stop) -> None:
        self._host = host
        self._stop = stop
        self._setting: Thread | None = None
        self._first = (0, 0.0)  # the first signal, and when it came

    def received(self, number: int) -> None:
        """Act on signal `number`: set the stop at the first signal, and end the process at a later one.

        Ignored are a SIGHUP that is not the first signal, and a repetition of the first signal within `REPEATED_WITHIN`
        seconds.
        """
        now = self._host.monotonic()
        if self._setting is None:
            self._first = (number, now)
            log.info("stopping", signal=signal.Signals(number).name)
            # On a thread of its own: if a callback hangs, the next signal must still be received.
            self._setting = spawn(self._host, self._stop, "stopping", self._stop.set)
        elif number != signal.SIGHUP and not (number == self._first[0] and now - self._first[1] < REPEATED_WITHIN):
            with contextlib.suppress(OSError):
                os.write(2, b"asked to stop twice: ending at once\n")  # `sys.stderr` has a lock, which may be held
            os._exit(1)

    def close(self) -> None:
        """Wait until the callbacks of the stop have run; return at once if no signal has come."""
        if self._setting is not None:
            self._setting.join_until(None)


@contextlib.contextmanager
def signals_received(host: Host, numbers: Iterable[int], received: Callable[[int], None]) -> Iterator[None]:
    """Return a context manager: inside its block, `received` is called on a thread with the number of each signal.

    See `stop_on_signals` about other handlers.

    Args:
        host: The source of threads; it must be the real machine, not a simulation.
        numbers: The signals.
        received: The callback. It must be quick and must not raise: the next signal waits for it.

    Raises:
        UsageError: This is not the main thread.
    """
    reader, writer = os.pipe()
    with contextlib.ExitStack() as stack:
        stack.callback(os.close, reader)
        stack.callback(os.close, writer)
        os.set_blocking(writer, False)
        handlers = _Handlers(numbers, writer)

        def read() -> None:
            while (byte := os.read(reader, 1)) != _END:
                if byte[0] in handlers.previous:
                    received(byte[0])
                else:
                    handlers.pass_on(byte)

        stack.callback(host.spawn("signals", read).join_until, None)
        stack.callback(handlers.end)
        handlers.install()
        yield


class _Handlers:
    """The handlers that one `with` block of `signals_received` installs, and the handlers that they replace.

    Threads: `pass_on` may be called from any thread, the other methods from the main thread only.
    """

    def __init__(self, numbers: Iterable[int], writer: int) -> None:
        # The handlers to put back. `getsignal` returns None for one that C code installed: Python cannot put that back,
        # so the default takes its place.
        self.previous: dict[int, Any] = {number: signal.getsignal(number) or signal.SIG_DFL for number in numbers}
        self.writer = writer
        self._previous_writer = _NOWHERE
        self._process = os.getpid()

    def install(self) -> None:
        try:
            self._previous_writer = signal.set_wakeup_fd(self.writer, warn_on_full_buffer=False)
            _installed.append(self)
            for number in self.previous:
                signal.signal(number, self._note)
        except ValueError as error:
            raise UsageError("signals are handled on the main thread only") from error

    def remove(self) -> None:
        """Put the old handlers and wakeup descriptor back, except where other code has installed its own since."""
        if self not in _installed:
            return
        _installed.remove(self)
        for number, handler in self.previous.items():
            if signal.getsignal(number) == self._note:
                signal.signal(number, handler)
        present = signal.set_wakeup_fd(_NOWHERE)
        with contextlib.suppress(ValueError, OSError):  # the old descriptor was closed meanwhile
            signal.set_wakeup_fd(self._previous_writer if present == self.writer else present)

    def end(self) -> None:
        """Remove the handlers, and end the thread that reads; a forked child has no such thread."""
        self.remove()
        if os.getpid() == self._process:
            os.write(self.writer, _END)

    def pass_on(self, byte: bytes) -> None:
        """Write the number of a signal that is not ours to the wakeup descriptor that ours replaced."""
        if self._previous_writer != _NOWHERE:
            with contextlib.suppress(OSError):  # closed meanwhile, or full
                os.write(self._previous_writer, byte)

    def _note(self, number: int, frame: FrameType | None) -> None:
        """Write the number to the pipe if the system could not, because other code took the wakeup descriptor away."""
        present = signal.set_wakeup_fd(self.writer, warn_on_full_buffer=False)
        if present not in (self.writer, _NOWHERE):
            signal.set_wakeup_fd(present)
        if present not in [each.writer for each in _installed]:
            with contextlib.suppress(BlockingIOError):
                os.write(self.writer, bytes([number]))


# The handlers that are installed now, those of the innermost block last.
_installed: list[_Handlers] = []


def _abandon() -> None:
    """Remove the handlers in a forked child, which would else write its signals to the pipe that its parent reads."""
    for handlers in reversed([*_installed]):
        handlers.remove()


os.register_at_fork(after_in_child=_abandon)

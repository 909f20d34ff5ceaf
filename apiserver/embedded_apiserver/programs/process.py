# SPDX-License-Identifier: Apache-2.0
"""A process of a program: its arguments, its streams, its log, and its end."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import attrs

from apimachinery.host import Clock, Host
from embedded_apiserver.programs.link import ROOM, Link

MESSAGE = 32 * 1024
"""The most bytes of one message with output; longer output is several messages."""


class Killed(BaseException):
    """The process must end, because its pod or the server has ended. Like `SystemExit`, it is not an `Exception`."""


class Life:
    """The state of a process: whether it must end, and its exit status.

    The condition variable `link.condition` guards it.

    Args:
        link: The connection of the process.

    Threads: any.
    """

    def __init__(self, link: Link) -> None:
        self._link = link
        self.status: int | None = None  # with which it was killed; set once

    def kill(self, status: int = 137) -> None:
        """Let each current and future blocking call of the process raise `Killed`. Idempotent.

        Args:
            status: The exit status: 137 for SIGKILL, such as when the pod was deleted; 130 for an interrupt.
        """
        with self._link.condition:
            if self.status is None:
                self.status = status
            self._link.condition.notify_all()

    def is_killed(self) -> bool:
        """Return whether the process was killed."""
        return self.status is not None

    def check(self) -> None:
        """Raise `Killed` if the process was killed."""
        if self.is_killed():
            raise Killed


class Inlet(io.RawIOBase):
    """The standard input of an emulated process in a pod: bytes from the client.

    Threads: those of the process's program for reading; any for `feed` and `end`.
    """

    def __init__(self, link: Link, life: Life) -> None:
        super().__init__()
        self._link, self._life = link, life
        self._bytes = bytearray()  # guarded by the link's condition, with the flag below
        self._is_over = False

    def feed(self, data: bytes) -> bool:
        """Add bytes to the input, or drop them after `end`, and return True; return False if the buffer is full."""
        with self._link.condition:
            if len(self._bytes) > ROOM and not self._is_over:
                return False
            if not self._is_over:
                self._bytes += data
                self._link.condition.notify_all()
            return True

    def end(self) -> None:
        """Mark the end of the input after the bytes so far. Idempotent."""
        with self._link.condition:
            self._is_over = True
            self._link.condition.notify_all()

    def readable(self) -> bool:
        """Return True: the stream can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Wait for bytes, read as many as `buffer` can take, and return their number; return 0 at the end of the
        input.
        """
        condition = self._link.condition
        with condition:
            while not self._bytes and not self._is_over and not self._life.is_killed():
                condition.wait_until(None)
            self._life.check()
            had_no_room = len(self._bytes) > ROOM
            count = min(len(buffer), len(self._bytes))
            buffer[:count] = self._bytes[:count]
            del self._bytes[:count]
        if had_no_room:
            self._link.notify()
        return count


Input = io.BufferedIOBase
"""The standard input of a process: a file of bytes, which ends when the client closes its side or disconnects."""


class Output:
    """An output stream of a process. Data is sent immediately, as long as the client reads it.

    It accepts `bytes`, and for `print(…, file=process.stdout)` also `str`, which is encoded as UTF-8.

    Threads: only the process's.
    """

    def __init__(self, put: Callable[[bytes], None], life: Life, *, returns: bool = False) -> None:
        self._put, self._life, self._returns = put, life, returns

    def write(self, data: bytes | str) -> int:
        """Write all of `data` and return its length. This blocks while the client does not read.

        Raises:
            Killed: The process must end.
        """
        raw = data.encode() if isinstance(data, str) else bytes(data)
        if self._returns:  # as a terminal does
            raw = raw.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
        for start in range(0, len(raw), MESSAGE):
            self._life.check()
            self._put(raw[start : start + MESSAGE])
        self._life.check()
        return len(data)

    def writelines(self, lines: Iterable[bytes | str]) -> None:
        """Write several texts; no line feeds are added."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Do nothing, because there is no buffer."""


@attrs.define(eq=False)
class Process:
    """One run of a program: the argument of the program's function.

    Attributes:
        args: The command of an exec; for an attach `command` and `args` of the container; empty for a port.
        env: The environment variables of the container: values, fields, and keys of Secrets and ConfigMaps.
        pod: The decoded pod, as it was when the process began.
        container: The name of the container.
        port: The port of a forwarded connection, whose two directions are `stdin` and `stdout`; None for a command.
        is_attached: True for an attach.
        tty: True if the client has a terminal. Then `stderr` is written to `stdout`, and input is edited line by line.
        stdin: The standard input.
        stdout: The standard output.
        stderr: The standard error output.
        size: The columns and rows of the terminal; (0, 0) until the client sends them.

    Threads: one.
    """

    args: tuple[str, ...]
    env: Mapping[str, str]
    pod: Mapping[str, Any]
    container: str
    port: int | None
    is_attached: bool
    tty: bool
    stdin: Input
    stdout: Output
    stderr: Output
    _host: Host
    _life: Life
    _link: Link
    _log: Callable[[str], None]
    size: tuple[int, int] = (0, 0)

    @property
    def clock(self) -> Clock:
        """The clock of the server's host."""
        return self._host

    def log(self, text: str) -> None:
        """Append lines to the log of the container, with the current time."""
        self._log(text)

    def wait(self, seconds: float) -> None:
        """Wait for `seconds` of the host's time.

        Raises:
            Killed: The process must end.
        """
        end = self._host.monotonic() + seconds
        with self._link.condition:
            while not self._life.is_killed() and self._host.monotonic() < end:
                self._link.condition.wait_until(end)
            self._life.check()

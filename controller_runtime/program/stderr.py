# SPDX-License-Identifier: Apache-2.0
"""Standard error that drops text rather than block the program.

A pipe whose reader does not read, or a terminal stopped with Ctrl-S, would block every thread
that logs, and so keep the program from stopping.
"""

from __future__ import annotations

import io
import os
import select
import sys

_STANDARD = range(3)
_MILLISECONDS = 1000


class DroppingStream(io.TextIOBase):
    """A text stream to a file descriptor that drops text if the reader is too slow.

    Args:
        descriptor: The file descriptor; it is not closed here.
        timeout: The most seconds that a write waits for room, for each piece of `PIPE_BUF` bytes. After a write has
            waited in vain, later writes do not wait until the reader reads again.

    Threads: any.
    """

    encoding = "utf-8"

    def __init__(self, descriptor: int, *, timeout: float = 1.0) -> None:
        self._descriptor = descriptor
        self._timeout = timeout
        self._is_stuck = False

    def fileno(self) -> int:
        """Return the file descriptor."""
        return self._descriptor

    def isatty(self) -> bool:
        """Return whether the descriptor is a terminal."""
        return os.isatty(self._descriptor)

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, text: str) -> int:
        """Write `text` as far as the reader has room, and return its length.

        Lines of up to `PIPE_BUF` bytes stay whole.
        """
        data = text.encode(errors="backslashreplace")
        try:
            while data and self._has_room():
                # Pipes take up to PIPE_BUF bytes whole; a longer write could block, though the pipe is writable.
                data = data[os.write(self._descriptor, data[: select.PIPE_BUF]) :]
        except OSError:  # the reader is gone
            pass
        return len(text)  # dropped or not: a shorter count would make callers try again

    def _has_room(self) -> bool:
        poll = select.poll()
        poll.register(self._descriptor, select.POLLOUT)
        self._is_stuck = not poll.poll(0 if self._is_stuck else self._timeout * _MILLISECONDS)
        return not self._is_stuck


def install() -> None:
    """Replace standard error by a `DroppingStream`, and open those of the descriptors 0 to 2 that are closed.

    Otherwise the next file or connection would get the number of the closed one, and with it all
    text that other code writes to standard output or standard error.
    """
    for descriptor in _STANDARD:
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number, which is this one
    sys.stderr = DroppingStream(_STANDARD[-1])

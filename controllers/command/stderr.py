# SPDX-License-Identifier: Apache-2.0
"""Standard error that holds nobody up.

A pipe that nobody reads, or a terminal stopped with Ctrl-S, would block every thread
that logs, and with them the end of the program.
"""

from __future__ import annotations

import io
import os
import select
import sys

_STANDARD = range(3)
_MILLISECONDS = 1000


class PatientStream(io.TextIOBase):
    """Text to a descriptor, as long as somebody reads it; what is not read in time is dropped.

    Args:
        descriptor: Where to; stays its owner's.
        patience: Seconds to wait until something is read; once that was in vain, nothing
            waits until something is.

    Threads: any.
    """

    encoding = "utf-8"

    def __init__(self, descriptor: int, *, patience: float = 1.0) -> None:
        self._descriptor = descriptor
        self._patience = patience
        self._is_stuck = False

    def fileno(self) -> int:
        """The descriptor."""
        return self._descriptor

    def isatty(self) -> bool:
        """Whether it is a terminal."""
        return os.isatty(self._descriptor)

    def writable(self) -> bool:
        """Always."""
        return True

    def write(self, text: str) -> int:
        """Write `text`, or what is taken of it; a line of up to `PIPE_BUF` bytes whole or not at all."""
        data = text.encode(errors="backslashreplace")
        try:
            while data and self._takes_more():
                data = data[os.write(self._descriptor, data[: select.PIPE_BUF]) :]
        except OSError:  # the reader is gone
            pass
        return len(text)

    def _takes_more(self) -> bool:
        poll = select.poll()
        poll.register(self._descriptor, select.POLLOUT)
        self._is_stuck = not poll.poll(0 if self._is_stuck else self._patience * _MILLISECONDS)
        return not self._is_stuck


def install() -> None:
    """Make standard error patient, and open what of the standard descriptors was closed.

    Otherwise the next file or connection would get its number, and what others write there.
    """
    for descriptor in _STANDARD:
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number: this one
    sys.stderr = PatientStream(_STANDARD[-1])

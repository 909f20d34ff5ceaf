# SPDX-License-Identifier: Apache-2.0
"""Finds the end of the body of an answer: three classes for three ways, which cut received bytes and do no I/O.

The pieces of a body are views of the received bytes, so a body that is read line by line is copied once.
"""

from __future__ import annotations

import re
from typing import Protocol

_LONGEST_LINE = 64 * 1024  # bytes between two chunks, and of all trailers
# A line with the size of a chunk, after the end of the chunk before it. Sixteen digits are more than any body has.
_SIZE_LINE = re.compile(rb"(?:\r\n)?([0-9a-fA-F]{1,16})[ \t]*(?:;[^\n]*?)?\r?\n")
# Pieces that are kept apart. A view takes 200 bytes, so very many pieces of a few bytes are joined.
_MOST_PIECES = 1_000
_CUT = "cut inside the answer"


class Framing(Protocol):
    """Extracts the body of one answer from the bytes that follow its head. Threads: one."""

    is_over: bool
    """Whether the whole body has come."""
    rest: bytes
    """The bytes that came after the body."""

    def cut(self, data: bytes) -> list[memoryview]:
        """Return the parts of the body that `data`, the next received bytes, contains, in order.

        Raises:
            ConnectionError: The body is malformed.
        """

    def end(self) -> None:
        """Record that the server has closed the connection, which ends the body (`is_over`).

        Raises:
            ConnectionError: The body was not complete.
        """


class Sized:
    """A body of known length; an answer without a body has length 0."""

    def __init__(self, length: int) -> None:
        self._left = length
        self.is_over = not length
        self.rest = b""

    def cut(self, data: bytes) -> list[memoryview]:
        """Return the part of the body in `data`, of which later bytes go to `rest`; see `Framing.cut`."""
        piece = memoryview(data)[: self._left]
        self.rest = data[self._left :]
        self._left -= len(piece)
        self.is_over = not self._left
        return [piece] if piece else []

    def end(self) -> None:
        """Record that the connection was closed; an error if bytes are missing. See `Framing.end`."""
        if not self.is_over:
            raise ConnectionError(_CUT)


class UntilEnd:
    """A body that ends when the server closes the connection."""

    def __init__(self) -> None:
        self.is_over = False
        self.rest = b""

    def cut(self, data: bytes) -> list[memoryview]:
        """Return all of `data`, which is part of the body; see `Framing.cut`."""
        return [memoryview(data)] if data else []

    def end(self) -> None:
        """Record that the connection was closed, which is the end of this body; see `Framing.end`."""
        self.is_over = True


class Chunked:
    """A body in chunks (`Transfer-Encoding: chunked`); chunk extensions and trailers are skipped."""

    def __init__(self) -> None:
        self._left = 0  # bytes of the present chunk that have not come
        self._line = b""  # the beginning of a line that has not come whole
        self._is_first = True  # or the line break that ends a chunk has come
        self._trailers: int | None = None  # their bytes so far; None before the last chunk
        self.is_over = False
        self.rest = b""

    def cut(self, data: bytes) -> list[memoryview]:
        """Return the parts of the body in `data`, without the framing of the chunks; see `Framing.cut`."""
        if self._line:
            data, self._line = self._line + data, b""
        view, at, left, pieces = memoryview(data), 0, self._left, list[memoryview]()
        while self._trailers is None:
            if left:
                piece = view[at : at + left]
                if not piece:
                    break
                pieces.append(piece)
                if len(pieces) == _MOST_PIECES:
                    pieces = [memoryview(b"".join(pieces))]
                at += len(piece)
                left -= len(piece)
                continue
            if len(data) - at == 2 and data.endswith(b"\r\n") and not self._is_first:
                self._is_first = True  # the end of a chunk came with it, as a rule, so the next line is like the first
                break
            found = _SIZE_LINE.match(data, at)
            if found is None or (found[0][:1] == b"\r") is self._is_first:
                self._line = self._incomplete(data[at:])
                break
            self._is_first = False
            left, at = int(found[1], 16), found.end()
            if not left:
                self._trailers = 0
        self._left = left
        if self._trailers is not None:
            self._skip_trailers(data, at, self._trailers)
        return pieces

    def end(self) -> None:
        """Record that the connection was closed; an error before the last chunk. See `Framing.end`."""
        if not self.is_over:
            raise ConnectionError(_CUT)

    def _incomplete(self, line: bytes) -> bytes:
        """Return the beginning of a line, if more can make it the line with a size."""
        head = line if self._is_first else line.removeprefix(b"\r\n")
        is_begun = head != line or self._is_first or b"\r\n".startswith(line)
        if not is_begun or b"\n" in head or len(line) > _LONGEST_LINE:
            raise ConnectionError(f"malformed chunks: {line[:40]!r} is not the size of one")
        return line

    def _skip_trailers(self, data: bytes, at: int, skipped: int) -> None:
        while (stop := data.find(b"\n", at)) >= 0:
            is_blank = not data[at:stop].rstrip(b"\r")
            skipped += stop + 1 - at
            at = stop + 1
            if is_blank:
                self.is_over, self.rest = True, data[at:]
                return
        self._line, self._trailers = data[at:], skipped
        if skipped + len(self._line) > _LONGEST_LINE:
            raise ConnectionError("malformed chunks: the trailers have no end")

# SPDX-License-Identifier: Apache-2.0
"""The memory of all reviews that arrive or are answered: a share of the process's limit."""

from __future__ import annotations

from collections.abc import Callable, Hashable

import attrs

from apimachinery.host import Host

PER_BYTE = 3
"""Bytes of memory for each byte of a body: the body, the objects as bytes, and the answer."""

PER_VALUE = 100
"""Bytes of memory for each value of a body, once it is decoded: an empty dict has 64 and its place in a list 8."""

SHARE = 4
"""The reviews together may take this part of the memory limit: a quarter. The number is ours."""

MOST = 512 * 1024 * 1024
"""Bytes that they may take if the limit is larger, or there is none."""


def budget_of(limit: int | None) -> int:
    """Return the bytes for all reviews together of a process with a memory limit."""
    return MOST if limit is None else min(MOST, limit // SHARE)


def cost_of(body: bytes) -> int:
    """Return an upper bound of the bytes of memory that a body takes while it is answered.

    Each value but the first of a list or an object follows a comma; commas within texts are counted, too.
    """
    return len(body) * PER_BYTE + (body.count(b",") + body.count(b"{") + body.count(b"[")) * PER_VALUE


@attrs.define
class _Taken:
    bytes: int
    drop: Callable[[], None] | None


class Bodies:
    """The bytes that the reviews of a server take.

    If there are not enough, the connection is dropped whose body has been arriving for longest: an API server sends its
    bodies at once, so the oldest is one that somebody holds.

    Args:
        host: Makes its lock.
        total: Bytes for all together.

    Threads: any.
    """

    def __init__(self, host: Host, total: int) -> None:
        self.total = total
        self._lock = host.lock("bodies")
        # Guarded by the lock, in the order in which the bodies began.
        self._taken: dict[Hashable, _Taken] = {}
        self._sum = 0

    def take(self, key: Hashable, more: int, drop: Callable[[], None] | None) -> bool:
        """Take `more` bytes for a body, and return whether there are so many.

        Args:
            key: The connection.
            more: Bytes.
            drop: Ends the connection if another one needs the bytes; None once its body has come.
        """
        dropped = []
        with self._lock:
            mine = self._taken.setdefault(key, _Taken(0, drop))
            mine.drop = drop
            for other in [other for other in self._taken if other != key]:
                if self._sum + more <= self.total:
                    break
                if (end := self._taken[other].drop) is not None:
                    dropped.append(end)
                    self._sum -= self._taken.pop(other).bytes
            if is_enough := self._sum + more <= self.total:
                mine.bytes += more
                self._sum += more
        for end in dropped:
            end()
        return is_enough

    def give_back(self, key: Hashable) -> None:
        """Give back all that a connection has taken."""
        with self._lock:
            if (mine := self._taken.pop(key, None)) is not None:
                self._sum -= mine.bytes

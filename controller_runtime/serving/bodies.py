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
    """Return the memory in bytes for all reviews together, given the memory limit of the process (None: no limit)."""
    return MOST if limit is None else min(MOST, limit // SHARE)


def cost_of(body: bytes) -> int:
    """Return an upper bound of the memory, in bytes, that a body takes while it is answered.

    The number of its values is estimated by counting commas and brackets, including those inside texts.
    """
    return len(body) * PER_BYTE + (body.count(b",") + body.count(b"{") + body.count(b"[")) * PER_VALUE


@attrs.define
class _Taken:
    bytes: int
    drop: Callable[[], None] | None


class RequestBodies:
    """Limits the memory that all request bodies of a server take together.

    If the memory is not enough, connections whose bodies still arrive are dropped, first the one that began first: an
    API server sends its bodies at once, so that client is slow on purpose.

    Args:
        host: Creates the lock.
        total: The limit in bytes.

    Threads: any.
    """

    def __init__(self, host: Host, total: int) -> None:
        self.total = total
        self._lock = host.lock("bodies")
        # Guarded by the lock, in the order in which the bodies began.
        self._taken: dict[Hashable, _Taken] = {}
        self._sum = 0

    def take(self, key: Hashable, more: int, drop: Callable[[], None] | None) -> bool:
        """Reserve `more` bytes for a body, and return True if that was possible.

        Args:
            key: Identifies the connection.
            more: The number of bytes.
            drop: Called to close the connection if another one needs the memory; None once the whole body has come.
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
        """Release all bytes that a connection has reserved."""
        with self._lock:
            if (mine := self._taken.pop(key, None)) is not None:
                self._sum -= mine.bytes

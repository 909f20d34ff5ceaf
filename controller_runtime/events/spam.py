# SPDX-License-Identifier: Apache-2.0
"""A bound on the writes of events about one object, so that an error in a loop does not fill the server."""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

from cachetools import LRUCache

from controller_runtime.events.occurrence import CACHED, Occurrence, SpamKey, by_object


class _Bucket(NamedTuple):
    tokens: float
    at: float


class SpamFilter:
    """Limits writes by a token bucket for each key: a burst of writes, then one in each interval.

    The defaults are client-go's.

    Args:
        key: Returns the key of an occurrence; by default its object.
        burst: The number of writes that are allowed at once.
        interval: Seconds after which one more is allowed.

    Threads: one.
    """

    def __init__(self, key: SpamKey = by_object, *, burst: int = 25, interval: float = 300.0) -> None:
        self._key = key
        self._burst = float(burst)
        self._interval = interval
        self._buckets: LRUCache[Hashable, _Bucket] = LRUCache(CACHED)

    def allows(self, occurrence: Occurrence) -> bool:
        """Take a token for a write about `occurrence`; return False if none is left."""
        key, now = self._key(occurrence), occurrence.at
        bucket = self._buckets.get(key) or _Bucket(self._burst, now)
        tokens = min(self._burst, bucket.tokens + (now - bucket.at) / self._interval)
        is_allowed = tokens >= 1.0
        self._buckets[key] = _Bucket(tokens - is_allowed, now)
        return is_allowed

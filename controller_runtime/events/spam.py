# SPDX-License-Identifier: Apache-2.0
"""A bound on the events of one object, so that a loop that goes wrong does not fill the server."""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

from cachetools import LRUCache

from controller_runtime.events.occurrence import CACHED, Occurrence, SpamKey, by_object


class _Bucket(NamedTuple):
    tokens: float
    at: float


class SpamFilter:
    """A token bucket for each object: a burst, then one write in each interval.

    The defaults are client-go's. One thread's own.

    Args:
        key: What shares a bucket.
        burst: Writes that may follow each other at once.
        interval: Seconds until one more may be made.
    """

    def __init__(self, key: SpamKey = by_object, *, burst: int = 25, interval: float = 300.0) -> None:
        self._key = key
        self._burst = float(burst)
        self._interval = interval
        self._buckets: LRUCache[Hashable, _Bucket] = LRUCache(CACHED)

    def allows(self, occurrence: Occurrence) -> bool:
        """Take a token for a write about `occurrence`; False if there is none."""
        key, now = self._key(occurrence), occurrence.at
        bucket = self._buckets.get(key) or _Bucket(self._burst, now)
        tokens = min(self._burst, bucket.tokens + (now - bucket.at) / self._interval)
        is_allowed = tokens >= 1.0
        self._buckets[key] = _Bucket(tokens - is_allowed, now)
        return is_allowed

# SPDX-License-Identifier: Apache-2.0
"""The random numbers of one attempt, which follow from its seed, so that a replay draws the same."""

from __future__ import annotations

from random import Random
from uuid import UUID

from apimachinery.host import Host
from controller_runtime.core.attempts import current_attempt


def seeded(seed: str) -> Random:
    """Return the random numbers that follow from a seed."""
    return Random(seed)


def uuid_of(chance: Random) -> str:
    """Return a version 4 UUID that follows from random numbers."""
    return str(UUID(int=chance.getrandbits(128), version=4))


class AttemptRandom(Random):
    """Random numbers: in an attempt those that it records, otherwise those of the host. Threads: any.

    Every method of `random.Random` calls one of the two that are overridden here.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        super().__init__()

    def random(self) -> float:
        """Return a number from 0 to 1."""
        return self._source.random()

    def getrandbits(self, k: int, /) -> int:
        """Return a number of `k` bits."""
        return self._source.getrandbits(k)

    def seed(self, *args: object, **kwargs: object) -> None:
        """Do nothing: the seed is that of the host, or of the attempt."""

    @property
    def _source(self) -> Random:
        attempt = current_attempt()
        return self._host.random if attempt is None else attempt.chance()

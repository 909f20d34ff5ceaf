# SPDX-License-Identifier: Apache-2.0
"""The random numbers of one attempt, which follow from its seed, so that a replay draws the same."""

from __future__ import annotations

from random import Random
from uuid import UUID

from apimachinery.host import Host
from controller_runtime.core.attempts import current_attempt


def seeded(seed: str) -> Random:
    """Return a random number generator with this seed."""
    return Random(seed)


def uuid_of(chance: Random) -> str:
    """Return a version 4 UUID made from a random number generator."""
    return str(UUID(int=chance.getrandbits(128), version=4))


class AttemptRandom(Random):
    """A random number generator that uses the running attempt's generator, or else the host's. Threads: any.

    All methods of `random.Random` that draw numbers call `random` or `getrandbits`, which are overridden here. So is
    `gauss`, because it keeps a number for its next call, which may belong to another attempt.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        super().__init__()

    def random(self) -> float:
        """Return a random number of at least 0 and less than 1."""
        return self._source.random()

    def getrandbits(self, k: int, /) -> int:
        """Return a random number of `k` bits."""
        return self._source.getrandbits(k)

    def gauss(self, mu: float = 0.0, sigma: float = 1.0) -> float:
        """Return a random number of a normal distribution with this mean and standard deviation."""
        return self._source.gauss(mu, sigma)

    def seed(self, *args: object, **kwargs: object) -> None:
        """Do nothing: the host, or the reconcile that is recorded or replayed, sets the seed."""

    @property
    def _source(self) -> Random:
        attempt = current_attempt()
        return self._host.random if attempt is None else attempt.chance()

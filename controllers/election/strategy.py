# SPDX-License-Identifier: Apache-2.0
"""Who should lead: candidates as values, the strategies that choose among them, and which strategy counts.

Everything here is pure, and nothing depends on the order of the candidates.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime

import attrs

from controller_runtime.api.semver import ZERO, SemVer, parse_tolerant

OLDEST = "OldestEmulationVersion"


@attrs.frozen
class Candidate:
    """What a LeaseCandidate says; its name is the identity with which it would hold the lease.

    Attributes:
        renewed: When it said last that it lives, by its own clock.
        created: When it came, in whole seconds.
        pinged: When it was asked last whether it lives, by the clock of who asked.
        heard: Seconds, by our own clock, since we saw it say so; infinite if we never did.
    """

    name: str
    binary: str
    emulation: str
    strategy: str
    renewed: datetime
    created: datetime
    pinged: datetime | None = None
    heard: float = math.inf

    @property
    def binary_version(self) -> SemVer:
        """What it is; the lowest of all versions where that cannot be read."""
        return parse_tolerant(self.binary) or ZERO

    @property
    def is_valid(self) -> bool:
        """Whether both versions can be read."""
        return parse_tolerant(self.binary) is not None and parse_tolerant(self.emulation) is not None


Strategy = Callable[[Iterable[Candidate]], str | None]
"""The name of the candidate that should lead; None if none of them can. It must be pure, whatever their order."""


def oldest_emulation_version(candidates: Iterable[Candidate]) -> str | None:
    """The candidate that emulates the oldest version, so that an upgrade is led from behind.

    Ties: the lower binary version, the earlier one, the lower name.
    """
    best = min((c for c in candidates if c.is_valid), key=_seniority, default=None)
    return best.name if best is not None else None


def _seniority(candidate: Candidate) -> tuple[SemVer, SemVer, datetime, str]:
    emulation = parse_tolerant(candidate.emulation) or ZERO
    return emulation, candidate.binary_version, candidate.created, candidate.name


STRATEGIES: Mapping[str, Strategy] = {OLDEST: oldest_emulation_version}
"""Those that Kubernetes knows."""


class Disagreement(ValueError):
    """The candidates of the newest version want different strategies."""


def strategy_of(candidates: Iterable[Candidate]) -> str:
    """The strategy of the candidates with the newest binary version, which have to agree on it.

    Raises:
        Disagreement: They do not.
    """
    wanted: dict[SemVer, set[str]] = {}
    for candidate in candidates:
        wanted.setdefault(candidate.binary_version, set()).add(candidate.strategy)
    newest = max(wanted)
    strategies = sorted(wanted[newest])
    if len(strategies) > 1:
        raise Disagreement(f"the candidates of version {newest.finalized} want {' and '.join(strategies)}")
    return strategies[0]

# SPDX-License-Identifier: Apache-2.0
"""Candidates as values, the strategies that choose the leader among them, and the rule for which strategy applies.

All functions here are pure, and none depends on the order of the candidates.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime

import attrs

from apimachinery.semver import ZERO, SemVer, parse_tolerant

OLDEST = "OldestEmulationVersion"


@attrs.frozen
class Candidate:
    """A LeaseCandidate as a value.

    Attributes:
        name: The identity with which the candidate would hold the lease.
        binary: Its binary version, as text.
        emulation: Its emulation version, as text.
        strategy: The name of the strategy that it requests.
        renewed: The time of its last renewal, by its own wall clock or that of the last ping.
        created: The time of its creation, in whole seconds.
        pinged: The time of the last ping, by the clock of the controller that sent it; None if there was none.
        seen_ago: Seconds, by our monotonic clock, since this process saw a renewal; infinite if it has not seen one.
    """

    name: str
    binary: str
    emulation: str
    strategy: str
    renewed: datetime
    created: datetime
    pinged: datetime | None = None
    seen_ago: float = math.inf

    @property
    def binary_version(self) -> SemVer:
        """The binary version; 0.0.0 if it cannot be parsed."""
        return parse_tolerant(self.binary) or ZERO

    @property
    def is_valid(self) -> bool:
        """Whether both versions can be parsed."""
        return parse_tolerant(self.binary) is not None and parse_tolerant(self.emulation) is not None


ElectionStrategy = Callable[[Iterable[Candidate]], str | None]
"""Returns the name of the candidate that should lead, or None if none can. It must be pure and ignore their order."""


def oldest_emulation_version(candidates: Iterable[Candidate]) -> str | None:
    """Return the name of the candidate with the oldest emulation version, or None if no candidate has valid versions.

    During an upgrade the other candidates can read everything that this candidate writes. Ties are decided by the lower
    binary version, then the earlier creation, then the lower name.
    """
    best = min((c for c in candidates if c.is_valid), key=_seniority, default=None)
    return best.name if best is not None else None


def _seniority(candidate: Candidate) -> tuple[SemVer, SemVer, datetime, str]:
    emulation = parse_tolerant(candidate.emulation) or ZERO
    return emulation, candidate.binary_version, candidate.created, candidate.name


STRATEGIES: Mapping[str, ElectionStrategy] = {OLDEST: oldest_emulation_version}
"""The strategies of Kubernetes, by name."""


class Disagreement(ValueError):
    """Raised if the candidates with the newest version request different strategies."""


def strategy_of(candidates: Iterable[Candidate]) -> str:
    """Return the strategy that the candidates with the newest binary version request.

    Args:
        candidates: The candidates, at least one.

    Raises:
        Disagreement: These candidates request different strategies.
    """
    wanted: dict[SemVer, set[str]] = {}
    for candidate in candidates:
        wanted.setdefault(candidate.binary_version, set()).add(candidate.strategy)
    newest = max(wanted)
    strategies = sorted(wanted[newest])
    if len(strategies) > 1:
        raise Disagreement(f"the candidates of version {newest.finalized} want {' and '.join(strategies)}")
    return strategies[0]

# SPDX-License-Identifier: Apache-2.0
"""The memory of the election controller: when renewals were seen, and which problems have been reported."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import attrs

from apimachinery.host import Host
from apimachinery.objects import ObjectKey
from controller_runtime.api.versions import compare_versions
from controllers.election.next_action import Problem


@attrs.frozen
class _SeenRenewal:
    """A candidate's renewal as seen last.

    Attributes:
        version: The newest resourceVersion of the candidate that shows this renewal.
        renewal: The fields that change with each renewal.
        since: Monotonic seconds at which it was first seen; -inf if it was there at the first look.
    """

    version: str
    renewal: object
    since: float

    @classmethod
    def after(cls, before: _SeenRenewal | None, version: str, renewal: object, now: float) -> _SeenRenewal:
        if before is None:
            return cls(version, renewal, -math.inf)
        if compare_versions(version, before.version) < 0:  # the cache is behind an earlier read past it
            return before
        return cls(version, renewal, now if renewal != before.renewal else before.since)


class Memory:
    """Remembers for each lease when renewals by its holder and candidates were seen, and which problems were reported.

    It is kept only in memory: after a restart, times count from the first observation, and problems are reported again.

    Threads: any; one at a time for each lease.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        # Guards the fields below.
        self._lock = host.lock("election memory")
        # The last renewal of the lease and when it was first seen.
        self._holders: dict[ObjectKey, tuple[object, float]] = {}
        # The last renewals of the candidates, by name.
        self._candidates: dict[ObjectKey, dict[str, _SeenRenewal]] = {}
        # When each problem was first found; infinity once it has been reported.
        self._problems: dict[ObjectKey, dict[Problem, float]] = {}

    def unchanged_for(self, lease: ObjectKey, renewal: object) -> float:
        """Return the seconds since this process first saw the lease with this renewal; 0 at the first call."""
        now = self._host.monotonic()
        with self._lock:
            before, since = self._holders.get(lease, (None, now))
            if renewal != before:
                since = now
                self._holders[lease] = (renewal, since)
        return now - since

    def seconds_since_renewals(self, lease: ObjectKey, renewals: Mapping[str, tuple[str, object]]) -> dict[str, float]:
        """Return the seconds since this process saw the last renewal of each candidate, by name.

        The value is infinite for a candidate that was not renewed since the first observation.

        Args:
            lease: The lease of the candidates.
            renewals: For each candidate by name, its resourceVersion and the fields that change with each renewal.
        """
        now = self._host.monotonic()
        with self._lock:
            before = self._candidates.get(lease, {})
            found = {name: _SeenRenewal.after(before.get(name), *what, now) for name, what in renewals.items()}
            self._candidates[lease] = found
        return {name: now - seen.since for name, seen in found.items()}

    def due_problems(self, lease: ObjectKey, problems: Iterable[Problem]) -> list[Problem]:
        """Return those `problems` that must be reported now.

        A problem is due once, after it has lasted for its `patience`; and again if it ended and came back.
        """
        now = self._host.monotonic()
        with self._lock:
            before = self._problems.get(lease, {})
            found = {problem: before.get(problem, now) for problem in problems}
            due = [problem for problem, since in found.items() if now - since >= problem.patience]
            self._problems[lease] = {**found, **dict.fromkeys(due, math.inf)}
        return due

    def knows(self, lease: ObjectKey) -> bool:
        """Return whether `unchanged_for` was called for the lease, and the lease was not forgotten since."""
        with self._lock:
            return lease in self._holders

    def forget(self, lease: ObjectKey) -> None:
        """Forget a lease that is gone or is not part of an election."""
        with self._lock:
            self._holders.pop(lease, None)
            self._candidates.pop(lease, None)
            self._problems.pop(lease, None)

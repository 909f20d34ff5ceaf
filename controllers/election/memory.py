# SPDX-License-Identifier: Apache-2.0
"""What the election controller remembers: since when leases are not renewed, and what it has told of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import attrs

from controller_runtime.api.objects import ObjectKey
from controller_runtime.api.versions import compare_versions
from controller_runtime.core.host import Host
from controllers.election.step import Problem


@attrs.frozen
class _Sight:
    """A renewal, the version in which it was seen last, and since when it is known."""

    version: str
    renewal: object
    since: float

    @classmethod
    def after(cls, before: _Sight | None, version: str, renewal: object, now: float) -> _Sight:
        if before is None:
            return cls(version, renewal, -math.inf)
        if compare_versions(version, before.version) < 0:  # the cache is behind what was read past it
            return before
        return cls(version, renewal, now if renewal != before.renewal else before.since)


class Memory:
    """What the controller remembers of each lease: when its holder and its candidates renewed, and what was told of it.

    It is not needed to go on after a restart: all are then watched anew, and told of again.

    Threads: any; each lease by one at a time.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        # Guards the three below.
        self._lock = host.lock("election memory")
        self._seen: dict[ObjectKey, tuple[object, float]] = {}
        self._heard: dict[ObjectKey, dict[str, _Sight]] = {}  # of candidates, by their names
        self._found: dict[ObjectKey, dict[Problem, float]] = {}  # and since when; infinity: told

    def unchanged_for(self, lease: ObjectKey, renewal: object) -> float:
        """Seconds for which its last renewal has been this one, as far as we know."""
        now = self._host.monotonic()
        with self._lock:
            before, since = self._seen.get(lease, (None, now))
            if renewal != before:
                since = now
                self._seen[lease] = (renewal, since)
        return now - since

    def heard(self, lease: ObjectKey, renewals: Mapping[str, tuple[str, object]]) -> dict[str, float]:
        """Seconds since each of its candidates was seen to renew itself; infinite for what was there before we looked.

        Args:
            lease: Whose candidates they are.
            renewals: By the name of each, all of them, its version and what it changes when it renews itself.
        """
        now = self._host.monotonic()
        with self._lock:
            before = self._heard.get(lease, {})
            found = {name: _Sight.after(before.get(name), *what, now) for name, what in renewals.items()}
            self._heard[lease] = found
        return {name: now - sight.since for name, sight in found.items()}

    def news(self, lease: ObjectKey, problems: Iterable[Problem]) -> list[Problem]:
        """Those of `problems` that are to be told now: once each, until it is gone and comes again."""
        now = self._host.monotonic()
        with self._lock:
            before = self._found.get(lease, {})
            found = {problem: before.get(problem, now) for problem in problems}
            due = [problem for problem, since in found.items() if now - since >= problem.patience]
            self._found[lease] = {**found, **dict.fromkeys(due, math.inf)}
        return due

    def knows(self, lease: ObjectKey) -> bool:
        """Whether it is watched."""
        with self._lock:
            return lease in self._seen

    def forget(self, lease: ObjectKey) -> None:
        """It is gone, or no election's."""
        with self._lock:
            self._seen.pop(lease, None)
            self._heard.pop(lease, None)
            self._found.pop(lease, None)

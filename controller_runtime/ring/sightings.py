# SPDX-License-Identifier: Apache-2.0
"""The leases of a ring's other members, as one member has read them so far."""

from __future__ import annotations

from collections.abc import Mapping

from controller_runtime.ring.decision import Sighting


class Sightings:
    """Remembers when each version of another member's lease was first read, and leases that have disappeared.

    A lease can disappear while its member owns slots, if it is deleted or loses its label. So its claim counts until
    the member's deadline has certainly passed: one lease duration after the first read without the lease, since the
    member may have renewed it until then. A member that has left without slots is forgotten at once, because it never
    claims a slot again.

    Threads: one.
    """

    def __init__(self) -> None:
        self._known: dict[str, Sighting] = {}
        self._missing: set[str] = set()
        self._looked_at = 0.0

    def look(self, found: Mapping[str, Sighting], now: float) -> None:
        """Record the leases of the other members, as they were read at `now`.

        Args:
            found: The sightings of their leases, by the member's identity.
            now: The time in monotonic seconds.
        """
        known = {
            name: self._known[name].again(later) if name in self._known else later for name, later in found.items()
        }
        missing = set()
        for name, before in self._known.items():
            if name not in found and (kept := self._kept(name, before, now)) is not None:
                known[name] = kept
                missing.add(name)
        self._known, self._missing, self._looked_at = known, missing, now

    def _kept(self, name: str, before: Sighting, now: float) -> Sighting | None:
        """Return what counts of a member whose lease is not there; None for nothing."""
        if name in self._missing:
            return before if now < before.expires_at else None
        is_over = before.claim.has_left or before.expires_at <= self._looked_at
        return None if is_over else before.vanished(now)

    @property
    def all(self) -> list[Sighting]:
        """The lease of each other member, as it was last read."""
        return [*self._known.values()]

    def next_end(self, now: float) -> list[float]:
        """Return the times at which the other members' leases that count now expire, in monotonic seconds."""
        return [each.expires_at for each in self._known.values() if each.expires_at > now]

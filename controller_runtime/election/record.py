# SPDX-License-Identifier: Apache-2.0
"""The content of a Lease that concerns leader election, as a value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import attrs


@attrs.frozen
class LeaseRecord:
    """The fields of a Lease that matter for leader election.

    Times are kept as text: they are for people, and make each renewal differ from the one before. No decision compares
    them with a clock.

    Attributes:
        holder: Identity of the leader; empty if no replica leads.
        duration: Seconds for which other replicas respect the record after they saw it change; 0 means not at all.
        acquire_time: When the holder began to lead, as a MicroTime.
        renew_time: When the lease was last written, as a MicroTime.
        transitions: The number of leaderships before this one, which is its fencing token. It grows as long as the
            lease is neither deleted nor restored from a backup.
        strategy: The strategy by which a coordinator elects the holder; empty without a coordinator.
        preferred: The candidate to which the holder should yield; empty for none.
    """

    holder: str = ""
    duration: int = 0
    acquire_time: str = ""
    renew_time: str = ""
    transitions: int = 0
    strategy: str = ""
    preferred: str = ""

    @classmethod
    def of(cls, lease: Mapping[str, Any]) -> Self:
        """Return the record in the spec of `lease`; absent and null fields count as empty."""
        spec = lease.get("spec") or {}
        return cls(
            holder=spec.get("holderIdentity") or "",
            duration=spec.get("leaseDurationSeconds") or 0,
            acquire_time=spec.get("acquireTime") or "",
            renew_time=spec.get("renewTime") or "",
            transitions=spec.get("leaseTransitions") or 0,
            strategy=spec.get("strategy") or "",
            preferred=spec.get("preferredHolder") or "",
        )

    @classmethod
    def free(cls, now: str, transitions: int) -> Self:
        """Return the record of a lease without a holder, as client-go writes it on release."""
        return cls("", 1, now, now, transitions)

    def spec(self) -> dict[str, Any]:
        """Return the fields of a Lease's `spec` for this record.

        Empty times, an empty strategy and an empty preferred holder are null, which removes them.
        """
        return {
            "holderIdentity": self.holder,
            "leaseDurationSeconds": self.duration,
            "acquireTime": self.acquire_time or None,
            "renewTime": self.renew_time or None,
            "leaseTransitions": self.transitions,
            "strategy": self.strategy or None,
            "preferredHolder": self.preferred or None,
        }

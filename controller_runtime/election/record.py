# SPDX-License-Identifier: Apache-2.0
"""What a Lease says about who leads, as a value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import attrs


@attrs.frozen
class LeaseRecord:
    """Who leads, for how long, since when, and after how many changes.

    Times are kept as the text they came as: they are there for people, and to make one
    renewal differ from the next. No decision compares them with a clock.

    Attributes:
        holder: Identity of the leader; empty when nobody leads.
        duration: Seconds that the record counts after it was seen to change; 0: not at all.
        acquire_time: When the holder began to lead, as a MicroTime.
        renew_time: When it was written last, as a MicroTime.
        transitions: How many leaderships there were before this one: its fencing token. It grows as long as the lease
            is neither deleted nor set back, as by a restored backup.
        strategy: By which somebody else elects the holder; empty where replicas take the lease by themselves.
        preferred: To whom the holder shall give way; empty for nobody.
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
        """What `lease` says; what is absent or null counts as empty."""
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
        """What a lease says that anybody may take."""
        return cls("", 1, now, now, transitions)

    def spec(self) -> dict[str, Any]:
        """The fields of a Lease's `spec` that say this."""
        return {
            "holderIdentity": self.holder,
            "leaseDurationSeconds": self.duration,
            "acquireTime": self.acquire_time or None,
            "renewTime": self.renew_time or None,
            "leaseTransitions": self.transitions,
            "strategy": self.strategy or None,
            "preferredHolder": self.preferred or None,
        }

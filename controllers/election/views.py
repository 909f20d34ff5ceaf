# SPDX-License-Identifier: Apache-2.0
"""The parts of leases and lease candidates that the election reads."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from apimachinery.objects import ObjectKey, ObjectMeta
from controllers.election.strategy import Candidate

_LONG_AGO = datetime.min.replace(tzinfo=UTC)
"""The creation time of an object that has none; no server sends such an object."""


class _CandidateSpec(msgspec.Struct, gc=False, rename="camel"):
    lease_name: str = ""
    strategy: str = ""
    binary_version: str = ""
    emulation_version: str = ""
    ping_time: datetime | None = None
    renew_time: datetime | None = None


class CandidateView(msgspec.Struct, gc=False):
    """The fields of a LeaseCandidate on which its election depends."""

    metadata: ObjectMeta
    spec: _CandidateSpec = msgspec.field(default_factory=_CandidateSpec)

    @property
    def lease(self) -> ObjectKey:
        """The key of the lease for which this is a candidate."""
        return ObjectKey(self.spec.lease_name, self.metadata.namespace)

    @property
    def created(self) -> datetime:
        """The time of creation; long ago if it is missing."""
        return self.metadata.creation_timestamp or _LONG_AGO

    def has_answered(self) -> bool:
        """Return whether the candidate was renewed since its last ping, or was never pinged or never renewed."""
        pinged, renewed = self.spec.ping_time, self.spec.renew_time
        return pinged is None or renewed is None or renewed >= pinged


class _ElectionLeaseSpec(msgspec.Struct, gc=False, rename="camel"):
    holder_identity: str | None = None
    preferred_holder: str | None = None
    strategy: str | None = None
    lease_duration_seconds: int | None = None
    renew_time: datetime | None = None

    @property
    def renewal(self) -> object:
        """The fields that the holder changes when it renews; a change of other fields is not a renewal."""
        return self.holder_identity, self.renew_time, self.lease_duration_seconds


class ElectionLeaseView(msgspec.Struct, gc=False):
    """The fields of a Lease on which its election depends."""

    metadata: ObjectMeta
    spec: _ElectionLeaseSpec = msgspec.field(default_factory=_ElectionLeaseSpec)


def candidate_of(view: CandidateView, seen_ago: float) -> Candidate | None:
    """Return a LeaseCandidate as a `Candidate`; None if it was never renewed.

    Args:
        view: The LeaseCandidate.
        seen_ago: Seconds since this process saw a renewal; infinite if it has not seen one.
    """
    spec = view.spec
    if spec.renew_time is None:
        return None
    return Candidate(
        name=view.metadata.name,
        binary=spec.binary_version,
        emulation=spec.emulation_version,
        strategy=spec.strategy,
        renewed=spec.renew_time,
        pinged=spec.ping_time,
        created=view.created,
        seen_ago=seen_ago,
    )

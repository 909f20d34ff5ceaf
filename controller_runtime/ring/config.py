# SPDX-License-Identifier: Apache-2.0
"""The configuration of a ring: its name, and the durations that all members share."""

from __future__ import annotations

from typing import Self, TypedDict

import attrs

from apimachinery.host import Host
from apimachinery.names import config_key_errors

WEIGHTS = 1000
"""The largest weight of a member."""


class RingOptions(TypedDict, total=False):
    """The options of a ring besides its name and namespace; see `RingConfig`."""

    identity: str | None
    weight: int
    lease_duration: float
    renew_deadline: float
    retry_period: float
    check_rights: bool


@attrs.frozen(kw_only=True)
class RingConfig:
    """The configuration of a ring, equal in all members except for identity, weight and `check_rights`.

    Attributes:
        name: The ring's name: that of the ConfigMap with its assignment, and the beginning of its members' leases.
        namespace: The namespace of both.
        identity: Names this member, and only this run of its process; None is the host's name and random characters.
        weight: The share of this member, in proportion to the weights of the others, from 1 to 1000.
        lease_duration: Whole seconds for which others respect a claim after its lease changed. A new member may own
            slots after as long.
        renew_deadline: Seconds for which a member owns its slots without a successful renewal.
        retry_period: Seconds between two renewals.
        check_rights: Whether this member asks the server which of its rights are missing, by a request for each, when
            it starts and every ten minutes.

    Raises:
        ValueError: A value is out of range, or two of them contradict each other.
    """

    name: str
    namespace: str
    identity: str | None = None
    weight: int = 1
    lease_duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0
    check_rights: bool = True

    def __attrs_post_init__(self) -> None:
        for field in ("name", "identity"):
            value = getattr(self, field)
            if value is not None and (problems := config_key_errors(value)):
                raise ValueError(f"{field} {value!r} cannot name a lease: {problems[0]}")
        if not 1 <= self.weight <= WEIGHTS:
            raise ValueError(f"weight ({self.weight}) must be from 1 to {WEIGHTS}")
        if self.lease_duration != int(self.lease_duration):
            raise ValueError(f"lease_duration ({self.lease_duration:g}) must be whole seconds: a Lease has no others")
        if not 0 < 2 * self.retry_period < self.renew_deadline < self.lease_duration:
            raise ValueError(
                f"retry_period ({self.retry_period:g}), renew_deadline ({self.renew_deadline:g}) and lease_duration "
                f"({self.lease_duration:g}) must be positive and each longer: the second more than twice the first"
            )

    def named_by(self, host: Host) -> Self:
        """Return this configuration if it has an identity; else a copy with a new one, made from the host's name."""
        if self.identity is not None:
            return self
        return attrs.evolve(self, identity=f"{self.name}-{host.name}-{host.uuid()[:8]}")

    @property
    def request_timeout(self) -> float:
        """Seconds for one request: a quarter of the renew deadline, so that a whole turn of requests fits in it."""
        return max(1.0, self.renew_deadline / 4)

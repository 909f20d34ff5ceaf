# SPDX-License-Identifier: Apache-2.0
"""The configuration of a ring: its name, and the durations that all members share."""

from __future__ import annotations

import re
from typing import Literal, Self, TypedDict

import attrs

from apimachinery.host import Host
from apimachinery.names import subdomain_errors
from apimachinery.objects import ObjectKey
from controller_runtime.ring.records import map_name

WEIGHTS = 1000
"""The largest weight of a member."""
LONGEST = 63
"""Characters of a ring's name at most, because it is the value of a label; and of the name of a member's lease."""


class RingOptions(TypedDict, total=False):
    """The optional fields of a `RingConfig`, for keyword arguments: all but the ring's name and namespace."""

    identity: str | None
    weight: int
    lease_duration: float
    renew_deadline: float
    retry_period: float
    check_rights: bool
    division: str | None
    prepare: Literal["filled", "consistent"]


@attrs.frozen(kw_only=True)
class RingConfig:
    """The configuration of a ring.

    It must be equal in all members, except for `identity`, `weight`, `division` and `prepare`.

    Attributes:
        name: The ring's name, with which the names of its ConfigMap and of the members' leases begin: a DNS subdomain
            of at most 63 characters.
        namespace: The namespace of the ConfigMap and the leases.
        identity: The beginning of the name of this member's lease, also a DNS subdomain; None for the names of the ring
            and of the host. Random characters are always added, since two runs of one identity would share a lease.
        weight: The share of slots of this member, relative to the weights of the others; from 1 to 1000.
        lease_duration: Whole seconds for which other members respect a claim after its lease changed. A new member
            waits as long before it owns slots.
        renew_deadline: Seconds for which a member owns its slots without a successful renewal.
        retry_period: Seconds between two renewals.
        check_rights: Whether this member asks the server which of its rights are missing, when it starts and every ten
            minutes, by one request for each right.
        division: A name for the way in which members divide objects, for programs that keep it although their
            reconcilers change. None: it is made from the classes of the shared reconcilers and the kinds of their
            requests. Members with different divisions do not work at the same time: see `docs/ring.md`.
        prepare: The condition of the caches before a slot is owned. `filled`: divided caches have the objects of the
            slot. `consistent`: the caches of the ring's kinds also show the writes of the last owner, which is awaited
            for at most one `retry_period`; one object of each kind is listed for that.

    Raises:
        ValueError: A value is out of range, or two values contradict each other.
    """

    name: str
    namespace: str
    identity: str | None = None
    weight: int = 1
    lease_duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0
    check_rights: bool = True
    division: str | None = None
    prepare: Literal["filled", "consistent"] = "filled"

    def __attrs_post_init__(self) -> None:
        for field in ("name", "identity"):
            value = getattr(self, field)
            if value is not None and (problem := _problem_of(value)):
                raise ValueError(f"{field} {value!r} cannot name a lease: it {problem}")
        if self.prepare not in ("filled", "consistent"):
            raise ValueError(f"prepare must be 'filled' or 'consistent', not {self.prepare!r}")
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
        """Return a copy whose identity is the full name of a new member's lease, with random characters at its end."""
        begin = self.identity or f"{self.name}-{_fitted(host.name)}"
        end = f"-{host.uuid()[:8]}"
        return attrs.evolve(self, identity=begin[: LONGEST - len(end)].rstrip("-.") + end)

    @property
    def map_key(self) -> ObjectKey:
        """The key of the ConfigMap that has the assignment of slots."""
        return ObjectKey(map_name(self.name), self.namespace)

    @property
    def request_timeout(self) -> float:
        """Seconds for one request: a quarter of `renew_deadline`, but at least 1.0, so that one update's requests fit
        in.
        """
        return max(1.0, self.renew_deadline / 4)


def _problem_of(name: str) -> str:
    """Return in words why a text cannot be a name of a ring; empty if it can."""
    if len(name) > LONGEST:
        return f"has {len(name)} characters, and may have {LONGEST}"
    if subdomain_errors(name):
        return "must consist of a-z, 0-9, '-' and '.', and begin and end with one of a-z and 0-9"
    return ""


def _fitted(name: str) -> str:
    """Return the name of a host as a part of a lease's name: in lower case, with dashes for what may not be in it."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "host"

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
    """The options of a ring besides its name and namespace; see `RingConfig`."""

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
    """The configuration of a ring, equal in all members except for identity, weight, and the last two.

    Attributes:
        name: The ring's name: the beginning of the names of its ConfigMap and of its members' leases. It is a DNS
            subdomain of at most 63 characters.
        namespace: The namespace of both.
        identity: The beginning of the name of this member's lease, by the same rule; None is the names of the ring and
            of the host. Random characters follow in any case, since two runs of one identity would share a lease.
        weight: The share of this member, in proportion to the weights of the others, from 1 to 1000.
        lease_duration: Whole seconds for which others respect a claim after its lease changed. A new member may own
            slots after as long.
        renew_deadline: Seconds for which a member owns its slots without a successful renewal.
        retry_period: Seconds between two renewals.
        check_rights: Whether this member asks the server which of its rights are missing, by a request for each, when
            it starts and every ten minutes.
        division: Names what the members divide, for programs that keep dividing it alike although their reconcilers
            change. None is the classes of the shared reconcilers and the kinds of their requests. Members whose
            divisions differ do not work at once: see `docs/ring.md`.
        prepare: The state of the caches that a slot waits for before it is owned. `filled`: its objects are in them, if
            they are divided. `consistent`: also, for a retry period at most, the cache of each kind of the ring shows
            the writes of the last owner, for which one object of each kind is listed when slots come.

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
        """Return a copy whose identity is the whole name of a new member: it ends with random characters."""
        begin = self.identity or f"{self.name}-{_fitted(host.name)}"
        end = f"-{host.uuid()[:8]}"
        return attrs.evolve(self, identity=begin[: LONGEST - len(end)].rstrip("-.") + end)

    @property
    def map_key(self) -> ObjectKey:
        """The key of the ConfigMap with the assignment."""
        return ObjectKey(map_name(self.name), self.namespace)

    @property
    def request_timeout(self) -> float:
        """Seconds for one request: a quarter of the renew deadline, so that a whole turn of requests fits in it."""
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

# SPDX-License-Identifier: Apache-2.0
"""The configuration of leader election: the lease and the durations that all replicas share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import attrs

from apimachinery.host import Host
from apimachinery.names import config_key_errors
from apimachinery.semver import ZERO, parse_tolerant
from controller_runtime.core.version import __version__


def _positive(config: object, field: attrs.Attribute[float], value: float) -> None:
    if value <= 0:
        raise ValueError(f"{field.name} ({value:g}) must be positive")


def _not_empty(config: object, field: attrs.Attribute[Any], value: str | None) -> None:
    if value == "":
        raise ValueError(f"{field.name} must not be empty")


def _own_version() -> str:
    version = parse_tolerant(__version__)
    if version is None:
        raise ValueError(f"binary_version must be given: this package's own ({__version__}) is not a version")
    return version.finalized


def _three_parts(version: str) -> str:
    found = parse_tolerant(version)
    return version if found is None else found.finalized


def _version(candidacy: object, field: attrs.Attribute[str], value: str) -> None:
    if parse_tolerant(value) is None:
        raise ValueError(f"{field.name} ({value!r}) must be a version such as 1.36.0")


@attrs.frozen(kw_only=True)
class Candidacy:
    """The versions and the strategy that a replica declares in a coordinated election.

    Attributes:
        binary_version: The version of the program; by default this package's. It has three numbers; missing ones are
            zero.
        emulation_version: The version whose behavior the program emulates; by default `binary_version`.
        strategy: The strategy by which the coordinator elects.

    Raises:
        ValueError: A value is not a version, or `emulation_version` is newer than `binary_version`.
    """

    binary_version: str = attrs.field(factory=_own_version, converter=_three_parts, validator=_version)
    emulation_version: str = attrs.field(
        default=attrs.Factory(lambda self: self.binary_version, takes_self=True),
        converter=_three_parts,
        validator=_version,
    )
    strategy: str = attrs.field(default="OldestEmulationVersion", validator=_not_empty)

    def __attrs_post_init__(self) -> None:
        if (parse_tolerant(self.binary_version) or ZERO) < (parse_tolerant(self.emulation_version) or ZERO):
            raise ValueError(
                f"emulation_version ({self.emulation_version}) must not be newer than "
                f"binary_version ({self.binary_version})"
            )


@attrs.frozen(kw_only=True)
class LeaderElectionConfig:
    """The configuration of a replica's leader election; equal in all replicas, except for the identity.

    A leader stops by itself `renew_deadline` after it sent its last successful renewal; the others wait
    `lease_duration` after they saw that renewal. So there is never more than one leader, as long as no clock runs
    faster than another by more than the ratio of the two durations. After a lease was released, another replica leads
    within `retry_period`; after a leader was killed, within `lease_duration + retry_period`. Both times exclude the
    duration of the requests.

    Attributes:
        name: The Lease's name.
        namespace: The Lease's namespace.
        identity: The name of this replica, which must be unique to this run of its process; None for the host's name
            and a random UUID.
        lease_duration: Whole seconds for which other replicas respect a lease after it changed.
        renew_deadline: Seconds for which a leader leads without a successful renewal.
        retry_period: Seconds between two renewals; other replicas read the lease at least as often.
        jitter: Other replicas read the lease up to this many times as often as a leader renews it, so that they do not
            read it together. (In client-go they read it less often, so a new leader comes later.)
        release_on_stop: Release the lease after a regular stop, so that the next leader need not wait.
        labels: Labels to add to the Lease.
        coordinated: The declaration as a candidate in a coordinated election: the replica then leads when the
            controller `lease-candidate-election` elects it. None: it takes the lease by itself. Either all replicas
            have it or none.

    Raises:
        ValueError: A value is out of range, or two values contradict each other.
    """

    name: str = attrs.field(validator=_not_empty)
    namespace: str = attrs.field(validator=_not_empty)
    identity: str | None = attrs.field(default=None, validator=_not_empty)
    lease_duration: float = attrs.field(default=15.0, validator=_positive)
    renew_deadline: float = attrs.field(default=10.0, validator=_positive)
    retry_period: float = attrs.field(default=2.0, validator=_positive)
    jitter: float = attrs.field(default=1.2, validator=attrs.validators.ge(1.0))
    release_on_stop: bool = True
    labels: Mapping[str, str] = attrs.field(factory=dict)
    coordinated: Candidacy | None = None

    def __attrs_post_init__(self) -> None:
        if self.lease_duration != int(self.lease_duration):
            # Truncated, it could be shorter than the deadline that it must outlast.
            raise ValueError(f"lease_duration ({self.lease_duration:g}) must be whole seconds: a Lease has no others")
        if self.lease_duration <= self.renew_deadline:
            raise ValueError(
                f"lease_duration ({self.lease_duration:g}) must be greater than "
                f"renew_deadline ({self.renew_deadline:g})"
            )
        if self.renew_deadline <= self.jitter * self.retry_period:
            raise ValueError(
                f"renew_deadline ({self.renew_deadline:g}) must be greater than jitter ({self.jitter:g}) times "
                f"retry_period ({self.retry_period:g})"
            )
        if self.coordinated is not None and self.identity and (problems := config_key_errors(self.identity)):
            raise ValueError(f"identity {self.identity!r} cannot be the name of a candidate: {problems[0]}")

    def named_by(self, host: Host) -> Self:
        """Return this configuration if it has an identity; else a copy with a new one: the host's name and a UUID."""
        return self if self.identity is not None else attrs.evolve(self, identity=f"{host.name}_{host.uuid()}")

    @property
    def request_timeout(self) -> float:
        """Seconds for one request: half of `renew_deadline`, so that a second attempt fits in, but at least 1.0."""
        return max(1.0, self.renew_deadline / 2)

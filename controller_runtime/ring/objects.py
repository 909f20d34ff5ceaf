# SPDX-License-Identifier: Apache-2.0
"""The objects of a ring on the API server: a ConfigMap with the assignment, and a Lease for each member.

All reads are of the server's newest state. The assignment is read before the leases; the other order would do as well,
since a member that is seen to follow an assignment takes no slot that this one gives to another.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from functools import reduce
from operator import or_
from types import MappingProxyType
from typing import Any

import attrs

from apimachinery.errors import Conflict, Forbidden, NotFound
from apimachinery.host import Host
from apimachinery.log import get_logger
from apimachinery.objects import ObjectKey, microtime
from controller_runtime.api.builtin_resources import CONFIG_MAPS
from controller_runtime.api.codec import decoder_for
from controller_runtime.api.resources import LEASES
from controller_runtime.client.client import Client
from controller_runtime.ring.belonging import check_lease, check_map
from controller_runtime.ring.config import RingConfig
from controller_runtime.ring.decision import Sighting
from controller_runtime.ring.records import CLAIM, RING_LABEL, Assignment, Claim, annotations_of
from controller_runtime.ring.rights import advice
from controller_runtime.ring.send_time import SendTime

log = get_logger(__name__)


@attrs.frozen
class LeaseWrite:
    """A write of this member's lease, with the data that applies once the server has stored it.

    Attributes:
        claim: The claim in it.
        draining: The slots of the claim for which no new work begins.
        ring: The assignment that the member follows; None for none.
        sent: When the write was sent.
    """

    claim: Claim
    draining: int
    ring: Assignment | None
    sent: SendTime


@attrs.frozen
class PublishedRing:
    """The ConfigMap with the assignment, as it was read.

    Attributes:
        uid: The uid of the ConfigMap; empty if there is none.
        version: The resourceVersion; empty if there is none.
        assignment: The assignment; None if there is none or it cannot be read.
        found: The whole ConfigMap, of which a publisher replaces only the data; empty if there is none.
    """

    uid: str = ""
    version: str = ""
    assignment: Assignment | None = None
    found: Mapping[str, Any] = MappingProxyType({})


class RingObjects:
    """Reads and writes the ConfigMap and the leases of a ring for one member.

    Args:
        host: The source of the time, which is written into leases.
        client: Sends the requests.
        config: The configuration of the ring, with the member's identity.

    Attributes:
        is_as_written: Whether `compare` found the member's lease as the member last wrote it.
        has_gone_back: Whether the server returned an older state than before, and nothing was published since then.

    Threads: one.
    """

    def __init__(self, host: Host, client: Client, config: RingConfig) -> None:
        self._host, self._client, self._config = host, client, config
        self._ring = config.map_key
        self._own = ObjectKey(config.identity or "", config.namespace)
        self._decode = decoder_for(dict, LEASES)
        self._lease: dict[str, Any] | None = None
        # Our last write of the lease that was answered, by its stamp and claim; and the later ones, by their stamps,
        # which may have landed.
        self._written = ("", "")
        self._attempts: dict[str, LeaseWrite] = {}
        # The last assignment that was read, with its uid and data: most turns read the same one.
        self._known: tuple[str, dict[str, str], Assignment] | None = None
        self.is_as_written = True
        self.has_gone_back = False
        # The assignment that was read last, and the greatest incarnation of all: a new object begins above it.
        self._seen: Assignment | None = None
        self._greatest = 0

    def read_ring(self, deadline: float) -> PublishedRing:
        """Read the published assignment. One that cannot be read counts as none, and the publisher replaces it.

        Raises:
            ForeignObject: The ConfigMap of this name does not belong to the ring.
        """
        try:
            with self._asking(deadline) as client:
                found = client.get(CONFIG_MAPS, self._ring, dict)
        except NotFound:
            return PublishedRing()
        check_map(found, self._config.name)
        metadata = found["metadata"]
        try:
            assignment: Assignment | None = self._assignment(metadata["uid"], found.get("data") or {})
        except ValueError as error:
            log.warning("unreadable", ring=self._config.name, error=error)
            assignment = None
        self._compare_ring(assignment or Assignment(0, (), (), metadata["uid"]))
        return PublishedRing(metadata["uid"], metadata["resourceVersion"], assignment, found)

    def _compare_ring(self, read: Assignment) -> None:
        before, self._seen = self._seen, read
        self._greatest = max(self._greatest, read.incarnation)
        if before is None:
            return
        if read.incarnation > before.incarnation:  # somebody has published since
            self.has_gone_back = False
        elif read.uid != before.uid or read.epoch < before.epoch:
            self.has_gone_back = True

    def _assignment(self, uid: str, data: dict[str, str]) -> Assignment:
        if self._known is None or self._known[:2] != (uid, data):
            self._known = uid, data, Assignment.of(data, uid)
        return self._known[2]

    def read_leases(self, deadline: float) -> dict[str, dict[str, Any]]:
        """Read the leases of all members, by their identities; this member's lease is found even without its label.

        Raises:
            ForeignObject: A lease with this member's name does not belong to the ring.
        """
        place = self._config.namespace
        with self._asking(deadline) as client:
            label = f"{RING_LABEL}={self._config.name}"
            leases = client.list(LEASES, place, label_selector=label, view=dict)
            found = {lease["metadata"]["name"]: lease for lease in leases}
            if self._own.name not in found:  # a list of one name needs no other right than the list of all
                for own in client.list(LEASES, place, field_selector=f"metadata.name={self._own.name}", view=dict):
                    check_lease(own, self._config.name)
                    found[self._own.name] = own
        return found

    def sighting(self, name: str, lease: dict[str, Any], now: float) -> Sighting:
        """Return the record of a member's lease as read at `now`; without a readable claim it has no slots."""
        try:
            claim = Claim.from_text(annotations_of(lease).get(CLAIM, ""))
        except ValueError:
            claim = Claim()
        duration = float((lease.get("spec") or {}).get("leaseDurationSeconds") or 0)
        metadata, (stamp, _) = lease["metadata"], _content(lease)
        # A restored server gives out versions again, so the version alone does not tell one write from another.
        return Sighting(name, claim, f"{metadata['uid']}/{metadata['resourceVersion']}/{stamp}", duration, now)

    def compare(self, lease: dict[str, Any] | None) -> LeaseWrite | None:
        """Compare this member's lease on the server with what the member last wrote, and set `is_as_written`.

        Args:
            lease: The lease, as it was just read; None if it is absent.

        Returns:
            An earlier write whose answer was lost, if the lease shows that it was stored after all; otherwise None.
        """
        self._lease = lease
        stamp, claim = _content(lease) if lease is not None else ("", "")
        landed = self._attempts.get(stamp)
        self.is_as_written = landed is not None or (lease is not None and (stamp, claim) == self._written)
        self.has_gone_back |= not self.is_as_written and bool(self._written[0])
        if landed is not None:
            self._written = stamp, claim
            self._attempts.clear()
        return landed

    @property
    def in_doubt(self) -> int:
        """The slots (bits) of claims whose writes had no answer: the server may have stored one of them."""
        return reduce(or_, (each.claim.slots for each in self._attempts.values()), 0)

    def write_lease(self, attempt: LeaseWrite, deadline: float) -> None:
        """Write this member's lease over the version that was read, or create it.

        Raises:
            Conflict: The lease has changed since it was read.
            AlreadyExists: The lease exists by now.
        """
        stamp = microtime(self._host.now())
        body = self._body(attempt.claim, stamp)
        self._attempts[stamp] = attempt
        with self._asking(deadline) as client:
            stored = client.create(LEASES, body) if self._lease is None else client.update(LEASES, body)
        lease = self._lease = self._decode(stored.raw)
        self._written = _content(lease)
        self._attempts.clear()

    def delete_dead(self, member: Sighting, deadline: float) -> None:
        """Delete the lease of a member that died or left, unless it has changed since it was read."""
        uid, version, _ = member.version.split("/", 2)
        key = ObjectKey(member.member, self._config.namespace)
        with contextlib.suppress(NotFound, Conflict), self._asking(deadline) as client:
            client.delete(LEASES, key, uid=uid, resource_version=version)

    def publish(self, ring: PublishedRing, assignment: Assignment, deadline: float) -> None:
        """Write an assignment over the one that was read.

        It gets a new incarnation if there was none, or the server's data went back.

        Raises:
            Conflict: Another member has published one meanwhile.
            AlreadyExists: As `Conflict`.
            NotFound: The ConfigMap was deleted meanwhile.
        """
        if self.has_gone_back or not ring.uid or not assignment.incarnation:
            after = max(assignment.incarnation, self._greatest) + 1  # the wall clock may have been set back since
            incarnation = max(after, int(self._host.now().timestamp()))
            assignment = attrs.evolve(assignment, incarnation=incarnation)
        metadata = dict(ring.found.get("metadata") or {"name": self._ring.name, "namespace": self._ring.namespace})
        metadata["labels"] = {**(metadata.get("labels") or {}), RING_LABEL: self._config.name}
        body = {**ring.found, "metadata": metadata, "data": assignment.data()}
        with self._asking(deadline) as client:
            if ring.uid:  # over the version that was read
                client.update(CONFIG_MAPS, body)
            else:
                client.create(CONFIG_MAPS, body)
        self.has_gone_back = False

    @contextlib.contextmanager
    def _asking(self, deadline: float) -> Iterator[Client]:
        """Yield a client for requests that must be over at a deadline; a refusal says where the right is."""
        try:
            yield self._client.until(deadline)
        except Forbidden as error:
            raise error.advised(advice(self._config.name, self._config.namespace)) from None

    def _body(self, claim: Claim, stamp: str) -> dict[str, Any]:
        lease = self._lease or {}
        metadata = dict(lease.get("metadata") or {"name": self._own.name, "namespace": self._own.namespace})
        metadata["labels"] = {**(metadata.get("labels") or {}), RING_LABEL: self._config.name}
        metadata["annotations"] = {**(metadata.get("annotations") or {}), CLAIM: claim.to_text()}
        spec = {
            "holderIdentity": self._own.name,
            "leaseDurationSeconds": int(self._config.lease_duration),
            "renewTime": stamp,
        }
        return {**lease, "metadata": metadata, "spec": {**(lease.get("spec") or {}), **spec}}


def _content(lease: dict[str, Any]) -> tuple[str, str]:
    """Return what a member writes into its lease: when it was renewed, and the claim. Others may add to it."""
    return str((lease.get("spec") or {}).get("renewTime")), annotations_of(lease).get(CLAIM, "")

# SPDX-License-Identifier: Apache-2.0
"""Assigns addresses and ports to services, each to one service at a time."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator

from apimachinery.host import Host
from embedded_apiserver.groups.core.kinds import SERVICE
from embedded_apiserver.groups.core.service_allocation import (
    NETWORK,
    PORTS,
    Pool,
    Refused,
    allocated,
    unallocated,
    used,
)
from embedded_apiserver.groups.networking.address_records import held
from embedded_apiserver.objects import Object, part
from embedded_apiserver.status import StatusError, invalid
from embedded_apiserver.storage.storage import Snapshot, Storage
from embedded_apiserver.storage.stored import Stored, key_of
from embedded_apiserver.writes.address_records import AddressRecords
from embedded_apiserver.writes.generated_names import generated_name, name_suffix

_FIRST = 1  # the address at this place is the one of the API server's own service
_UNDER_WAY = float("inf")
_INVALID = 422


class Addresses:
    """Assigns addresses and ports to services, each to only one service at a time.

    The addresses in use are read from the storage, so an address is free again once its service is deleted. An address
    assigned since the last read stays reserved until a read shows whether its service was stored.

    Args:
        host: The source of locks and randomness.
        storage: The objects, which include the services.
        records: The `IPAddress` objects; None for a server that creates none.

    Threads: any.
    """

    def __init__(self, host: Host, storage: Storage, records: AddressRecords | None = None) -> None:
        self._host = host
        self._storage = storage
        self._records = records
        # Guards everything below.
        self._lock = host.lock("apiserver/addresses")
        self._known: dict[str, tuple[Stored, set[str | int]]] = {}
        # The version at which a read shows the owner of an address or port, by address or port.
        self._given: dict[str | int, float] = {}
        self._read_until = 0
        # One after the other, so that what has become free is not given again at once.
        self._addresses = itertools.cycle(range(_FIRST + 1, NETWORK.num_addresses - 1))
        self._ports = itertools.cycle(PORTS)

    @contextlib.contextmanager
    def claimed(self, namespace: str, obj: Object, old: Object | None, *, dry_run: bool = False) -> Iterator[Object]:
        """Return a context manager that yields a service with addresses, which are reserved inside the context.

        If the server creates `IPAddress` objects, those of new addresses exist before the context begins, and the
        yielded service has its name already, even a generated one; not so in a dry run. After the context only those of
        the stored service are left.

        Args:
            namespace: The namespace of the service.
            obj: The new or changed service.
            old: The stored service; None for a new service.
            dry_run: True if the service will not be stored.

        Raises:
            StatusError: 422, a requested address, port or IP family is not available.
        """
        before = part(old or {}, "spec")
        if self._records is None or dry_run:
            with self._given_to(obj, before, dry_run=dry_run) as spec:
                yield {**obj, "spec": spec}
            return
        obj = self._named(obj)
        service = key_of(namespace, obj["metadata"].get("name", ""))
        while True:
            with self._given_to(obj, before) as spec:
                new = [address for address in held({"spec": spec}) if address not in held(old)]
                try:
                    if all(self._is_recorded(self._records, address, service, obj) for address in new):
                        yield {**obj, "spec": spec}
                        return
                finally:
                    for address in new:
                        self._records.tidy(address, service)

    def _is_recorded(self, records: AddressRecords, address: str, service: str, obj: Object) -> bool:
        """Make the record of a new address; return False if another client has made one since it was found free."""
        try:
            return records.make(address, service)
        except StatusError as error:  # as a real server, which makes it before it looks at the name of the service
            if error.code != _INVALID:
                raise
            asked = part(obj, "spec").get("clusterIPs") or [part(obj, "spec").get("clusterIP", "")]
            raise invalid(SERVICE, self._name(obj), [unallocated(asked, error.message)]) from None

    def _named(self, obj: Object) -> Object:
        """Return a service with its name, which may have to be generated: the record needs it."""
        return {**obj, "metadata": {**obj["metadata"], "name": name}} if (name := self._name(obj)) else obj

    @contextlib.contextmanager
    def _given_to(self, obj: Object, before: Object, *, dry_run: bool = False) -> Iterator[Object]:
        """Return the spec of a service with its addresses and ports, which are kept from others in the context."""
        spec, given = self._allocated(obj, before, dry_run=dry_run)
        try:
            yield spec
        finally:
            shown_at = self._storage.version
            with self._lock:
                self._given |= dict.fromkeys(given, shown_at)

    def _allocated(self, obj: Object, before: Object, *, dry_run: bool) -> tuple[Object, set[str | int]]:
        while True:
            snapshot = self._storage.read(SERVICE.resource)
            recorded: set[str] = set() if self._records is None else self._records.taken()
            with self._lock:
                if snapshot.version < self._read_until:
                    continue  # another thread has forgotten what this read does not show
                self._see(snapshot)
                taken = set().union(recorded, self._given, *(has for _, has in self._known.values())) - used(before)
                if dry_run:  # a real server compares only its ports with what others have
                    taken = {number for number in taken if isinstance(number, int)}
                try:
                    wanted = part(obj, "spec")
                    spec = allocated(wanted, before, self._pool(taken, wanted, dry_run=dry_run))
                except Refused as error:
                    raise invalid(SERVICE, self._name(obj), error.causes) from None
                given = set() if dry_run else used(spec) - used(before)
                self._given |= dict.fromkeys(given, _UNDER_WAY)
                return spec, given

    def _name(self, obj: Object) -> str:
        """Return the name of a service, if need be a generated one."""
        name, stem = (str(obj.get("metadata", {}).get(key) or "") for key in ("name", "generateName"))
        return name or (stem and generated_name(stem, name_suffix(self._host)))

    def _see(self, snapshot: Snapshot) -> None:
        """Take note of the services in the storage; only those that were written since are decoded."""
        known: dict[str, tuple[Stored, set[str | int]]] = {}
        for stored in snapshot.items:
            seen = self._known.get(stored.key)
            if seen is None or seen[0] is not stored:
                seen = (stored, used(part(stored.decode(), "spec")))
            known[stored.key] = seen
        self._known = known
        self._given = {number: shown for number, shown in self._given.items() if shown > snapshot.version}
        self._read_until = snapshot.version

    def _pool(self, taken: set[str | int], wanted: Object, *, dry_run: bool) -> Pool:
        """Return what can be given.

        As on a real API server, a dry run shows the address of the network itself, and its ports follow the greatest
        that is asked for. If none is asked for, they are greater than all ports of services.
        """
        if dry_run:
            asked = max((port.get("nodePort", 0) for port in wanted.get("ports") or ()), default=0)
            return Pool(taken, iter([str(NETWORK[0])]), itertools.count((asked or PORTS.stop) + 1))
        places = itertools.islice(self._addresses, NETWORK.num_addresses)
        return Pool(taken, (str(NETWORK[place]) for place in places), itertools.islice(self._ports, len(PORTS)))

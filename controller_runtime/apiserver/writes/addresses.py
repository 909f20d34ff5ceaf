# SPDX-License-Identifier: Apache-2.0
"""Gives services their addresses and ports, each to one service at a time."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator

from controller_runtime.apiserver.kinds.kind import Kind
from controller_runtime.apiserver.kinds.registry import SERVICE
from controller_runtime.apiserver.rules.generated_names import generated_name, name_suffix
from controller_runtime.apiserver.rules.rules import Object, part
from controller_runtime.apiserver.rules.service_addresses import NETWORK, PORTS, Pool, Refused, allocated, used
from controller_runtime.apiserver.status import invalid
from controller_runtime.apiserver.storage.storage import Snapshot, Storage
from controller_runtime.apiserver.storage.stored import Stored
from controller_runtime.core.host import Host

_FIRST = 1  # the address at this place is the one of the API server's own service
_UNDER_WAY = float("inf")


class Addresses:
    """Gives services addresses and ports that no other service has.

    The addresses of services are read from the storage, so one is free again once its service is gone. One that was
    given since the last read is remembered until a read shows it, or shows that nothing was stored.

    Args:
        host: Provides the lock and randomness.
        storage: The services.

    Threads: any.
    """

    def __init__(self, host: Host, storage: Storage) -> None:
        self._host = host
        self._storage = storage
        # Guards everything below.
        self._lock = host.lock("apiserver/addresses")
        self._known: dict[str, tuple[Stored, set[str | int]]] = {}
        # By address or port: the version at which a read shows who has it.
        self._given: dict[str | int, float] = {}
        self._read_until = 0
        # One after the other, so that what has become free is not given again at once.
        self._addresses = itertools.cycle(range(_FIRST + 1, NETWORK.num_addresses - 1))
        self._ports = itertools.cycle(PORTS)

    @contextlib.contextmanager
    def claimed(
        self, kind: Kind, obj: Object, old: Object | None, subresource: str = "", *, dry_run: bool = False
    ) -> Iterator[Object]:
        """Return a service with its addresses, which are given to no other while the context lasts.

        Objects of other kinds are returned as they are.

        Raises:
            StatusError: 422, the service asks for what it cannot get.
        """
        if kind is not SERVICE or subresource:
            yield obj
            return
        before = part(old or {}, "spec")
        spec, given = self._allocated(obj, before, dry_run=dry_run)
        try:
            yield {**obj, "spec": spec}
        finally:
            shown_at = self._storage.version
            with self._lock:
                self._given |= dict.fromkeys(given, shown_at)

    def _allocated(self, obj: Object, before: Object, *, dry_run: bool) -> tuple[Object, set[str | int]]:
        while True:
            snapshot = self._storage.read(SERVICE.resource)
            with self._lock:
                if snapshot.version < self._read_until:
                    continue  # another thread has forgotten what this read does not show
                self._see(snapshot)
                taken = set().union(self._given, *(has for _, has in self._known.values())) - used(before)
                try:
                    wanted = part(obj, "spec")
                    spec = allocated(wanted, before, self._pool(taken, wanted, dry_run=dry_run))
                except Refused as error:
                    raise invalid(SERVICE, self._name(obj), error.causes) from None
                given = used(spec) - used(before)
                self._given |= dict.fromkeys(given, _UNDER_WAY)
                return spec, given

    def _name(self, obj: Object) -> str:
        """Return the name of a service; a generated one only stands in a refusal."""
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
        """Return what can be given; the ports of a dry run follow the greatest that is asked for, as on a real server.

        If none is asked for, they are greater than all ports of services.
        """
        asked = max((port.get("nodePort", 0) for port in wanted.get("ports") or ()), default=0)
        size = NETWORK.num_addresses
        addresses = (str(NETWORK[place]) for place in itertools.islice(self._addresses, size))
        ports = itertools.count((asked or PORTS.stop) + 1) if dry_run else itertools.islice(self._ports, len(PORTS))
        return Pool(taken, addresses, ports)

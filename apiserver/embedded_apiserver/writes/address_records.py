# SPDX-License-Identifier: Apache-2.0
"""Writes the `IPAddress` objects of services, on behalf of the server itself: without admission steps and webhooks."""

from __future__ import annotations

from apimachinery.host import Host
from embedded_apiserver.groups.core.kinds import SERVICE
from embedded_apiserver.groups.networking.address_records import held, parent, record_of
from embedded_apiserver.groups.networking.kinds import IP_ADDRESS
from embedded_apiserver.storage.storage import Storage
from embedded_apiserver.storage.stored import Stored
from embedded_apiserver.writes.commits import Commits
from embedded_apiserver.writes.managed import Writer

_SERVER = Writer("kube-apiserver")


class AddressRecords:
    """The `IPAddress` objects of one server: one for each address of a service, with the address as its name.

    An `IPAddress` is created before its service is stored, and deleted after its service. So no two services have the
    same address. A crash between the two writes may leave an `IPAddress` without a service, but never an address
    without its `IPAddress`.

    Args:
        host: The source of time and randomness.
        storage: The objects.

    Threads: any.
    """

    def __init__(self, host: Host, storage: Storage) -> None:
        self._storage = storage
        self._commits = Commits(host, storage)

    def taken(self) -> set[str]:
        """Return the addresses that have an `IPAddress`, created by this server or by a client."""
        return {item.key for item in self._storage.read(IP_ADDRESS.resource).items}

    def make(self, address: str, service: str) -> bool:
        """Create the `IPAddress` of a service's address and return True; return False if the address already has one.

        Args:
            address: The address.
            service: The key of the service, which may not exist yet.

        Raises:
            StatusError: 422, the name of the service is not valid.
        """
        _, raw = self._commits.add(IP_ADDRESS, "", record_of(address, service), _SERVER, False)
        return raw is not None

    def tidy(self, address: str, service: str) -> None:
        """Delete the `IPAddress` of a service's address, unless the service still has the address.

        An `IPAddress` whose parent is another service, or which has no parent, is not deleted.
        """
        if address not in held(self._decoded(self._storage.get(SERVICE.resource, service))):
            found = self._storage.get(IP_ADDRESS.resource, address)
            if found is not None and parent(found.decode()) == service:
                self._storage.commit(IP_ADDRESS.resource, address, found, None)

    def _decoded(self, found: Stored | None) -> dict[str, object] | None:
        return None if found is None else found.decode()

# SPDX-License-Identifier: Apache-2.0
"""Removes the records of addresses that services have no more, and makes those that are missing at the start."""

from __future__ import annotations

from apimachinery.host import Host
from apimachinery.log import get_logger
from embedded_apiserver.groups.core.kinds import SERVICE
from embedded_apiserver.groups.networking.address_records import held, is_managed, parent
from embedded_apiserver.groups.networking.kinds import IP_ADDRESS
from embedded_apiserver.status import StatusError
from embedded_apiserver.storage.history import Compacted
from embedded_apiserver.storage.settling import Settling
from embedded_apiserver.storage.storage import Cursor, Ended, Storage
from embedded_apiserver.writes.address_records import AddressRecords

log = get_logger(__name__)

_BATCH = 64


class Releases:
    """Deletes the `IPAddress` objects of addresses that services no longer have, on the thread of the write.

    A service can lose its address by its deletion, the deletion of its namespace, or a change of its type. The address
    is free when the client of that write gets its response, unless another thread is releasing addresses at that
    moment.

    At the start, missing `IPAddress` objects of the services in a data directory are created: the previous server may
    have been killed between two writes, or may not have created any.

    Args:
        host: Creates the locks.
        storage: The objects.
        records: The `IPAddress` objects.

    Threads: any.
    """

    def __init__(self, host: Host, storage: Storage, records: AddressRecords) -> None:
        self._storage, self._records = storage, records
        self._settling = Settling(host, "apiserver/releases", self._act)
        self._compare_all()  # while no write is under way, whose record precedes its service
        self._cursor = self._follow()  # used by the thread that acts, once it is here
        self._settling.settle()

    def _follow(self) -> Cursor:
        return self._storage.follow(SERVICE.resource, self._storage.version, self._settling.settle)

    def _act(self) -> None:
        try:
            while (batch := self._cursor.take(_BATCH)) is not None and batch.changes:
                for change in batch.changes:
                    before, after = (set(held(one.decode() if one else None)) for one in (change.old, change.new))
                    for address in before - after:
                        self._tidy(address, change.key)
        except Compacted:  # changes were dropped before they were taken: the upkeep finds the records that are left
            self._cursor.close()
            self._cursor = self._follow()
            self._settling.settle()

    def _compare_all(self) -> None:
        for item in self._storage.read(IP_ADDRESS.resource).items:
            record = item.decode()
            if is_managed(record) and (service := parent(record)) is not None:
                self._tidy(item.key, service)
        for item in self._storage.read(SERVICE.resource).items:
            for address in held(item.decode()):
                try:
                    self._records.make(address, item.key)
                except (StatusError, Ended) as error:
                    log.warning("could not record the address of a service", service=item.key, error=error)

    def _tidy(self, address: str, service: str) -> None:
        try:
            self._records.tidy(address, service)
        except (StatusError, Ended) as error:
            log.warning("could not give back the address of a service", service=service, error=error)

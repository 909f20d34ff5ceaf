# SPDX-License-Identifier: Apache-2.0
"""Repairs records of addresses: each address of a service has one, and each record belongs to such an address.

Writes of services keep their records; this repairs those that other clients have changed.
"""

from __future__ import annotations

import enum
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from apimachinery.host import Host
from apimachinery.objects import microtime
from embedded_apiserver.groups.core.kinds import SERVICE
from embedded_apiserver.groups.events.kinds import NEW_EVENT
from embedded_apiserver.groups.networking.address_records import (
    family,
    held,
    is_labelled,
    is_managed,
    parent,
    record_of,
)
from embedded_apiserver.groups.networking.kinds import IP_ADDRESS
from embedded_apiserver.storage.storage import Storage
from embedded_apiserver.storage.stored import Stored
from embedded_apiserver.upkeep.internal_client import InternalClient
from embedded_apiserver.upkeep.ownership import Item, meta_of

USER_AGENT = "kube-apiserver"
CONTROLLER = "ipallocator-repair-controller"
INTERVAL = timedelta(minutes=3)
"""The time within which a deleted record of a service's address is made again."""
UNDER_WAY, CHANGING = timedelta(seconds=60), timedelta(seconds=5)
"""The ages from which a record is left over: of a service that is not there, and of one that has other addresses."""

Object = dict[str, Any]


class Fault(NamedTuple):
    """The problem of an `IPAddress`, with the texts for the event that reports it; `reason` is empty if there is no
    event.
    """

    reason: str = ""
    action: str = ""
    note: str = ""


class AddressVerdict(enum.Enum):
    """The result of a check of an address that needs no repair now; a check that finds one due returns a `Fault`.

    `RIGHT`: the object is correct. `WAITS`: it may be wrong, but another request may be about to correct it, so it is
    checked again later.
    """

    RIGHT = enum.auto()
    WAITS = enum.auto()


def fault_of_record(record: Object, service: Object | None, now: datetime) -> Fault | AddressVerdict:
    """Return the reason to delete an `IPAddress`; an `AddressVerdict` if it is correct, or must not be deleted yet.

    Args:
        record: The `IPAddress`.
        service: The service to which it belongs; None if that does not exist.
        now: The current time.
    """
    if not is_managed(record):
        return AddressVerdict.RIGHT
    name, key = record["metadata"]["name"], parent(record)
    if key is None:
        found = record["spec"]["parentRef"]
        fields = "".join(
            f"{field.title()}:{found.get(field, '')}," for field in ("group", "resource", "namespace", "name")
        )
        text = f"appears to have been modified, not referencing a Service &ParentReference{{{fields}}}: cleaning up"
        return Fault("IPAddressNotAllocated", "IPAddressAllocation", f"IPAddress {name} {text}")
    if service is not None and name in held(service):
        return AddressVerdict.RIGHT
    created = datetime.fromisoformat(record["metadata"]["creationTimestamp"])
    stem = f"IPAddress: {name} for Service {key}"
    if service is None:
        text, reason = "appears to have leaked: cleaning up", "IPAddressNotAllocated"
        return (
            Fault(reason, "IPAddressAllocation", f"{stem} {text}")
            if now - created > UNDER_WAY
            else AddressVerdict.WAITS
        )
    is_late = created > datetime.fromisoformat(service["metadata"]["creationTimestamp"])
    waits = UNDER_WAY if service["spec"].get("type") == "ExternalName" else CHANGING if is_late else timedelta()
    text = "has a wrong reference; cleaning up"
    wrong = Fault("IPAddressWrongReference", "IPAddressAllocation", f"{stem} {text}")
    return wrong if now - created >= waits else AddressVerdict.WAITS


def fault_of_service(address: str, service: str, record: Object | None, other: Object | None) -> Fault | AddressVerdict:
    """Return the reason to create the `IPAddress` of a service's address again; an `AddressVerdict` if it is
    correct, or must wait.

    Args:
        address: The address of the service.
        service: The key of the service.
        record: The `IPAddress`; None if it does not exist.
        other: The service to which the `IPAddress` belongs; None if there is none.
    """
    action, which = "ClusterIPAllocation", f"[{family(address)}]: {address}"
    if record is None:
        return Fault("ClusterIPNotAllocated", action, f"Cluster IP {which} is not allocated; repairing")
    key = parent(record)
    if key is None or (key != service and other is None):
        text = f"the ClusterIP {which} for Service {service} has a wrong reference; repairing"
        return Fault("ClusterIPNotAllocated", action, text)
    if key != service:  # it is deleted first, for it is not true of the other service either
        return AddressVerdict.WAITS
    return AddressVerdict.RIGHT if is_labelled(record) else Fault()


class AddressRepairer:
    """Repairs the `IPAddress` objects of services: each address of a service must have one.

    Others are deleted if they have the label of those that the server manages.

    It is used in the same way as `garbage.GarbageCollector`.

    Args:
        host: The host of the server, for the time.
        storage: The objects, including services and `IPAddress` objects.
        client: Sends the writes.

    Attributes:
        due: The services and `IPAddress` objects to check.

    Threads: one.
    """

    def __init__(self, host: Host, storage: Storage, client: InternalClient) -> None:
        self._host = host
        self._storage = storage
        self._client = client
        self._not_before: dict[Item, datetime] = {}
        self.due: dict[Item, None] = {}

    def see(self, item: Item, old: Stored | None, new: Stored | None) -> None:
        """Record a change of a service or of an `IPAddress`, so that it will be checked."""
        if item.kind == SERVICE:
            self.due[item] = None
            self._not_before.pop(item, None)
        elif item.kind == IP_ADDRESS and (seen := new or old) is not None:
            if new is not None:
                self.due[item] = None
            key = parent(seen.decode())
            if key is not None and (service := Item(SERVICE, key)) not in self.due:
                self.due[service] = None
                self._not_before[service] = self._host.now() + INTERVAL

    def look(self, item: Item) -> bool:
        """Check a service or an `IPAddress`, and repair it; return False if it must be checked again."""
        found = self._storage.get(item.kind.resource, item.key)
        if found is None:
            self._not_before.pop(item, None)
            return True
        if item.kind == IP_ADDRESS:
            return self._look_at_record(item, found)
        faults = {address: self._fault(address, item.key) for address in held(found.decode())}
        if all(fault is AddressVerdict.RIGHT for fault in faults.values()):
            self._not_before.pop(item, None)
            return True
        if self._host.now() < self._not_before.get(item, self._host.now()):
            return False
        return all(self._repair(item, found.decode(), address, fault) for address, fault in faults.items())

    def _look_at_record(self, item: Item, found: Stored) -> bool:
        record = found.decode()
        key = parent(record)
        fault = fault_of_record(record, None if key is None else self._get(Item(SERVICE, key)), self._host.now())
        if isinstance(fault, AddressVerdict):
            return fault is AddressVerdict.RIGHT
        return self._tell(item, record, fault) and self._client.delete(item, meta_of(found), "Background")

    def _fault(self, address: str, service: str) -> Fault | AddressVerdict:
        record = self._get(Item(IP_ADDRESS, address))
        key = record and parent(record)
        return fault_of_service(address, service, record, self._get(Item(SERVICE, key)) if key else None)

    def _repair(self, item: Item, service: Object, address: str, fault: Fault | AddressVerdict) -> bool:
        if isinstance(fault, AddressVerdict):
            return fault is AddressVerdict.RIGHT
        if fault.reason and not self._tell(item, service, fault):
            return False
        found = self._storage.get(IP_ADDRESS.resource, address)
        if found is not None and not self._client.delete(Item(IP_ADDRESS, address), meta_of(found), "Background"):
            return False
        return self._client.create(IP_ADDRESS, "", record_of(address, item.key))

    def _tell(self, item: Item, obj: Object, fault: Fault) -> bool:
        """Write the event that reports a repair."""
        metadata, now, kind = obj["metadata"], self._host.now(), item.kind
        namespace = metadata.get("namespace") or "default"
        named = {
            field: metadata[field] for field in ("namespace", "name", "uid", "resourceVersion") if field in metadata
        }
        event = {
            "metadata": {"name": f"{metadata['name']}.{int(now.timestamp() * 1e9):x}", "namespace": namespace},
            "eventTime": microtime(now),
            "type": "Warning",
            "reason": fault.reason,
            "action": fault.action,
            "note": fault.note,
            "reportingController": CONTROLLER,
            "reportingInstance": f"{CONTROLLER}-{self._host.name}",
            "regarding": {"apiVersion": kind.api_version, "kind": kind.kind, **named},
        }
        return self._client.create(NEW_EVENT, namespace, event)

    def _get(self, item: Item) -> Object | None:
        found = self._storage.get(item.kind.resource, item.key)
        return None if found is None else found.decode()

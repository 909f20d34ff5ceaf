# SPDX-License-Identifier: Apache-2.0
"""Registers the versions of custom kinds as API services, which a real API server does in its aggregator.

Those of built-in groups are among the recorded objects: they are put there once, at the start, and anyone may delete
them. Those of definitions are kept: each served version of a group has one as long as a definition serves it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from apimachinery.decoding import decoder_of
from apimachinery.host import Host
from apimachinery.log import get_logger
from embedded_apiserver.groups.definitions.kinds import DEFINITION
from embedded_apiserver.groups.registration.kinds import API_SERVICE
from embedded_apiserver.options import DeleteOptions
from embedded_apiserver.routes import Route
from embedded_apiserver.status import StatusError
from embedded_apiserver.storage.settling import Settling
from embedded_apiserver.storage.storage import Cursor, Ended, Storage
from embedded_apiserver.storage.stored import Stored
from embedded_apiserver.writes.content import Content
from embedded_apiserver.writes.deletion import Deletion
from embedded_apiserver.writes.objects import Objects

log = get_logger(__name__)

_AGENT = "kube-apiserver"
_MANAGED = "kube-aggregator.kubernetes.io/automanaged"
_GROUP_PRIORITY, _VERSION_PRIORITY = 1000, 100
_BATCH = 64
_CONFLICT, _NOT_FOUND = 409, 404

Specs = dict[str, dict[str, Any]]
"""The specs of API services, by their names."""


class _Version(msgspec.Struct):
    name: str
    served: bool = False


class _RegistrationSpec(msgspec.Struct):
    group: str
    versions: list[_Version]


class _Definition(msgspec.Struct):
    spec: _RegistrationSpec


_decode: Callable[[bytes], _Definition] = decoder_of(_Definition)


def specs_of(raw: bytes) -> Specs:
    """Return the specs of the APIServices for a stored CustomResourceDefinition, by name."""
    spec = _decode(raw).spec
    return {
        f"{version.name}.{spec.group}": {
            "group": spec.group,
            "groupPriorityMinimum": _GROUP_PRIORITY,
            "version": version.name,
            "versionPriority": _VERSION_PRIORITY,
        }
        for version in spec.versions
        if version.served
    }


class Registrations:
    """Keeps the APIServices of custom kinds up to date, on the threads of the writes that change these or definitions.

    Args:
        host: Creates the locks.
        storage: The objects.

    Threads: any.
    """

    def __init__(self, host: Host, storage: Storage) -> None:
        self._storage = storage
        self._objects, self._deletion = Objects(host, storage), Deletion(host, storage)
        # Used by the thread that acts: the cursors that report changes, and the specs of the definitions that it read.
        self._cursors: list[Cursor] = []
        self._read: dict[Stored, Specs] = {}
        self._settling = Settling(host, "apiserver/registrations", self._act)
        self.settle()

    def settle(self) -> None:
        """Create or correct the APIServices of definitions, and delete those of no definition.

        If another thread is doing this, return at once: that thread does it again afterwards.
        """
        self._settling.settle()

    def _act(self) -> None:
        try:
            self._keep()
        except (StatusError, Ended) as error:
            if isinstance(error, Ended) or error.code not in (_CONFLICT, _NOT_FOUND):
                log.warning("could not keep an API service", error=error)

    def _keep(self) -> None:
        self._follow()
        items, before = self._storage.read(DEFINITION.resource).items, self._read
        self._read = {item: before.get(item) or specs_of(item.raw) for item in items}
        wanted = {name: spec for specs in self._read.values() for name, spec in specs.items()}
        kept = {item.key: item.decode() for item in self._storage.read(API_SERVICE.resource).items if _is_kept(item)}
        for name in kept.keys() - wanted.keys():
            self._deletion.delete(Route(API_SERVICE, "", name), DeleteOptions())
        for name, spec in wanted.items():
            self._put(name, spec, kept.get(name))

    def _put(self, name: str, spec: dict[str, Any], found: dict[str, Any] | None) -> None:
        if found is None:
            if self._storage.get(API_SERVICE.resource, name) is None:  # otherwise it is a user's own
                body = {"metadata": {"name": name, "labels": {_MANAGED: "true"}}, "spec": spec}
                self._objects.create(Route(API_SERVICE), Content(msgspec.json.encode(body), "", {}, _AGENT))
        elif found["spec"] != spec:
            body = {**found, "spec": spec}
            self._objects.update(Route(API_SERVICE, "", name), Content(msgspec.json.encode(body), "", {}, _AGENT))

    def _follow(self) -> None:
        """Have the next change of either collection call `settle`; what has changed so far is read after this."""
        for cursor in self._cursors:
            cursor.close()
        version = self._storage.version
        collections = (DEFINITION.resource, API_SERVICE.resource)
        self._cursors = [self._storage.follow(name, version, self.settle) for name in collections]
        for cursor in self._cursors:
            while (batch := cursor.take(_BATCH)) is not None and batch.changes:
                pass


def _is_kept(item: Stored) -> bool:
    return _MANAGED.encode() in item.raw and (item.decode()["metadata"].get("labels") or {}).get(_MANAGED) == "true"

# SPDX-License-Identifier: Apache-2.0
"""The kinds that are served: the built-in ones, and those of the custom resource definitions in the storage.

A definition is acted on by the thread that wrote it, after the write and with no lock held. So no thread has to be
started, and a kind is served before the request that created its definition is answered. The exception: if two
definitions are written at the same time, one thread acts on both, and the other may answer a moment earlier.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from apimachinery.decoding import decoder_of
from apimachinery.equality import same_json
from apimachinery.errors import UsageError
from apimachinery.host import Host
from apimachinery.log import get_logger
from embedded_apiserver.custom.accepted_names import with_names
from embedded_apiserver.custom.definition import with_condition
from embedded_apiserver.custom.kinds import CLEANUP, custom_kinds, in_order, is_true
from embedded_apiserver.groups.all import KINDS
from embedded_apiserver.groups.definitions.kinds import DEFINITION
from embedded_apiserver.kinds.kind import Kind, Kinds
from embedded_apiserver.list_options import ListOptions
from embedded_apiserver.objects import Object
from embedded_apiserver.options import DeleteOptions
from embedded_apiserver.routes import Route
from embedded_apiserver.status import StatusError
from embedded_apiserver.storage.settling import Settling
from embedded_apiserver.storage.storage import Cursor, Storage
from embedded_apiserver.storage.stored import Stored
from embedded_apiserver.webhooks.caller import Caller, Nowhere
from embedded_apiserver.webhooks.conversion import conversion_of
from embedded_apiserver.writes.content import Content
from embedded_apiserver.writes.deletion import Deletion
from embedded_apiserver.writes.objects import Objects

log = get_logger(__name__)

_AGENT = "kube-apiserver"
_NOT_FOUND, _CONFLICT = 404, 409
# The most changes to take from a cursor at a time.
_BATCH = 256
_IN_PROGRESS = "InstanceDeletionInProgress", "CustomResource deletion is in progress"


class _DefinitionMetadata(msgspec.Struct):
    name: str
    uid: str


class _Names(msgspec.Struct):
    kind: str
    plural: str


class _DefinitionSpec(msgspec.Struct):
    group: str
    names: _Names
    scope: str
    versions: list[dict[str, Any]]


class _DefinitionStatus(msgspec.Struct):
    acceptedNames: dict[str, Any]  # noqa: N815 (a name on the wire)


class _Readable(msgspec.Struct):
    """The parts that each stored definition has, and on which this module relies."""

    metadata: _DefinitionMetadata
    spec: _DefinitionSpec
    status: _DefinitionStatus


_decode: Callable[[bytes], _Readable] = decoder_of(_Readable)


class Definitions:
    """Keeps the set of served kinds up to date with the custom resource definitions in the storage.

    It accepts or rejects the names of a definition, and serves the kinds of an established one. When a client deletes a
    definition, it deletes first the custom objects and then the definition.

    Args:
        host: The host of the server.
        storage: The objects, including the definitions.
        built_in: The built-in kinds.
        caller: Calls conversion webhooks; None fails each call.

    Attributes:
        kinds: The currently served kinds. The set is replaced as a whole, so read it once for each request.

    Raises:
        UsageError: A stored definition cannot be read.

    Threads: any.
    """

    def __init__(self, host: Host, storage: Storage, built_in: Kinds = KINDS, caller: Caller | None = None) -> None:
        self._host = host
        self._caller = caller or Nowhere()
        self._storage = storage
        self._objects = Objects(host, storage)
        self._deletion = Deletion(host, storage)
        self._built_in = self.kinds = built_in
        self._settling = Settling(host, "apiserver/definitions", self._act)
        # The three fields below are used by the thread that settles, and so need no lock: cursors by collection, which
        # settle at a change; the decoded definitions; and by name the relevant parts of each, with its kinds.
        self._cursors: dict[str, Cursor] = {}
        self._decoded: dict[Stored, Object] = {}
        self._made: dict[str, tuple[Object, tuple[Kind, ...]]] = {}
        self._check()
        self._settling.settle()

    def _check(self) -> None:
        """Raise a UsageError for a definition that this server cannot have stored, such as one edited by hand."""
        for item in self._storage.read(DEFINITION.resource).items:
            try:
                _decode(item.raw)
            except ValueError as error:
                raise UsageError(
                    f"the stored custom resource definition {item.key} cannot be read ({error}): "
                    "restore a backup of the data directory, or use another one"
                ) from error

    def _act(self) -> None:
        """Act on the definitions as they are."""
        try:
            self._apply()
        except StatusError as error:  # such as a full disk; the next change tries again
            log.warning("could not apply custom resource definition", error=error.message)

    def _apply(self) -> None:
        if not self._follow(DEFINITION.resource):
            return
        stored = self._read()
        wanted = with_names(stored, self._built_in, self._host.now())
        # Serve before writing the status: a client that reads that a kind is established, or gone, must find it so.
        self._serve(wanted)
        wanted = [self._clean_up(definition) for definition in wanted]
        self._serve(wanted)
        for old, new in zip(stored, wanted, strict=True):
            if new != old:
                self._write(new)

    def _read(self) -> list[Object]:
        """Return the definitions. They can be large, so those that have not changed are not decoded again."""
        items, before = self._storage.read(DEFINITION.resource).items, self._decoded
        self._decoded = {item: before.get(item) or item.decode() for item in items}
        return list(self._decoded.values())

    def _follow(self, collection: str) -> bool:
        """Have the next change of a collection settle; return False if the storage is closed.

        A new cursor that has read everything is notified of the next commit, whatever the old one had left.
        """
        if (before := self._cursors.pop(collection, None)) is not None:
            before.close()
        cursor = self._storage.follow(collection, self._storage.version, self._settling.settle)
        while (batch := cursor.take(_BATCH)) is not None and batch.changes:
            pass
        self._cursors[collection] = cursor
        return batch is not None

    def _serve(self, definitions: Sequence[Object]) -> None:
        """Replace `kinds` if these definitions make other ones; kinds of an unchanged definition stay the same."""
        made = {}
        for definition in definitions:
            name = definition["metadata"]["name"]
            before, kinds = self._made.get(name, ({}, ()))
            relevant = _relevant_parts(definition)
            made[name] = (before, kinds) if same_json(before, relevant) else (relevant, self._kinds_of(definition))
            for kind in made[name][1]:
                self._storage.begin(kind.resource)
        self._made = made
        custom = in_order(kind for _, kinds in made.values() for kind in kinds)
        if custom != [kind for kind in self.kinds if kind.definition is not None]:
            self.kinds = Kinds((*self._built_in, *custom))

    def _kinds_of(self, definition: Object) -> tuple[Kind, ...]:
        conversion = conversion_of(self._host, self._caller, definition)
        return custom_kinds(definition, conversion=conversion)

    def _clean_up(self, definition: Object) -> Object:
        """Delete the objects of a terminating definition; return it, without its finalizer if no objects are left."""
        metadata = definition["metadata"]
        if "deletionTimestamp" not in metadata or CLEANUP not in metadata.get("finalizers", ()):
            return definition
        if is_true(definition, "Established"):
            kind = custom_kinds(definition, all_versions=True)[0]
            self._follow(kind.resource)  # so that the end of an object that waits for finalizers is noticed
            self._deletion.delete_collection(Route(kind), ListOptions.parse({}), DeleteOptions())
            if not self._storage.end(kind.resource):
                return with_condition(definition, "Terminating", "True", *_IN_PROGRESS, self._host.now())
            self._cursors.pop(kind.resource).close()
        left = [name for name in metadata["finalizers"] if name != CLEANUP]
        return {**definition, "metadata": {**metadata, "finalizers": left}}

    def _write(self, definition: Object) -> None:
        route = Route(DEFINITION, "", definition["metadata"]["name"], "status")
        try:
            self._objects.update(route, Content(msgspec.json.encode(definition), "", {}, _AGENT))
        except StatusError as error:  # another client wrote in between: that change is acted on next
            if error.code not in (_NOT_FOUND, _CONFLICT):
                raise


def _relevant_parts(definition: Object) -> dict[str, Any]:
    """Return all parts of a definition on which its kinds depend."""
    metadata, status = definition["metadata"], definition["status"]
    return {
        "uid": metadata["uid"],
        "terminating": "deletionTimestamp" in metadata,
        "finalizers": metadata.get("finalizers"),
        "spec": definition["spec"],
        "names": status["acceptedNames"],
        "stored": status.get("storedVersions"),
        "established": is_true(definition, "Established"),
    }

# SPDX-License-Identifier: Apache-2.0
"""The kinds that are served: the server's own, and those that definitions in its storage make.

What follows from a definition is done on the thread of whoever wrote it, once that write is
done and with no lock held: there is no thread to start and nothing to wait for, and a
definition is established before its creator can ask; of two that are written at once, one
may be established by the writer of the other, a moment after its own has been answered.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from controller_runtime.apiserver.kinds.custom import CLEANUP, custom_kinds, in_order, is_true
from controller_runtime.apiserver.kinds.kind import Kind, Kinds
from controller_runtime.apiserver.kinds.registry import DEFINITION, KINDS
from controller_runtime.apiserver.options import DeleteOptions, ListOptions
from controller_runtime.apiserver.routes import Route
from controller_runtime.apiserver.rules.definitions.accepted_names import with_names
from controller_runtime.apiserver.rules.definitions.definition import with_condition
from controller_runtime.apiserver.rules.rules import Object, is_same
from controller_runtime.apiserver.status import StatusError
from controller_runtime.apiserver.storage.storage import Cursor, Storage
from controller_runtime.apiserver.storage.stored import Stored
from controller_runtime.apiserver.writes.deletion import Deletion
from controller_runtime.apiserver.writes.objects import Content, Objects
from controller_runtime.core.errors import UsageError
from controller_runtime.core.host import Host
from controller_runtime.core.log import get_logger

log = get_logger(__name__)

_AGENT = "kube-apiserver"
_NOT_FOUND, _CONFLICT = 404, 409
_BATCH = 256
_IN_PROGRESS = "InstanceDeletionInProgress", "CustomResource deletion is in progress"


class _Metadata(msgspec.Struct):
    name: str
    uid: str


class _Names(msgspec.Struct):
    kind: str
    plural: str


class _Spec(msgspec.Struct):
    group: str
    names: _Names
    scope: str
    versions: list[dict[str, Any]]


class _Status(msgspec.Struct):
    acceptedNames: dict[str, Any]  # noqa: N815 (a name on the wire)


class _Readable(msgspec.Struct):
    """The parts of a definition that are taken for granted once it is stored."""

    metadata: _Metadata
    spec: _Spec
    status: _Status


class Definitions:
    """Keeps the set of kinds in step with the definitions in a storage; its one owner.

    Names are accepted or not, what is established is served, and a definition that is
    deleted goes once its objects have. If two write at once, one of them does it for both.

    Attributes:
        kinds: What is served now. Replaced whole: take it once for each request.

    Raises:
        UsageError: A stored definition lacks what each one has.

    Threads: any.
    """

    def __init__(self, host: Host, storage: Storage) -> None:
        self._host = host
        self._storage = storage
        self._objects = Objects(host, storage)
        self._deletion = Deletion(host, storage)
        self.kinds = KINDS
        # Guards the two flags. Whoever finds it idle acts, for all who came meanwhile.
        self._lock = host.lock("apiserver/definitions")
        self._due = self._busy = False
        # Of whoever acts: cursors that tell of changes by collection, definitions as they are stored, and the kinds of
        # each by its name.
        self._cursors: dict[str, Cursor] = {}
        self._decoded: dict[Stored, Object] = {}
        self._made: dict[str, tuple[Object, tuple[Kind, ...]]] = {}
        self._check()
        self.settle()

    def _check(self) -> None:
        """Raise a UsageError if the storage has a definition that no server has stored, such as one edited by hand."""
        for item in self._storage.read(DEFINITION.resource).items:
            try:
                msgspec.json.decode(item.raw, type=_Readable)
            except ValueError as error:
                raise UsageError(
                    f"the stored custom resource definition {item.key} cannot be read ({error}): "
                    "restore a backup of the data directory, or use another one"
                ) from error

    def settle(self) -> None:
        """Do all that follows from the definitions as they are; at once, unless somebody is at it."""
        with self._lock:
            self._due = True
        while self._begins():
            try:
                self._act()
            except StatusError as error:  # a full disk, say; there is nobody to tell, and the next change tries again
                log.warning("what follows from a definition could not be done", error=error.message)
            finally:
                with self._lock:
                    self._busy = False

    def _begins(self) -> bool:
        """Whether there is something to do and nobody at it; then it is this thread's to do."""
        with self._lock:
            if self._busy or not self._due:
                return False
            self._busy, self._due = True, False
            return True

    def _act(self) -> None:
        if not self._follow(DEFINITION.resource):
            return
        stored = self._read()
        wanted = with_names(stored, KINDS, self._host.now())
        # Before anybody is told: who reads that a kind is established, or gone, finds it so.
        self._serve(wanted)
        wanted = [self._ended(definition) for definition in wanted]
        self._serve(wanted)
        for old, new in zip(stored, wanted, strict=True):
            if new != old:
                self._write(new)

    def _read(self) -> list[Object]:
        """The definitions as they are; they can be large, so each is decoded once."""
        items, before = self._storage.read(DEFINITION.resource).items, self._decoded
        self._decoded = {item: before.get(item) or item.decode() for item in items}
        return list(self._decoded.values())

    def _follow(self, collection: str) -> bool:
        """Be told of the next change of a collection; False if the storage is closed."""
        if (before := self._cursors.pop(collection, None)) is not None:
            before.close()
        cursor = self._storage.follow(collection, self._storage.version, self.settle)
        while (batch := cursor.take(_BATCH)) is not None and batch.changes:
            pass
        self._cursors[collection] = cursor
        return batch is not None

    def _serve(self, definitions: Sequence[Object]) -> None:
        made = {}
        for definition in definitions:
            name = definition["metadata"]["name"]
            told, kinds = self._made.get(name, ({}, ()))
            says = _of_note(definition)
            made[name] = (told, kinds) if is_same(told, says) else (says, custom_kinds(definition))
            for kind in made[name][1]:
                self._storage.begin(kind.resource)
        self._made = made
        custom = in_order(kind for _, kinds in made.values() for kind in kinds)
        if custom != [kind for kind in self.kinds if kind.definition is not None]:
            self.kinds = Kinds((*KINDS, *custom))

    def _ended(self, definition: Object) -> Object:
        """Delete the objects of a definition that is to go; without its finalizer once there are none left."""
        metadata = definition["metadata"]
        if "deletionTimestamp" not in metadata or CLEANUP not in metadata.get("finalizers", ()):
            return definition
        if is_true(definition, "Established"):
            kind = custom_kinds(definition, all_versions=True)[0]
            self._follow(kind.resource)
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
        except StatusError as error:  # somebody wrote in between, so it is due again
            if error.code not in (_NOT_FOUND, _CONFLICT):
                raise


def _of_note(definition: Object) -> dict[str, Any]:
    """What the kinds of a definition depend on."""
    metadata, status = definition["metadata"], definition["status"]
    return {
        "uid": metadata["uid"],
        "terminating": "deletionTimestamp" in metadata,
        "finalizers": metadata.get("finalizers"),
        "spec": definition["spec"],
        "names": status["acceptedNames"],
        "established": is_true(definition, "Established"),
    }

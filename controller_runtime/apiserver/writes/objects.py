# SPDX-License-Identifier: Apache-2.0
"""The requests for objects: read, create, update, patch and apply.

Each write reads the object, computes its new state outside any lock, and commits it if nothing was written in between;
otherwise it starts again. So only the rules of a kind refuse a write for its resourceVersion.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from controller_runtime.api.equality import same_json
from controller_runtime.apiserver.authorization.guard import Guard
from controller_runtime.apiserver.kinds.parts import SCALE
from controller_runtime.apiserver.kinds.registry import DEFINITION, EVENT, NAMESPACE, Kind
from controller_runtime.apiserver.list_options import version_number
from controller_runtime.apiserver.options import Query, WriteOptions
from controller_runtime.apiserver.routes import Route
from controller_runtime.apiserver.rules.rules import Object
from controller_runtime.apiserver.rules.ruleset import rules_of
from controller_runtime.apiserver.rules.scale import scale_applied, scale_of, scaled
from controller_runtime.apiserver.rules.strategy import (
    as_said,
    check_name,
    is_finished,
    named_version,
    prepare_create,
    prepare_update,
    sent_version,
    unversioned,
)
from controller_runtime.apiserver.status import (
    CREATE_OPTIONS,
    PATCH_OPTIONS,
    UPDATE_OPTIONS,
    already_exists,
    conflict,
    forbidden,
    namespace_terminating,
    not_found,
    too_large_version,
    uid_conflict,
    untyped,
)
from controller_runtime.apiserver.storage.storage import Storage
from controller_runtime.apiserver.storage.stored import Stored, key_of
from controller_runtime.apiserver.users import ADMIN, User
from controller_runtime.apiserver.writes import apply
from controller_runtime.apiserver.writes.body import admit, decode, noticed
from controller_runtime.apiserver.writes.documents import check_weight
from controller_runtime.apiserver.writes.entries import APPLY, Entry, with_entries
from controller_runtime.apiserver.writes.managed import Writer, created, manager_from, settled, updated
from controller_runtime.apiserver.writes.patch import APPLY_PATCH, apply_patch, form_of
from controller_runtime.apiserver.writes.storable import storable
from controller_runtime.core.host import Host

# As a real server's: no vowels, so that no words arise, and no 0, 1 and 3.
_SUFFIX_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_LENGTH = 5
_GENERATED_NAMES_TRIED = 8
_SERVER = Writer("kube-apiserver")


class Written(NamedTuple):
    """The result of a write: an HTTP status, the encoded object, and warnings."""

    status: int
    raw: bytes
    warnings: Sequence[str] = ()


class Content(NamedTuple):
    """The input of a write: the body, its media type, the query, the client's User-Agent, and the user."""

    body: bytes
    media_type: str
    query: Query
    agent: str = ""
    user: User = ADMIN

    def writer(self, options: WriteOptions, route: Route) -> Writer:
        """Return the writer of an update: the field manager in the options, or the one from the User-Agent."""
        return Writer(options.field_manager or manager_from(self.agent), subresource=route.subresource)


class Objects:
    """The objects of all kinds, under the rules of the API.

    Each method raises `StatusError` for a request that is refused.

    Args:
        host: Provides time and randomness.
        storage: The objects.
        guard: Checks what the user may write; None if that is everything.

    Threads: any.
    """

    def __init__(self, host: Host, storage: Storage, guard: Guard | None = None) -> None:
        self._host = host
        self._storage = storage
        self._guard = guard

    def get(self, route: Route, version: str = "") -> Stored:
        """Return one object; `version` is the oldest resourceVersion of the server that the client accepts."""
        # A real server reads an event as it reads a list: from its store and not from its cache.
        if version and (asked := version_number(version, of_list=route.kind.stored is EVENT)) > self._storage.version:
            raise too_large_version(asked, self._storage.version)
        return self._find(route)

    def create(self, route: Route, content: Content) -> Written:
        """Handle a POST to a collection."""
        options = WriteOptions.parse(content.query, CREATE_OPTIONS)
        obj, warnings = decode(route.kind, content.body, content.media_type, options.field_validation)
        with noticed(warnings):
            raw = self.add(route.kind, route.namespace, obj, content.writer(options, route), dry_run=options.dry_run)
        return Written(201, raw, [*warnings, *rules_of(route.kind).warnings(obj, None)])

    def update(self, route: Route, content: Content) -> Written:
        """Handle a PUT of an object or of its subresource."""
        kind, options = route.kind, WriteOptions.parse(content.query, UPDATE_OPTIONS)
        obj, warnings = decode(route.sent, content.body, content.media_type, options.field_validation)
        with noticed(warnings):
            check_name(obj, namespace=route.namespace, name=route.name)
            writer = content.writer(options, route)
            while True:
                current, old = self._storage.get(kind.resource, route.key), None
                if current is None:
                    raw = self._create_by_update(route, obj, writer, options.dry_run)
                    status = 201
                else:
                    old = current.decode()
                    new = self._updated(route, old, obj, writer)
                    raw = self._write(route, current, old, new, options.dry_run)
                    status = 200
                if raw is not None:
                    return Written(status, raw, [*warnings, *rules_of(kind).warnings(obj, old)])

    def patch(self, route: Route, content: Content) -> Written:
        """Handle a PATCH of an object or of its subresource."""
        if content.media_type.partition(";")[0].strip().lower() == APPLY_PATCH:
            return self._apply(route, content)
        form_of(kind := route.kind, content.media_type)  # an unknown type is refused even if there is no such object
        options = WriteOptions.parse(content.query, PATCH_OPTIONS)
        writer = content.writer(options, route)
        while True:
            current = self._find(route)
            old = current.decode()
            shown = scale_of(kind, old) if route.sent is SCALE else rules_of(kind).shown_form(old)
            patched = apply_patch(route.sent, content.media_type, shown, content.body)
            check_weight(patched, len(current.raw) + len(content.body))
            obj, warnings = admit(route.sent, patched, options.field_validation, old=shown)
            with noticed(warnings):
                raw = self._write(route, current, old, self._updated(route, old, obj, writer), options.dry_run)
            if raw is not None:
                return Written(200, raw, [*warnings, *rules_of(kind).warnings(obj, old)])

    def _apply(self, route: Route, content: Content) -> Written:
        """Handle a server-side apply, which creates the object if there is none."""
        kind, options = route.kind, WriteOptions.parse(content.query, PATCH_OPTIONS, applies=True)
        config, warnings = apply.read(route.sent, route.name, content.body, options.field_validation)
        if route.sent is SCALE:
            config = scale_applied(kind, config)
        writer = Writer(options.field_manager, APPLY, route.subresource)
        while True:
            current, now, old = self._storage.get(kind.resource, route.key), self._host.now(), None
            if current is None:
                raw = self._create_by_apply(route, config, writer, options.dry_run)
                status = 201
            else:
                old = current.decode()
                shown = rules_of(kind).shown_form(old)
                size = len(current.raw) + len(content.body)
                applied, entries = apply.apply(kind, shown, config, writer, force=options.force, now=now, size=size)
                obj, _ = admit(kind, applied, options.field_validation, old=shown)
                self._check_rights(kind, route.namespace, route.name, old, obj)
                new = settled(old, prepare_update(kind, old, obj, subresource=route.subresource), entries)
                raw = self._write(route, current, old, new, options.dry_run)
                status = 200
            if raw is not None:
                return Written(status, raw, [*warnings, *rules_of(kind).warnings(config, old)])

    def _updated(self, route: Route, old: Object, obj: Object, writer: Writer) -> Object:
        if route.sent is SCALE:
            obj = scaled(route.kind, old, obj)
        self._check_rights(route.kind, route.namespace, route.name, old, obj)
        new = prepare_update(route.kind, old, obj, subresource=route.subresource)
        return updated(route.kind, old, new, obj, writer, self._host.now(), rules_of(route.kind).shown_form)

    def add(self, kind: Kind, namespace: str, obj: Object, writer: Writer = _SERVER, *, dry_run: bool = False) -> bytes:
        """Store a new object, decoded by `decode`, and return it in encoded form."""
        self._check_place(kind, namespace, obj)
        self._check_rights(kind, namespace, "", None, obj)
        asked, stem = (obj.get("metadata", {}).get(key) for key in ("name", "generateName"))
        for _ in range(_GENERATED_NAMES_TRIED):
            name, raw = self._try_add(kind, namespace, obj, writer, dry_run)
            if raw is not None:
                return raw
            if asked:
                is_ending = self._is_terminating(kind, namespace, name)
                raise already_exists(kind, name, terminating=is_ending, retry_after=1 if stem else None)
        raise already_exists(kind, name, retry_after=1)

    def _try_add(
        self,
        kind: Kind,
        namespace: str,
        obj: Object,
        writer: Writer,
        dry_run: bool,
        entries: Sequence[Entry] | None = None,
    ) -> tuple[str, bytes | None]:
        """Try to store a new object once; return its name and, if that was free, the encoded object.

        `entries` are its managed fields. If they are None, the writer owns all of its fields.
        """
        host, now = self._host, self._host.now()
        suffix = "".join(host.random.choice(_SUFFIX_ALPHABET) for _ in range(_SUFFIX_LENGTH))
        made = prepare_create(kind, obj, namespace=namespace, now=now, uid=host.uuid(), suffix=suffix)
        if entries is None:
            entries = created(kind, as_said(kind, made, obj), writer, now)
        name: str = made["metadata"]["name"]
        key, draft = key_of(namespace, name), storable(with_entries(made, entries), is_definition=kind is DEFINITION)
        if dry_run:
            taken = self._storage.get(kind.resource, key) is not None
            version = named_version(obj)
            return name, None if taken else draft.at(version) if version else draft.unversioned()
        if named_version(obj):
            raise untyped("resourceVersion should not be set on objects to be created")
        change = self._storage.commit(kind.resource, key, None, draft)
        return name, change.new.raw if change and change.new else None

    def _create_by_apply(self, route: Route, config: Object, writer: Writer, dry_run: bool) -> bytes | None:
        kind = route.kind
        if route.subresource:
            raise not_found(kind, route.name)
        if uid := config["metadata"].get("uid"):
            text = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
            raise conflict(kind, route.name, text)
        applied, entries = apply.apply_first(kind, config, writer, self._host.now())
        obj, _ = admit(kind, applied)
        check_name(obj, namespace=route.namespace, name=route.name)
        self._check_place(kind, route.namespace, obj)
        if self._guard is not None:
            self._guard.check_create(kind, route.namespace, route.name, obj)
        _, raw = self._try_add(kind, route.namespace, unversioned(obj), writer, dry_run, entries)
        return raw

    def _create_by_update(self, route: Route, obj: Object, writer: Writer, dry_run: bool) -> bytes | None:
        kind = route.kind
        if not kind.create_on_update or route.subresource:
            raise not_found(kind, route.name)
        sent_version(obj)
        if uid := obj["metadata"].get("uid"):
            raise uid_conflict(kind, route.namespace, route.name, uid, "")
        self._check_place(kind, route.namespace, obj)
        if self._guard is not None:
            self._guard.check_create(kind, route.namespace, route.name, obj)
        _, raw = self._try_add(kind, route.namespace, unversioned(obj), writer, dry_run)
        return raw

    def _write(self, route: Route, current: Stored, old: Object, new: Object, dry_run: bool) -> bytes | None:
        """Store `new` in place of `old` and return it in encoded form; None if another write came first."""
        kind = route.kind
        if same_json(new, old):
            return current.raw
        draft = storable(new, is_definition=kind is DEFINITION and not route.subresource)
        if dry_run:
            return draft.at(current.version)
        if is_finished(kind, new):
            return (
                draft.at(current.version) if self._storage.commit(kind.resource, current.key, current, None) else None
            )
        change = self._storage.commit(kind.resource, current.key, current, draft)
        return change.new.raw if change and change.new else None

    def _find(self, route: Route) -> Stored:
        found = self._storage.get(route.kind.resource, route.key)
        if found is None:
            raise not_found(route.kind, route.name)
        return found

    def _check_place(self, kind: Kind, namespace: str, obj: Object) -> None:
        """Refuse a new object of a kind, or in a namespace, that is being deleted."""
        if kind.is_terminating:
            text = "create not allowed while custom resource definition is terminating"
            raise forbidden(kind, obj.get("metadata", {}).get("name", ""), text)
        if not kind.namespaced:
            return
        if "deletionTimestamp" in self._find(Route(NAMESPACE, name=namespace)).decode()["metadata"]:
            raise namespace_terminating(kind, obj.get("metadata", {}).get("name", ""), namespace)

    def _check_rights(self, kind: Kind, namespace: str, name: str, old: Object | None, new: Object) -> None:
        if self._guard is not None:
            self._guard.check_write(kind, namespace, name, old, new)

    def _is_terminating(self, kind: Kind, namespace: str, name: str) -> bool:
        found = self._storage.get(kind.resource, key_of(namespace, name))
        return found is not None and "deletionTimestamp" in found.decode()["metadata"]

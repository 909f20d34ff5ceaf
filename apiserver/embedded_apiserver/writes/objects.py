# SPDX-License-Identifier: Apache-2.0
"""The requests for objects: read, create, update, patch and apply.

Each write reads the object, computes its new state outside any lock, and commits it if nothing was written in between;
otherwise it starts again. So only the rules of a kind refuse a write for its resourceVersion.
"""

from __future__ import annotations

from functools import partial

from apimachinery.host import Host
from embedded_apiserver.admission.step import Asked
from embedded_apiserver.authorization.guard import Guard
from embedded_apiserver.custom import forms
from embedded_apiserver.groups.parts import SCALE
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.list_options import version_number
from embedded_apiserver.objects import Object
from embedded_apiserver.options import WriteOptions
from embedded_apiserver.routes import Route
from embedded_apiserver.scale import check_custom_scale, scale_applied, scale_of, scaled
from embedded_apiserver.status import (
    CREATE_OPTIONS,
    PATCH_OPTIONS,
    UPDATE_OPTIONS,
    bad_request,
    conflict,
    not_found,
    too_large_version,
)
from embedded_apiserver.storage.storage import Storage
from embedded_apiserver.storage.stored import Stored
from embedded_apiserver.typed.body import admit, decode
from embedded_apiserver.typed.documents import check_weight
from embedded_apiserver.typed.patch import APPLY_PATCH, STRATEGIC_MERGE_PATCH, apply_patch, form_of
from embedded_apiserver.writes import apply
from embedded_apiserver.writes.admitting import Admitting
from embedded_apiserver.writes.content import Content, Written
from embedded_apiserver.writes.entries import APPLY
from embedded_apiserver.writes.managed import Writer, settled, updated
from embedded_apiserver.writes.preconditions import check_uid
from embedded_apiserver.writes.strategy import check_name, sent_version
from embedded_apiserver.writes.tail import SERVER, Tail
from embedded_apiserver.writes.warned import of_write, warned_of


class Objects:
    """Carries out requests for objects of all kinds, under the rules of the API.

    Each method raises `StatusError` for a refused request.

    Args:
        host: The source of time and randomness.
        storage: The objects.
        guard: Checks the user's permissions for parts of a write; None to check none.
        admitting: The admission of the server; None for one with the default steps.

    Threads: any.
    """

    def __init__(
        self, host: Host, storage: Storage, guard: Guard | None = None, admitting: Admitting | None = None
    ) -> None:
        self._host = host
        self._storage = storage
        self._tail = Tail(host, storage, guard, admitting or Admitting(host, storage))

    def get(self, route: Route, version: str = "") -> Stored:
        """Return one object. The client requests a state that is at least as new as the resourceVersion `version`."""
        is_cached = route.kind.is_cached
        if version and (asked := version_number(version, of_list=not is_cached)) > self._storage.version:
            raise too_large_version(asked, self._storage.version, is_cached=is_cached)
        return self._find(route)

    def create(self, route: Route, content: Content) -> Written:
        """Create the object in a POST to a collection."""
        options = WriteOptions.parse(content.query, CREATE_OPTIONS)
        obj, warnings = decode(route.kind, content.body, content.media_type, options.field_validation)
        writer = content.writer(options, route)
        with warned_of(warnings):
            raw = self.add(
                route.kind, route.namespace, obj, writer, Asked(content.user, options, warnings, options.dry_run)
            )
        return Written(201, raw, [*warnings, *route.kind.policy.warnings(obj, None)])

    def update(self, route: Route, content: Content) -> Written:
        """Replace an object, or write its subresource, as a PUT requests. For some kinds a PUT may create the
        object.
        """
        kind, options = route.kind, WriteOptions.parse(content.query, UPDATE_OPTIONS)
        obj, warnings = decode(route.sent, content.body, content.media_type, options.field_validation)
        writer, asked = content.writer(options, route), Asked(content.user, options, warnings, options.dry_run)
        with warned_of(warnings):
            check_name(obj, namespace=route.namespace, name=route.name)
            while True:
                current, old = self._storage.get(kind.resource, route.key), None
                if current is None:
                    raw = self._create_by_update(route, obj, writer, asked)
                    status = 201
                else:
                    old = forms.opened(kind, current.decode())
                    if uid := obj["metadata"].get("uid"):
                        check_uid(route, uid, old["metadata"]["uid"], dry_run=options.dry_run)
                    raw = self._replaced(route, current, old, obj, writer, asked)
                    status = 200
                if raw is not None:
                    return Written(status, raw, [*warnings, *of_write(route, obj, old, raw)])

    def patch(self, route: Route, content: Content) -> Written:
        """Patch an object or its subresource, as a PATCH requests; a server-side apply may create the object."""
        kind, is_apply = route.kind, content.media_type.partition(";")[0].strip().lower() == APPLY_PATCH
        # An unknown type is refused even if there is no such object.
        is_strategic = not is_apply and form_of(kind, content.media_type) == STRATEGIC_MERGE_PATCH
        if not route.name:  # in a path of a custom kind
            raise bad_request("name must be provided")
        if is_apply:
            return self._apply(route, content)
        options = WriteOptions.parse(content.query, PATCH_OPTIONS)
        writer = content.writer(options, route)
        while True:
            current = self._find(route)
            old = forms.opened(kind, current.decode())
            shown = scale_of(kind, old) if route.sent is SCALE else kind.policy.shown_form(old)
            patched = apply_patch(route.sent, content.media_type, shown, content.body)
            check_weight(patched, len(current.raw) + len(content.body))
            strategic = content.body if is_strategic else b""
            obj, warnings = admit(route.sent, patched, options.field_validation, old=shown, strategic=strategic)
            with warned_of(warnings):
                raw = self._replaced(
                    route, current, old, obj, writer, Asked(content.user, options, warnings, options.dry_run)
                )
            if raw is not None:
                return Written(200, raw, [*warnings, *of_write(route, obj, old, raw)])

    def _apply(self, route: Route, content: Content) -> Written:
        """Handle a server-side apply, which creates the object if absent."""
        kind, options = route.kind, WriteOptions.parse(content.query, PATCH_OPTIONS, applies=True)
        if not _creates(route):
            self._find(route)  # as a real server, which reads the configuration once it has the object
        config, warnings = apply.read(route.sent, content.body, options.field_validation)
        if route.sent is SCALE:
            config = scale_applied(kind, config)
        elif kind.definition is not None and route.subresource == "status":
            config = apply.status_applied(config)
        writer = Writer(options.field_manager, APPLY, route.subresource)
        asked = Asked(content.user, options, warnings, options.dry_run)
        with warned_of(warnings):
            while True:
                current, old = self._storage.get(kind.resource, route.key), None
                seen: Object = config
                if current is None:
                    raw = self._create_by_apply(route, config, writer, asked)
                    status = 201
                else:
                    old = forms.opened(kind, current.decode())
                    seen, raw = self._applied(route, current, old, config, writer, asked, len(content.body))
                    status = 200
                if raw is not None:
                    return Written(status, raw, [*warnings, *of_write(route, seen, old, raw)])

    def _applied(
        self, route: Route, current: Stored, old: Object, config: Object, writer: Writer, asked: Asked, sent: int
    ) -> tuple[Object, bytes | None]:
        """Store the result of an apply of `sent` bytes; return it with its bytes, None if another write came first."""
        kind, now, options = route.kind, self._host.now(), asked.options
        assert isinstance(options, WriteOptions), "an apply is no deletion"
        shown = kind.policy.shown_form(old)
        size = len(current.raw) + sent
        applied, entries = apply.apply(kind, shown, config, writer, force=options.force, now=now, size=size)
        if route.sent is SCALE and kind.definition is not None:
            check_custom_scale(kind, old, applied)
        obj = admit(kind, applied, options.field_validation, old=shown, is_applied=True)[0]
        untidy = apply.is_untidy(kind, applied)
        settle = partial(settled, old, entries=entries)
        return obj, self._tail.change(route, current, old, obj, asked, now, settle, is_applied=True, is_untidy=untidy)

    def _replaced(
        self, route: Route, current: Stored, old: Object, obj: Object, writer: Writer, asked: Asked
    ) -> bytes | None:
        """Store what a PUT or a patch makes of an object; return None if another write came first."""
        kind, now = route.kind, self._host.now()
        if route.sent is SCALE:
            obj = scaled(kind, old, obj)

        def settle(made: Object) -> Object:
            return updated(kind, old, made, obj, writer, now, kind.policy.shown_form)

        return self._tail.change(route, current, old, obj, asked, now, settle)

    def add(
        self, kind: Kind, namespace: str, obj: Object, writer: Writer = SERVER, asked: Asked | None = None
    ) -> bytes:
        """Store a new object, as returned by `decode`, and return its JSON; see `Tail.add`."""
        return self._tail.add(kind, namespace, obj, writer, asked)

    def _create_by_apply(self, route: Route, config: Object, writer: Writer, asked: Asked) -> bytes | None:
        kind = route.kind
        if not _creates(route):
            raise not_found(kind, route.name)
        if uid := config["metadata"].get("uid"):
            text = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
            raise conflict(kind, route.name, text)
        applied, entries = apply.apply_first(kind, config, writer, self._host.now())
        obj, _ = admit(kind, applied, is_applied=True)
        check_name(obj, namespace=route.namespace, name=route.name)
        return self._tail.create(route, obj, writer, asked, entries, is_untidy=apply.is_untidy(kind, applied))

    def _create_by_update(self, route: Route, obj: Object, writer: Writer, asked: Asked) -> bytes | None:
        if not route.kind.create_on_update or not _creates(route):
            raise not_found(route.kind, route.name)
        sent_version(obj)
        check_uid(route, obj["metadata"].get("uid", ""), "", dry_run=asked.dry_run)
        return self._tail.create(route, obj, writer, asked)

    def _find(self, route: Route) -> Stored:
        found = self._storage.get(route.kind.resource, route.key)
        if found is None:
            raise not_found(route.kind, route.name)
        return found


def _creates(route: Route) -> bool:
    """Return whether a write to this path may create the object."""
    return not route.subresource or (route.kind.creates_by_status and route.subresource == "status")

# SPDX-License-Identifier: Apache-2.0
"""The requests for objects: read, create, update, patch and apply.

Each write reads the object, computes its new state outside any lock, and commits it if nothing was written in between;
otherwise it starts again. So only the rules of a kind refuse a write for its resourceVersion.
"""

from __future__ import annotations

from apimachinery.host import Host
from embedded_apiserver.admission.step import Asked, by_the_server
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
    already_exists,
    bad_request,
    conflict,
    forbidden,
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
from embedded_apiserver.writes.commits import UNCHECKED, Commits
from embedded_apiserver.writes.content import Content, Written
from embedded_apiserver.writes.entries import APPLY
from embedded_apiserver.writes.managed import Writer, settled, updated
from embedded_apiserver.writes.preconditions import check_uid
from embedded_apiserver.writes.strategy import check_name, prepare_update, sent_version, undeleted, unversioned
from embedded_apiserver.writes.warned import of_write, warned_of

_GENERATED_NAMES_TRIED = 8
_SERVER = Writer("kube-apiserver")


class Objects:
    """The objects of all kinds, under the rules of the API.

    Each method raises `StatusError` for a request that is refused.

    Args:
        host: Provides time and randomness.
        storage: The objects.
        guard: Checks what the user may write; None if that is everything.
        admitting: The admission of the server; None makes one with the steps that are on by default.

    Threads: any.
    """

    def __init__(
        self, host: Host, storage: Storage, guard: Guard | None = None, admitting: Admitting | None = None
    ) -> None:
        self._host = host
        self._storage = storage
        self._guard = guard
        self._admitting = admitting or Admitting(host, storage)
        self._commits = Commits(host, storage)

    def get(self, route: Route, version: str = "") -> Stored:
        """Return one object; `version` is the oldest resourceVersion of the server that the client accepts."""
        is_cached = route.kind.is_cached
        if version and (asked := version_number(version, of_list=not is_cached)) > self._storage.version:
            raise too_large_version(asked, self._storage.version, is_cached=is_cached)
        return self._find(route)

    def create(self, route: Route, content: Content) -> Written:
        """Handle a POST to a collection."""
        options = WriteOptions.parse(content.query, CREATE_OPTIONS)
        obj, warnings = decode(route.kind, content.body, content.media_type, options.field_validation)
        writer = content.writer(options, route)
        with warned_of(warnings):
            raw = self.add(
                route.kind, route.namespace, obj, writer, Asked(content.user, options, warnings, options.dry_run)
            )
        return Written(201, raw, [*warnings, *route.kind.policy.warnings(obj, None)])

    def update(self, route: Route, content: Content) -> Written:
        """Handle a PUT of an object or of its subresource."""
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
        """Handle a PATCH of an object or of its subresource."""
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
        """Handle a server-side apply, which creates the object if there is none."""
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
        """Store what an apply of `sent` bytes makes of an object; return it, and None if another write came first."""
        kind, now, options = route.kind, self._host.now(), asked.options
        assert isinstance(options, WriteOptions), "an apply is no deletion"
        shown = kind.policy.shown_form(old)
        size = len(current.raw) + sent
        applied, entries = apply.apply(kind, shown, config, writer, force=options.force, now=now, size=size)
        if route.sent is SCALE and kind.definition is not None:
            check_custom_scale(kind, old, applied)
        obj = admit(kind, applied, options.field_validation, old=shown, is_applied=True)[0]
        self._check_rights(kind, route.namespace, route.name, old, obj)
        admitted, check = self._admitting.update(route, old, obj, asked)
        with self._admitting.addressed(route, admitted, old, dry_run=asked.dry_run) as given:
            told: list[str] = []
            made = prepare_update(kind, old, given or admitted, subresource=route.subresource, now=now, told=told)
            asked.warnings.extend(text for text in told if text not in asked.warnings)
            with check(made) if check is not None else UNCHECKED:
                new, untidy = settled(old, made, entries), apply.is_untidy(kind, applied)
                stored = self._commits.replace(
                    route, current, old, new, options.dry_run, is_applied=True, is_untidy=untidy
                )
                return obj, stored

    def _replaced(
        self, route: Route, current: Stored, old: Object, obj: Object, writer: Writer, asked: Asked
    ) -> bytes | None:
        """Store what a PUT or a patch makes of an object; return None if another write came first."""
        kind, part, now = route.kind, route.subresource, self._host.now()
        if route.sent is SCALE:
            obj = scaled(kind, old, obj)
        self._check_rights(kind, route.namespace, route.name, old, obj)
        admitted, check = self._admitting.update(route, old, obj, asked)
        with self._admitting.addressed(route, admitted, old, dry_run=asked.dry_run) as given:
            told: list[str] = []
            made = prepare_update(kind, old, given or admitted, subresource=part, now=now, told=told)
            asked.warnings.extend(text for text in told if text not in asked.warnings)
            with check(made) if check is not None else UNCHECKED:
                new = updated(kind, old, made, obj, writer, now, kind.policy.shown_form)
                return self._commits.replace(route, current, old, new, asked.dry_run)

    def add(
        self, kind: Kind, namespace: str, obj: Object, writer: Writer = _SERVER, asked: Asked | None = None
    ) -> bytes:
        """Store a new object, decoded by `decode`, and return it in encoded form.

        Args:
            kind: The kind of the object.
            namespace: The namespace in the path; empty for a cluster-scoped kind.
            obj: The object.
            writer: The owner of its fields.
            asked: The user who asks for it, and the options; None for the server itself.
        """
        asked = asked or by_the_server()
        self._check_kind(kind, obj)
        self._check_rights(kind, namespace, "", None, obj)
        obj = undeleted(obj)
        wanted, stem = (obj.get("metadata", {}).get(key) for key in ("name", "generateName"))
        admitted, check = self._admitting.create(kind, namespace, obj, asked)
        dry_run = asked.dry_run
        for _ in range(_GENERATED_NAMES_TRIED):
            with self._admitting.addressed(Route(kind, namespace), admitted, dry_run=dry_run) as given:
                name, raw = self._commits.add(
                    kind, namespace, given or admitted, writer, dry_run, sent=obj, check=check
                )
            if raw is not None:
                return raw
            if wanted:
                break
        is_ending = bool(wanted) and self._commits.is_terminating(kind, namespace, name)
        with warned_of([*kind.policy.warnings(obj, None)]):  # as a real server, which checks the object first
            raise already_exists(kind, name, terminating=is_ending, retry_after=1 if stem else None)

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
        self._check_kind(kind, obj)
        if self._guard is not None:
            self._guard.check_create(kind, route.namespace, route.name, obj)
        admitted, check = self._admitting.create(kind, route.namespace, unversioned(obj), asked)
        dry_run, untidy = asked.dry_run, apply.is_untidy(kind, applied)
        with self._admitting.addressed(route, admitted, dry_run=dry_run) as given:
            made = given or admitted
            _, raw = self._commits.add(
                kind, route.namespace, made, writer, dry_run, entries, is_applied=True, is_untidy=untidy, check=check
            )
        return raw

    def _create_by_update(self, route: Route, obj: Object, writer: Writer, asked: Asked) -> bytes | None:
        kind = route.kind
        if not kind.create_on_update or not _creates(route):
            raise not_found(kind, route.name)
        sent_version(obj)
        check_uid(route, obj["metadata"].get("uid", ""), "", dry_run=asked.dry_run)
        self._check_kind(kind, obj)
        if self._guard is not None:
            self._guard.check_create(kind, route.namespace, route.name, obj)
        sent, dry_run = unversioned(obj), asked.dry_run
        admitted, check = self._admitting.create(kind, route.namespace, sent, asked)
        with self._admitting.addressed(route, admitted, dry_run=dry_run) as given:
            made = given or admitted
            _, raw = self._commits.add(kind, route.namespace, made, writer, dry_run, sent=sent, check=check)
        return raw

    def _find(self, route: Route) -> Stored:
        found = self._storage.get(route.kind.resource, route.key)
        if found is None:
            raise not_found(route.kind, route.name)
        return found

    def _check_kind(self, kind: Kind, obj: Object) -> None:
        """Refuse a new object of a kind whose definition is being deleted."""
        if kind.is_terminating:
            text = "create not allowed while custom resource definition is terminating"
            raise forbidden(kind, obj.get("metadata", {}).get("name", ""), text)

    def _check_rights(self, kind: Kind, namespace: str, name: str, old: Object | None, new: Object) -> None:
        if self._guard is not None:
            self._guard.check_write(kind, namespace, name, old, new)


def _creates(route: Route) -> bool:
    """Return whether a write to this path may create the object."""
    return not route.subresource or (route.kind.creates_by_status and route.subresource == "status")

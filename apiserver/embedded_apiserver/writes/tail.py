# SPDX-License-Identifier: Apache-2.0
"""The last steps that all writes of objects share: rights, admission, the addresses of a service, rules and commit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from apimachinery.host import Host
from embedded_apiserver.admission.step import Asked, by_the_server
from embedded_apiserver.authorization.guard import Guard
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.objects import Object
from embedded_apiserver.routes import Route
from embedded_apiserver.status import already_exists, forbidden
from embedded_apiserver.storage.storage import Storage
from embedded_apiserver.storage.stored import Stored
from embedded_apiserver.writes.admitting import Admitting
from embedded_apiserver.writes.commits import UNCHECKED, Check, Commits
from embedded_apiserver.writes.entries import Entry
from embedded_apiserver.writes.managed import Writer
from embedded_apiserver.writes.strategy import prepare_update, undeleted, unversioned
from embedded_apiserver.writes.warned import warned_of

_GENERATED_NAMES_TRIED = 8
SERVER = Writer("kube-apiserver")
"""The owner of the fields that the server itself writes."""


class Tail:
    """The last steps that all writes of objects share, from the check of permissions to the commit.

    Args:
        host: The source of time and randomness.
        storage: The objects.
        guard: Checks the user's permissions for parts of a write; None to check none.
        admitting: The admission of the server.

    Threads: any.
    """

    def __init__(self, host: Host, storage: Storage, guard: Guard | None, admitting: Admitting) -> None:
        self._guard = guard
        self._admitting = admitting
        self._commits = Commits(host, storage)

    def change(
        self,
        route: Route,
        current: Stored,
        old: Object,
        obj: Object,
        asked: Asked,
        now: datetime,
        settle: Callable[[Object], Object],
        *,
        is_applied: bool = False,
        is_untidy: bool = False,
    ) -> bytes | None:
        """Store `obj` in place of `old` and return its JSON; None if another write changed the object before.

        Args:
            route: The kind, the key and the subresource that the request names.
            current: The stored form of `old`.
            old: The object before the write.
            obj: The object after the write.
            asked: The user and the options of the request.
            now: The time of the write.
            settle: A function that gets the final object and returns it with its `managedFields`.
            is_applied: True for server-side apply, so that null fields and unknown fields of custom objects are
                removed.
            is_untidy: True to store the object with its empty metadata fields; see `Stored.is_untidy`.

        Raises:
            StatusError: The write is refused.
        """
        self._check_rights(route.kind, route.namespace, route.name, old, obj)

        def commit(new: Object, check: Check | None) -> bytes | None:
            told: list[str] = []
            made = prepare_update(route.kind, old, new, subresource=route.subresource, now=now, told=told)
            if told:
                asked.warnings.extend(text for text in told if text not in asked.warnings)
            with check(made) if check is not None else UNCHECKED:
                return self._commits.replace(
                    route, current, old, settle(made), asked.dry_run, is_applied=is_applied, is_untidy=is_untidy
                )

        return self._stored(route, old, obj, asked, commit)

    def add(
        self, kind: Kind, namespace: str, obj: Object, writer: Writer = SERVER, asked: Asked | None = None
    ) -> bytes:
        """Store a new object, as returned by `decode`, and return its JSON.

        Args:
            kind: The kind of the object.
            namespace: The namespace in the request's path; empty for a cluster-scoped kind.
            obj: The object.
            writer: The field manager that owns the object's fields.
            asked: The user and the options of the request; None for the server itself.

        Raises:
            StatusError: The object is refused, or its name is taken.
        """
        given, name = asked or by_the_server(), ""
        self._check_kind(kind, obj)
        self._check_rights(kind, namespace, "", None, obj)
        obj = undeleted(obj)
        wanted, stem = (obj.get("metadata", {}).get(key) for key in ("name", "generateName"))

        def commit(new: Object, check: Check | None) -> bytes | None:
            nonlocal name
            name, raw = self._commits.add(kind, namespace, new, writer, given.dry_run, sent=obj, check=check)
            return raw

        raw = self._stored(Route(kind, namespace), None, obj, given, commit, 1 if wanted else _GENERATED_NAMES_TRIED)
        if raw is not None:
            return raw
        is_ending = bool(wanted) and self._commits.is_terminating(kind, namespace, name)
        with warned_of([*kind.policy.warnings(obj, None)]):  # as a real server, which checks the object first
            raise already_exists(kind, name, terminating=is_ending, retry_after=1 if stem else None)

    def create(
        self,
        route: Route,
        obj: Object,
        writer: Writer,
        asked: Asked,
        entries: Sequence[Entry] | None = None,
        *,
        is_untidy: bool = False,
    ) -> bytes | None:
        """Store a new object and return its JSON; None if the name is taken. For a PUT or an apply to a name without
        an object; `add` is for a POST.

        Args:
            route: The kind, the namespace and the name in the request's path.
            obj: The object.
            writer: The field manager that owns the object's fields.
            asked: The user and the options of the request.
            entries: The `managedFields` of an applied object; None for other objects.
            is_untidy: See `Stored.is_untidy`.
        """
        kind, new = route.kind, unversioned(obj)
        self._check_kind(kind, obj)
        if self._guard is not None:
            self._guard.check_create(kind, route.namespace, route.name, obj)

        def commit(made: Object, check: Check | None) -> bytes | None:
            return self._commits.add(
                kind,
                route.namespace,
                made,
                writer,
                asked.dry_run,
                entries,
                is_applied=entries is not None,
                is_untidy=is_untidy,
                sent=new,
                check=check,
            )[1]

        return self._stored(route, None, new, asked, commit)

    def _stored(
        self,
        route: Route,
        old: Object | None,
        obj: Object,
        asked: Asked,
        commit: Callable[[Object, Check | None], bytes | None],
        tries: int = 1,
    ) -> bytes | None:
        """Admit an object that its writer may write, give it addresses if it is a service, and commit it.

        `commit` takes the object and the check that admission asks for, and returns None if another write came first;
        then it is called again, `tries` times in all.
        """
        if old is None:
            admitted, check = self._admitting.create(route.kind, route.namespace, obj, asked)
        else:
            admitted, check = self._admitting.update(route, old, obj, asked)
        for _ in range(tries):
            claim = self._admitting.addressed(route, admitted, old, dry_run=asked.dry_run)
            if claim is None:
                raw = commit(admitted, check)
            else:
                with claim as given:
                    raw = commit(given, check)
            if raw is not None:
                return raw
        return None

    def _check_kind(self, kind: Kind, obj: Object) -> None:
        """Refuse a new object of a kind whose definition is being deleted."""
        if kind.is_terminating:
            text = "create not allowed while custom resource definition is terminating"
            raise forbidden(kind, obj.get("metadata", {}).get("name", ""), text)

    def _check_rights(self, kind: Kind, namespace: str, name: str, old: Object | None, new: Object) -> None:
        if self._guard is not None:
            self._guard.check_write(kind, namespace, name, old, new)

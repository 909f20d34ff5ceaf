# SPDX-License-Identifier: Apache-2.0
"""Commits: the last step of a write, in which an object takes its stored form and its place in the storage."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext

from apimachinery.equality import same_json
from apimachinery.host import Host
from embedded_apiserver.custom import forms
from embedded_apiserver.groups.definitions.kinds import DEFINITION
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.objects import Object
from embedded_apiserver.routes import Route
from embedded_apiserver.status import StatusError, untyped
from embedded_apiserver.storage.storage import Storage
from embedded_apiserver.storage.stored import Draft, Stored, key_of
from embedded_apiserver.writes.entries import Entry, with_entries
from embedded_apiserver.writes.generated_names import name_suffix
from embedded_apiserver.writes.managed import Writer, created
from embedded_apiserver.writes.storable import storable
from embedded_apiserver.writes.strategy import is_finished, named_version, prepare_create
from embedded_apiserver.writes.warned import warned_of

Check = Callable[[Object], AbstractContextManager[None]]
"""Refuses an object that has passed the rules of its kind, or returns the context manager in which it is stored."""

UNCHECKED = nullcontext()
"""A context manager without effect, for an object that needs no further check."""


class Commits:
    """The last step of a write: encodes the object and stores it.

    Args:
        host: The source of time and randomness.
        storage: The objects.

    Threads: any.
    """

    def __init__(self, host: Host, storage: Storage) -> None:
        self._host = host
        self._storage = storage

    def add(
        self,
        kind: Kind,
        namespace: str,
        obj: Object,
        writer: Writer,
        dry_run: bool,
        entries: Sequence[Entry] | None = None,
        *,
        is_applied: bool = False,
        is_untidy: bool = False,
        sent: Object | None = None,
        check: Check | None = None,
    ) -> tuple[str, bytes | None]:
        """Try once to store a new object. Return its name, and its JSON, or None if the name is taken.

        `entries` are its `managedFields`; if None, `writer` owns all fields. `is_applied` is True for the result of a
        server-side apply, in which null fields of custom objects are removed only here; for `is_untidy` see
        `Stored.is_untidy`. `sent` is the object before admission, whose fields `writer` owns. `check` is called with
        the final object, and may refuse it.

        Raises:
            StatusError: The object breaks a rule of its kind, or the journal cannot store it.
        """
        host, now = self._host, self._host.now()
        try:
            made = prepare_create(kind, obj, namespace=namespace, now=now, uid=host.uuid(), suffix=name_suffix(host))
        except StatusError as error:
            error.warnings = [*kind.policy.first_warnings(obj), *error.warnings]
            raise
        if entries is None:
            entries = created(kind, obj if sent is None else sent, writer, now)
        stored = forms.closed(kind, with_entries(made, entries), prune=is_applied)
        draft = storable(stored, is_definition=kind == DEFINITION)
        name: str = made["metadata"]["name"]
        if is_untidy:
            draft = draft.untidy()
        with check(made) if check is not None else UNCHECKED:
            return name, self._added(kind, key_of(namespace, name), draft, obj, dry_run)

    def _added(self, kind: Kind, key: str, draft: Draft, obj: Object, dry_run: bool) -> bytes | None:
        version = named_version(obj)
        if dry_run:
            taken = self._storage.get(kind.resource, key) is not None
            has_version = version or obj["metadata"].get("resourceVersion") == "0"
            return None if taken else draft.at(version) if has_version else draft.unversioned()
        if version:
            with warned_of([*kind.policy.warnings(obj, None)]):
                raise untyped("resourceVersion should not be set on objects to be created")
        change = self._storage.commit(kind.resource, key, None, draft)
        return change.new.raw if change and change.new else None

    def replace(
        self,
        route: Route,
        current: Stored,
        old: Object,
        new: Object,
        dry_run: bool,
        *,
        is_applied: bool = False,
        is_untidy: bool = False,
    ) -> bytes | None:
        """Store `new` in place of `old` and return its JSON; None if another write changed the object before.

        `current` is the stored form of `old`. If nothing delays the removal of a terminating `new` any more, the object
        is removed. `is_applied` is True for the result of a server-side apply; for `is_untidy` see `Stored.is_untidy`.
        """
        kind = route.kind
        new = forms.closed(kind, new, prune=is_applied)
        if kind.storage is not None or kind.has_changed:  # then `old` is not what is stored
            old = current.decode()
        if same_json(new, old) and current.is_untidy == is_untidy:
            return current.raw
        draft = storable(new, is_definition=kind == DEFINITION and not route.subresource)
        if is_untidy:
            draft = draft.untidy()
        if dry_run:
            return draft.at(current.version)
        if is_finished(kind, new):
            gone = self._storage.commit(kind.resource, current.key, current, None)
            return draft.at(current.version) if gone else None
        change = self._storage.commit(kind.resource, current.key, current, draft)
        return change.new.raw if change and change.new else None

    def is_terminating(self, kind: Kind, namespace: str, name: str) -> bool:
        """Return whether an object with this name exists and is being deleted."""
        found = self._storage.get(kind.resource, key_of(namespace, name))
        return found is not None and "deletionTimestamp" in found.decode()["metadata"]

# SPDX-License-Identifier: Apache-2.0
"""The base class of the rules of a kind. Most kinds use it unchanged.

Rules take objects and return objects and causes. They never modify an object that they are given: it may be the one
in the storage.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from datetime import datetime

from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.objects import Object, with_status_of
from embedded_apiserver.status import Cause


class Rules:
    """The base class of the rules of each kind; used itself for a kind that needs no special rules.

    Objects come with the defaults that a real server fills in when it decodes them: the creator owns those, too.
    No field manager owns what `on_create` adds.

    Attributes:
        tolerated: The faults of parts that an update does not change. Its client is warned of them.
    """

    tolerated: Sequence[str] = ()

    def stored_form(self, obj: Object) -> Object:
        """Return an object that a client sent, with the field names under which it is stored.

        The names differ only for a kind stored as another one: events of events.k8s.io are stored as core events.
        """
        return obj

    def shown_form(self, obj: Object) -> Object:
        """Return a stored object with the field names of this kind; the reverse of `stored_form`."""
        return obj

    def opened(self, obj: Object) -> Object:
        """Return an object from the storage in the form that reads show and writes start from.

        The form differs only for a custom kind that is stored in another API version, or under an older schema.
        """
        return obj

    def prepare(self, objects: Iterable[Object]) -> None:
        """Prepare to open several objects; only those that a webhook converts need it."""

    def closed(self, obj: Object, *, prune: bool = False) -> Object:
        """Return an object that a write made in the form in which it is stored; the reverse of `opened`.

        `prune` is True if the object may have nulls and fields that its kind does not have.
        """
        return obj

    def on_create(self, obj: Object) -> Object:
        """Return a new object, its metadata complete, with the fields that the server adds."""
        return obj

    def on_update(self, kind: Kind, old: Object, new: Object, subresource: str) -> Object:
        """Return `new`, metadata included, with the parts of `old` that a write to `subresource` must not change."""
        if subresource == "status":
            return {**old, "metadata": new["metadata"], "status": new.get("status", {})}
        if kind.has_status:
            return with_status_of(old, new)
        return new

    def dated(self, old: Object, new: Object, now: datetime) -> Object:
        """Return an updated object with the times at which the server notes a change."""
        return new

    def causes(self, obj: Object) -> Iterable[Cause]:
        """Return the faults of an object, new or updated, except those of its metadata.

        A rule that can find very many faults is a generator: the caller stops it after as many as it reports.
        """
        return ()

    def update_causes(self, old: Object, new: Object, subresource: str) -> Iterable[Cause]:
        """Return the faults of the change itself, such as that of an immutable field."""
        return ()

    def causes_of_new(self, obj: Object) -> Iterable[Cause]:
        """Return the faults of a new object, except those of its metadata."""
        return self.causes(obj)

    def causes_of_change(self, old: Object, new: Object, subresource: str) -> Iterable[Cause]:
        """Return the faults of an update, except those of its metadata."""
        return itertools.chain(self.causes(new), self.update_causes(old, new, subresource))

    def warnings(self, obj: Object, old: Object | None) -> Sequence[str]:
        """Return warnings for the client that sent `obj`; `old` is the stored object, None if `obj` is new."""
        return ()

    def first_warnings(self, obj: Object) -> Sequence[str]:
        """Return those warnings of a new object that its client gets even if it breaks the rules."""
        return ()

    def on_delete(self, obj: Object, now: datetime) -> Object:
        """Return the form in which an object just marked for deletion waits for its finalizers."""
        return obj

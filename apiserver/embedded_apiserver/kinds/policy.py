# SPDX-License-Identifier: Apache-2.0
"""The policy of a kind: which parts a write sets, keeps and counts. Kubernetes calls it a strategy.

Its functions take objects and return objects. They never modify an object that they are given: it may be the one in
the storage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import attrs

from embedded_apiserver.objects import Object, part, with_status_of

Predicate = Callable[[Object, Object], bool]
"""Takes the stored object and the updated one."""
Update = Callable[[Object, Object, str], Object]
"""Takes the stored object, the updated one and the subresource that is written, which is empty for the object."""
Warnings = Callable[[Object, Object | None], Iterable[str]]
"""Takes the object that a client sent and the stored one, which is None if the object is new."""

ALL = ("labels", "annotations", "finalizers", "ownerReferences", "generation")
"""The fields of the metadata that a write of the status of some kinds leaves as they are."""


def changed(*names: str) -> Predicate:
    """Return whether one of the parts with these names has changed."""
    return lambda old, new: any(part(old, name) != part(new, name) for name in names)


def never(old: Object, new: Object) -> bool:
    """Return that no change counts."""
    return False


def isolated(old: Object, new: Object, subresource: str) -> Object:
    """Return `new` with the parts of `old` that a write to `subresource` must not change."""
    if subresource == "status":
        return {**old, "metadata": new["metadata"], "status": new.get("status", {})}
    return with_status_of(old, new)


def warned(of: Callable[[Object], Iterable[str]]) -> Warnings:
    """Return the warnings of a kind whose old objects do not matter."""
    return lambda obj, old: of(obj)


def _itself(obj: Object) -> Object:
    return obj


def _made(old: Object, made: Object, subresource: str) -> Object:
    return made


def _undated(old: Object, new: Object, now: datetime) -> Object:
    return new


def _as_it_is(obj: Object, now: datetime) -> Object:
    return obj


def _nothing(*objects: Object | None) -> Iterable[str]:
    return ()


@attrs.frozen(kw_only=True)
class Policy:
    """The policy of one kind; without arguments `PLAIN`.

    Objects come with the defaults that a real server fills in when it decodes them: the creator owns those, too. No
    field manager owns what `create` adds.

    Attributes:
        status: The status of a new object, whatever its client sent; None keeps that.
        generation: Whether a change counts as a new generation; None if objects have no generation.
        first_generation: The generation of a new object; 0 for none.
        freezes: The fields of the metadata that a write of the status leaves as they are, such as `ALL`.
        resets: If the spec never changes: by subresource, the path of the field of the status that such a write resets.
        dependents: The fate of the dependents of a deleted object if its client names none: `Background` deletes them,
            `Orphan` keeps them; empty if there are none, whatever is asked for.
        is_named_by_uid: True if an object without a name gets its uid as one, rather than being refused.
        created: Takes a new object, its metadata complete, and returns it with what else the server adds.
        isolated: Takes the stored and the sent object, metadata included, and the subresource, and returns the latter
            with the parts of the former that such a write must not change.
        updated: Takes the stored object, the isolated one and the subresource, and returns it with what else changes.
        dated: Takes the stored and the updated object, and returns it with the times of its changes.
        deleted: Returns the form in which an object just marked for deletion waits for its finalizers.
        warnings: Warnings for the client that sent an object.
        first_warnings: Those warnings of a new object that its client gets even if the object is refused.
        stored_form: Returns an object that a client sent, with the field names under which it is stored. They differ
            only for a kind that is stored as another one: events of events.k8s.io are stored as core events.
        shown_form: Returns a stored object with the field names of this kind; the reverse of `stored_form`.
    """

    status: Mapping[str, Any] | None = None
    generation: Predicate | None = None
    first_generation: int = 1
    freezes: tuple[str, ...] = ()
    resets: Mapping[str, tuple[str, ...]] = {}
    dependents: str = "Background"
    is_named_by_uid: bool = False
    created: Callable[[Object], Object] = _itself
    isolated: Update = isolated
    updated: Update = _made
    dated: Callable[[Object, Object, datetime], Object] = _undated
    deleted: Callable[[Object, datetime], Object] = _as_it_is
    warnings: Warnings = _nothing
    first_warnings: Callable[[Object], Iterable[str]] = _nothing
    stored_form: Callable[[Object], Object] = _itself
    shown_form: Callable[[Object], Object] = _itself

    def create(self, obj: Object) -> Object:
        """Return a new object, its metadata complete, with the fields that the server adds."""
        if self.generation is not None and self.first_generation:
            obj = {**obj, "metadata": {**obj["metadata"], "generation": self.first_generation}}
        return self.created(obj if self.status is None else {**obj, "status": {**self.status}})

    def update(self, old: Object, new: Object, subresource: str) -> Object:
        """Return `new`, metadata included, as it replaces `old` after a write to `subresource`."""
        made = self.isolated(old, new, subresource)
        if subresource == "status":
            if self.freezes:
                made = {**made, "metadata": _frozen(self.freezes, old["metadata"], made["metadata"])}
        elif self.generation is not None and self.generation(old, made):
            generation = old["metadata"].get("generation", 0) + 1
            made = {**made, "metadata": {**made["metadata"], "generation": generation}}
        return self.updated(old, made, subresource)


PLAIN = Policy()
"""The policy of a kind without a behaviour of its own."""


def _frozen(names: Sequence[str], before: Object, after: Object) -> Object:
    """Return the metadata `after` with these fields of `before`."""
    kept = {name: before[name] for name in names if name in before}
    return {**{name: value for name, value in after.items() if name not in names}, **kept}

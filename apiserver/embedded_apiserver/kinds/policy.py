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
    """Return a function that tells whether one of the top-level fields `names` differs between two objects."""
    return lambda old, new: any(part(old, name) != part(new, name) for name in names)


def never(old: Object, new: Object) -> bool:
    """Return False: no change counts."""
    return False


def isolated(old: Object, new: Object, subresource: str) -> Object:
    """Return `new` with those parts of `old` that a write to `subresource` must not change."""
    if subresource == "status":
        return {**old, "metadata": new["metadata"], "status": new.get("status", {})}
    return with_status_of(old, new)


def warned(of: Callable[[Object], Iterable[str]]) -> Warnings:
    """Return a function for `Policy.warnings` that calls `of` with the new object and ignores the old one."""
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
    """The effects of a write on the parts of an object, for one kind; Kubernetes calls this a strategy.

    The functions get objects with defaults, which their creator owns. No field manager owns the fields that `create`
    adds.

    Attributes:
        status: The status of a new object, which replaces that from the client; None to keep that from the client.
        generation: A function that tells whether a change increases the generation; None if objects have no generation.
        first_generation: The generation of a new object; 0 for none.
        freezes: The metadata fields that a write of the status does not change, such as `ALL`.
        resets: For a kind whose spec never changes: by subresource, the path of the status field that a write to it
            resets.
        dependents: The default propagation policy of a deletion: `Background` deletes dependents, `Orphan` keeps them;
            empty if the kind has no dependents, so that the policy is ignored.
        is_named_by_uid: True if an object without a name gets a random uid, other than its own, as its name.
        created: A function that adds the server's further fields to a new object, whose metadata is complete.
        isolated: A function that returns the sent object with those parts of the stored one that a write to the
            subresource must not change.
        updated: A function that makes the server's further changes to the isolated object, given the stored object and
            the subresource.
        dated: A function that sets the times of changes in the updated object, given the stored object.
        deleted: A function that changes an object that a deletion has marked as terminating, perhaps not for the first
            time.
        warnings: A function that returns the warnings about a written object.
        first_warnings: A function that returns those warnings about a new object that are sent even if the object is
            refused.
        stored_form: A function that renames the fields of a sent object as they are stored. They differ only for a kind
            that is stored as another one, such as events of events.k8s.io, which are stored as core events.
        shown_form: A function that renames the fields of a stored object as in this kind; the reverse of `stored_form`.
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
        """Return a new object with the fields that the server sets: its generation, its initial status, and those of
        `created`.

        Args:
            obj: The object; its metadata must be complete except for the generation.
        """
        if self.generation is not None and self.first_generation:
            obj = {**obj, "metadata": {**obj["metadata"], "generation": self.first_generation}}
        return self.created(obj if self.status is None else {**obj, "status": {**self.status}})

    def update(self, old: Object, new: Object, subresource: str) -> Object:
        """Return `new`, metadata included, in the form in which it replaces `old` after a write to `subresource`."""
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

# SPDX-License-Identifier: Apache-2.0
"""The rules by which the objects of one kind are checked, when they are created, changed, and when their status is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from embedded_apiserver.objects import Object, part
from embedded_apiserver.status import Cause

New = Callable[[Object], Iterable[Cause]]
"""Takes a new object, or a part of it."""
Change = Callable[[Object, Object], Iterable[Cause]]
"""Takes the stored object and the updated one, or a part of both."""


def nothing(*objects: Object) -> Iterable[Cause]:
    """Return no validation errors."""
    return ()


class Checks(NamedTuple):
    """The validation rules of one kind, as functions that return validation errors.

    The metadata rules that all kinds share are not included. A rule that can find very many errors is a generator, so
    that the caller can stop it.

    Attributes:
        new: The rule for a new object.
        change: The rule for the stored and the updated object; None to check the updated object as a new one.
        status: Like `change`, for an update of the status.
        parts: Like `change`, for updates of other subresources, by subresource.
        before_metadata: True if these rules are applied before the metadata rules of a new object, which are then
            skipped if there is an error.
    """

    new: New = nothing
    change: Change | None = None
    status: Change = nothing
    parts: Mapping[str, Change] = MappingProxyType({})
    before_metadata: bool = False

    def causes_of_change(self, old: Object, new: Object, subresource: str) -> Iterable[Cause]:
        """Return the validation errors of an update of an object, or of one of its subresources."""
        rule = self.status if subresource == "status" else self.parts.get(subresource, self.change)
        return self.new(new) if rule is None else rule(old, new)


UNCHECKED = Checks()
"""The checks of a kind of which a real API server checks the metadata only."""


def of_spec(rule: New, *changes: Change, status: Change = nothing) -> Checks:
    """Return the validation rules of a kind whose rules are only about its spec. An unchanged spec is not checked
    again.

    Args:
        rule: The rule for a spec.
        changes: The rules for the old and the new spec.
        status: The rule for an update of the status.
    """

    def new(obj: Object) -> Iterable[Cause]:
        return rule(part(obj, "spec"))

    def change(old: Object, obj: Object) -> Iterator[Cause]:
        before, after = part(old, "spec"), part(obj, "spec")
        if before is after or before == after:
            return
        yield from rule(after)
        for one in changes:
            yield from one(before, after)

    return Checks(new, change, status)

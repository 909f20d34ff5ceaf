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
    """Return no cause."""
    return ()


class Checks(NamedTuple):
    """The rules of one kind; each returns causes, except those of the metadata that all kinds have.

    A rule that can find very many causes is a generator: the caller stops it after as many as it reports.

    Attributes:
        new: Takes a new object.
        change: Takes the stored object and the updated one; None if the rules of a new object are all.
        status: As `change`, for an update of the status.
        parts: As `change`, for updates of other subresources, by their names.
        before_metadata: True if these rules come before those of the metadata of a new object, which are checked only
            if there is no cause.
    """

    new: New = nothing
    change: Change | None = None
    status: Change = nothing
    parts: Mapping[str, Change] = MappingProxyType({})
    before_metadata: bool = False

    def causes_of_change(self, old: Object, new: Object, subresource: str) -> Iterable[Cause]:
        """Return the validation errors of an update."""
        rule = self.status if subresource == "status" else self.parts.get(subresource, self.change)
        return self.new(new) if rule is None else rule(old, new)


UNCHECKED = Checks()
"""The checks of a kind of which a real server checks the metadata only."""


def of_spec(rule: New, *changes: Change, status: Change = nothing) -> Checks:
    """Return the checks of a kind whose rules are all about its spec; an equal spec was checked when it was stored.

    Args:
        rule: Takes a spec.
        changes: Take the old and the new spec.
        status: The rule of a status.
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

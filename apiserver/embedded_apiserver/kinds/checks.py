# SPDX-License-Identifier: Apache-2.0
"""The rules by which the objects of one kind are checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from embedded_apiserver.objects import Object
from embedded_apiserver.status import Cause

New = Callable[[Object], Iterable[Cause]]
"""Takes a new object."""
Change = Callable[[Object, Object], Iterable[Cause]]
"""Takes the stored object and the updated one."""


def nothing(old: Object, new: Object) -> Iterable[Cause]:
    """Return no fault."""
    return ()


class Checks(NamedTuple):
    """The rules of one kind; each returns faults, those of the metadata of all kinds aside.

    Attributes:
        new: Takes a new object.
        change: Takes the stored object and the updated one.
        status: As `change`, for an update of the status.
        finalize: As `change`, for an update of the finalizers of a namespace.
        parts: As `change`, for updates of other subresources, by their names.
    """

    new: New
    change: Change
    status: Change = nothing
    finalize: Change = nothing
    parts: Mapping[str, Change] = MappingProxyType({})

    def causes_of_change(self, old: Object, new: Object, subresource: str) -> Iterable[Cause]:
        """Return the faults of an update."""
        rule = {"status": self.status, "finalize": self.finalize, **self.parts}.get(subresource, self.change)
        return rule(old, new)

# SPDX-License-Identifier: Apache-2.0
"""What a kind adds to the rules of all objects. Most kinds add nothing.

Rules take objects and answer objects and causes; they modify nothing they are given.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from controller_runtime.apiserver.kinds.kind import Kind
from controller_runtime.apiserver.status import Cause

Object = Mapping[str, Any]


class Rules:
    """The rules of kinds that have none of their own; base of those that do.

    Attributes:
        adds: What the server puts into a new object of its own, part and field: nobody owns it
            unless the client sent some of it.
    """

    adds: tuple[tuple[str, str], ...] = ()

    def stored_form(self, obj: Object) -> Object:
        """An object as it is stored: as it is shown, unless the kind is another's in other words."""
        return obj

    def shown_form(self, obj: Object) -> Object:
        """A stored object as the kind shows it."""
        return obj

    def on_create(self, obj: Object) -> Object:
        """A new object with what the server adds; its metadata is complete."""
        return obj

    def on_update(self, kind: Kind, old: Object, new: Object, subresource: str) -> Object:
        """`new` with the parts of `old` that this path may not write; its metadata is `new`'s."""
        if subresource == "status":
            return {**old, "metadata": new["metadata"], "status": new.get("status", {})}
        if kind.has_status:
            return with_status_of(old, new)
        return new

    def causes(self, obj: Object) -> Iterable[Cause]:
        """What is wrong with an object, new or updated, beside its metadata.

        Where there can be very many causes, they are made as they are asked for.
        """
        return ()

    def update_causes(self, old: Object, new: Object, subresource: str) -> Iterable[Cause]:
        """What is wrong with the change alone."""
        return ()

    def causes_of_new(self, obj: Object) -> Iterable[Cause]:
        """What is wrong with a new object, beside its metadata."""
        return self.causes(obj)

    def causes_of_change(self, old: Object, new: Object, subresource: str) -> Iterable[Cause]:
        """What is wrong with an update, beside its metadata."""
        return itertools.chain(self.causes(new), self.update_causes(old, new, subresource))

    def warnings(self, obj: Object, old: Object | None) -> Sequence[str]:
        """What its writer should know of an object as sent; `old` is what it was, None if it is new."""
        return ()

    def on_delete(self, obj: Object, now: datetime) -> Object:
        """An object just marked for deletion, as it waits for its end."""
        return obj


def with_status_of(old: Object, new: Object) -> Object:
    """`new` with `old`'s status, or without any if it has none."""
    rest = {name: value for name, value in new.items() if name != "status"}
    return {**rest, "status": old["status"]} if "status" in old else rest


def part(obj: Object, name: str) -> Mapping[str, Any]:
    """A part of an object such as its spec; empty if it has none."""
    return obj.get(name) or {}

# SPDX-License-Identifier: Apache-2.0
"""Conversion between two versions of a custom resource: a pair of functions that loses nothing.

A version often has fields that another one cannot express. They are kept in an annotation of the converted object and
put back on the way back. Without such an annotation, a loss is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

import msgspec

from apimachinery.errors import UsageError
from apimachinery.names import qualified_name_errors
from apimachinery.plain_functions import synchronous
from controller_runtime.api.codec import decoder_for
from controller_runtime.api.differ import changes_of, merge_patch, merge_patched
from controller_runtime.api.unreadable import UnreadableObject
from controller_runtime.crd.declaration import declaration_of
from controller_runtime.crd.types import CustomResource
from controller_runtime.crd.writing import written

A = TypeVar("A", bound=CustomResource)
B = TypeVar("B", bound=CustomResource)
From = TypeVar("From", bound=CustomResource)
To = TypeVar("To", bound=CustomResource)

_encoder = msgspec.json.Encoder(order="deterministic")


class Conversion(Generic[A, B]):
    """A conversion between two versions of one kind, in both directions; made by `converts`.

    Attributes:
        older: The class that the decorated function takes.
        newer: The class that the decorated function returns.
        keep: The annotation that stores values which the other version cannot express; empty for none.

    Threads: any, once both directions are given.
    """

    def __init__(self, older: type[A], newer: type[B], there: Callable[[A], B], keep: str) -> None:
        self.older = older
        self.newer = newer
        self._there = synchronous(f"{self}", there)
        self._back: Callable[[B], A] | None = None
        self.keep = keep

    def back(self, function: Callable[[B], A]) -> Callable[[B], A]:
        """Set the function from `newer` to `older`; used as a decorator.

        Raises:
            UsageError: There is such a function already, or it is an `async def`.
        """
        if self._back is not None:
            raise UsageError(f"{self} has a way back already")
        self._back = synchronous(f"the way back of {self}", function)
        return function

    def upgrade(self, obj: A) -> B:
        """Return an object of the older class, converted to the newer class.

        Raises:
            UsageError: The function from `newer` to `older` is missing.
            ValueError: A function changed the name, uid or another fixed field of the metadata; or a value would be
                lost, and there is no annotation to store it.
        """
        return self._convert(obj, self._there, self._way_back())

    def downgrade(self, obj: B) -> A:
        """Return an object of the newer class, converted to the older class.

        Raises:
            UsageError: The function from `newer` to `older` is missing.
            ValueError: A function changed fixed metadata, or a value would be lost; see `upgrade`.
        """
        return self._convert(obj, self._way_back(), self._there)

    def require_both_ways(self) -> None:
        """Check that both directions are given.

        Raises:
            UsageError: The function from `newer` to `older` is missing.
        """
        self._way_back()

    def __str__(self) -> str:
        return f"the conversion of {self.older.__name__} to {self.newer.__name__}"

    def _way_back(self) -> Callable[[B], A]:
        if self._back is None:
            raise UsageError(f"{self} has no way back: decorate a function with its `back`")
        return self._back

    def _convert(self, obj: From, way: Callable[[From], To], back: Callable[[To], From]) -> To:
        bare, kept = self._without_kept(obj)
        made = way(bare)
        self._refuse_other_metadata(bare, made)
        made, lost = _restore(made, kept, lambda obj: merge_patch(content_of(back(obj)), content_of(bare)))
        if not lost:
            return made
        if not self.keep:
            raise ValueError(f"{self} loses {', '.join(_paths(lost))}: convert them, or name an annotation with `keep`")
        annotations = {**(made.metadata.annotations or {}), self.keep: _encoder.encode(lost).decode()}
        metadata = msgspec.structs.replace(made.metadata, annotations=annotations)
        return msgspec.structs.replace(made, metadata=metadata)

    def _without_kept(self, obj: From) -> tuple[From, dict[str, Any]]:
        """Return an object without the annotation, and what the annotation keeps of the other version."""
        annotations = {**(obj.metadata.annotations or {})}
        text = annotations.pop(self.keep, "")
        if not text:
            return obj, {}
        metadata = msgspec.structs.replace(obj.metadata, annotations=annotations or None)
        kept: dict[str, Any] = msgspec.json.decode(text)
        return msgspec.structs.replace(obj, metadata=metadata), kept

    def _refuse_other_metadata(self, before: CustomResource, after: CustomResource) -> None:
        """Raise ValueError if more than labels and annotations differ: a server would refuse the conversion."""
        same = {"labels": None, "annotations": None}
        left, right = (msgspec.structs.replace(obj.metadata, **same) for obj in (before, after))
        if left != right:
            raise ValueError(f"{self} may change only labels and annotations of the metadata: pass it on as it is")


def converts(older: type[A], newer: type[B], *, keep: str = "") -> Callable[[Callable[[A], B]], Conversion[A, B]]:
    """Return a decorator that makes a `Conversion` of a function between two versions; its `back` adds the reverse one.

    Args:
        older: The class of the objects that the function takes.
        newer: The class of the objects that the function returns, another version of the same kind.
        keep: The annotation that stores values which the other version cannot express, such as
            `example.com/cabin-fields`. By default losing a value is an error. A list is stored as a whole. A stored
            value is restored unless it would undo a change that was made in the other version.

    Raises:
        TypeError: A class is not declared with `custom_resource`.
        ValueError: The classes are not two versions of one kind, or `keep` is not the name of an annotation.
        UsageError: Raised by the decorator, for an `async def`.
    """
    one, other = declaration_of(older).resource, declaration_of(newer).resource
    if (one.group, one.kind) != (other.group, other.kind) or one.version == other.version:
        raise ValueError(f"{older.__name__} and {newer.__name__} are not two versions of one kind")
    if keep and (problems := qualified_name_errors(keep)):
        raise ValueError(f"keep={keep!r} is not the name of an annotation: {problems[0]}")
    return lambda function: Conversion(older, newer, function, keep)


def _restore(made: To, kept: Mapping[str, Any], lost_by: Callable[[To], dict[str, Any]]) -> tuple[To, dict[str, Any]]:
    """Return an object with what was kept of it, and what the other version then loses.

    A value that would undo a change made in the other version since, or that does not fit it, is left out.
    """
    if not kept:
        return made, lost_by(made)
    if (whole := _with_or_none(made, kept)) is not None and not (lost := lost_by(whole)):
        return whole, lost
    lost = lost_by(made)
    content = content_of(made)
    for change in changes_of(content, merge_patched(content, kept)):
        tried = _with_or_none(made, change.patch)
        if tried is not None and {*_paths(left := lost_by(tried))} <= {*_paths(lost)}:
            made, lost = tried, left
    return made, lost


def content_of(obj: CustomResource) -> dict[str, Any]:
    """Return all fields of an object except its metadata, as JSON values."""
    whole = written(obj, defaults=True)
    content: dict[str, Any] = msgspec.json.decode(msgspec.json.encode({**whole, "metadata": None}))
    del content["metadata"]
    return content


def with_patch(obj: To, patch: Mapping[str, Any]) -> To:
    """Return a copy of an object to whose content a merge patch is applied.

    Raises:
        UnreadableObject: The result is not valid for the class.
    """
    cls = type(obj)
    whole = {**merge_patched(content_of(obj), patch), "metadata": {"name": obj.metadata.name}}
    made = decoder_for(cls, declaration_of(cls).resource)(msgspec.json.encode(whole))
    return msgspec.structs.replace(made, metadata=obj.metadata)


def _with_or_none(obj: To, patch: Mapping[str, Any]) -> To | None:
    try:
        return with_patch(obj, patch)
    except UnreadableObject:
        return None


def _paths(patch: Mapping[str, Any], path: str = "") -> list[str]:
    found = []
    for name, value in patch.items():
        here = f"{path}.{name}"
        found += _paths(value, here) if isinstance(value, Mapping) and value else [here]
    return found

# SPDX-License-Identifier: Apache-2.0
"""The functions that belong to finalizers, and the patches that add and remove finalizers; nothing is sent here."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, Generic, TypeVar

import attrs

from apimachinery.names import qualified_name_errors
from apimachinery.objects import AnyObject, ObjectMeta, PartialObjectMetadata, meta
from controller_runtime.api.resources import Resource
from controller_runtime.api.unreadable import UnreadableObject

T = TypeVar("T", bound=AnyObject)
R = TypeVar("R")


@attrs.frozen
class _ForWhole(Generic[T, R]):
    """A function that is called with the object as its reconciler reads it."""

    call: Callable[[T], R]


@attrs.frozen
class _ForMetadata(Generic[R]):
    """A function that is called with the metadata of the object only."""

    call: Callable[[PartialObjectMetadata], R]


class FinalizerFunctions(Generic[T, R]):
    """The functions of one controller's finalizers, by name, in the order of registration.

    Threads: `register` and `register_for_metadata` before the controller starts; the other methods from any.
    """

    def __init__(self) -> None:
        self._by_name: dict[str, _ForWhole[T, R] | _ForMetadata[R]] = {}

    @property
    def names(self) -> Sequence[str]:
        """The names of the finalizers, in the order of registration."""
        return [*self._by_name]

    def register(self, name: str, finalize: Callable[[T], R]) -> None:
        """Register a function that takes the whole object.

        Raises:
            ValueError: The name is taken, or is not a qualified name.
        """
        self._register(name, _ForWhole(finalize))

    def register_for_metadata(self, name: str, finalize: Callable[[PartialObjectMetadata], R]) -> None:
        """Register a function that takes only the metadata.

        Raises:
            ValueError: The name is taken, or is not a qualified name.
        """
        self._register(name, _ForMetadata(finalize))

    def due(self, metadata: ObjectMeta) -> Sequence[str]:
        """Return the registered finalizers that an object has, in the order of registration."""
        present = metadata.finalizers or []
        return [name for name in self._by_name if name in present]

    def call(self, name: str, obj: T | UnreadableObject) -> R:
        """Call the function of the finalizer `name` with an object that is being deleted, and return its result.

        Raises:
            UnreadableObject: The function needs the whole object, which cannot be read.
            Exception: The function raised it.
        """
        finalize = self._by_name[name]
        if isinstance(finalize, _ForMetadata):
            metadata = obj.cached.meta if isinstance(obj, UnreadableObject) else meta(obj)
            return finalize.call(PartialObjectMetadata(metadata))
        if isinstance(obj, UnreadableObject):
            remedy = "mend the object, or register the function with `register_for_metadata`"
            raise UnreadableObject(
                obj.resource, obj.cached, f"{obj.reason}, and finalizer {name} needs the whole object: {remedy}"
            ) from obj
        return finalize.call(obj)

    def _register(self, name: str, finalize: _ForWhole[T, R] | _ForMetadata[R]) -> None:
        if problems := qualified_name_errors(name):
            raise ValueError(f"finalizer {name!r}: {problems[0]}")
        if name in self._by_name:
            raise ValueError(f"finalizer {name} is registered already")
        self._by_name[name] = finalize


def adding(obj: AnyObject, names: Sequence[str]) -> dict[str, Any] | None:
    """Return the patch that adds the missing ones of these finalizers to an object; None if none is missing."""
    present = meta(obj).finalizers or []
    missing = [name for name in dict.fromkeys(names) if name not in present]
    return _patch(obj, [*present, *missing]) if missing else None


def removing(obj: AnyObject, names: Collection[str]) -> dict[str, Any] | None:
    """Return the patch that removes these finalizers from an object; None if it has none of them."""
    present = meta(obj).finalizers or []
    left = [name for name in present if name not in names]
    return None if left == present else _patch(obj, left)


def raise_failures(resource: Resource[Any], name: str, failures: Sequence[Exception]) -> None:
    """Raise the error if one finalizer failed, or an `ExceptionGroup` if several did; return if none did."""
    if len(failures) == 1:
        raise failures[0]
    if failures:
        raise ExceptionGroup(f"{resource} {name}: finalizers failed", failures)


def _patch(obj: AnyObject, finalizers: list[str]) -> dict[str, Any]:
    return {"metadata": {"resourceVersion": meta(obj).resource_version, "finalizers": finalizers}}

# SPDX-License-Identifier: Apache-2.0
"""Finalizers: names in an object's metadata. The server keeps a deleted object until all of them are removed.

Every edit is a patch that names the resourceVersion that was read. The list is replaced as a whole, so without that
resourceVersion the finalizers that other clients add at the same time would be lost. On a conflict the reconcile is
retried.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, Generic, Self, TypeVar, overload

from apimachinery.errors import ControllerRuntimeError, NotFound
from apimachinery.objects import AnyObject, Cached, ObjectMeta, PartialObjectMetadata, meta
from apimachinery.plain_functions import synchronous
from controller_runtime.api.resources import Kind, resource_of
from controller_runtime.api.unreadable import UnreadableObject
from controller_runtime.cache.lister import Lister
from controller_runtime.client.client import Client
from controller_runtime.controller.finalizer_functions import FinalizerFunctions, adding, raise_failures, removing
from controller_runtime.controller.reconciler import Request

T = TypeVar("T", bound=AnyObject)

_INSTEAD = "register it with AsyncFinalizers, in an AsyncReconciler"


def add_finalizers(client: Client, resource: Kind[Any], obj: AnyObject, names: Sequence[str]) -> Cached | None:
    """Add the missing ones of these finalizers to an object, after those that it has.

    Args:
        client: Writes the patch.
        resource: The object's resource, or its declared class.
        obj: The object as it was read; the patch names its resourceVersion.
        names: The finalizers, such as `example.com/address`.

    Returns:
        The object after the write; None if none was missing, so that nothing was written.

    Raises:
        Conflict: The object has changed since it was read.
        NotFound: The object no longer exists.
        Invalid: The object is being deleted; the server allows no new finalizers then.
    """
    patch = adding(obj, names)
    return None if patch is None else client.patch(resource, _key(obj), patch)


def remove_finalizers(client: Client, resource: Kind[Any], obj: AnyObject, names: Collection[str]) -> Cached | None:
    """Remove these finalizers from an object, and keep the order of the others.

    Once an object that is being deleted has no finalizer left, the server deletes it.

    Args:
        client: Writes the patch.
        resource: The object's resource, or its declared class.
        obj: The object as it was read; the patch names its resourceVersion.
        names: The finalizers to remove; names that the object does not have are ignored.

    Returns:
        The object after the write; None if it had none of these finalizers, or no longer exists.

    Raises:
        Conflict: The object has changed since it was read.
    """
    patch = removing(obj, names)
    if patch is None:
        return None
    try:
        return client.patch(resource, _key(obj), patch)
    except NotFound:  # it was deleted, which is what its finalizers waited for
        return None


def _key(obj: AnyObject) -> Request:
    return Request(meta(obj).name, meta(obj).namespace)


class Finalizers(Generic[T]):
    """The finalizers of one controller for one kind, each with the function that cleans up.

    A reconciler begins with them: `get` reads the object, and calls the functions if it is being deleted.

        cabin = self.finalizers.get(self.cabins, request)
        if cabin is None: return Result()

    A reconciler that has read the object already calls `handle` instead. An `AsyncReconciler` has `AsyncFinalizers`.

    Args:
        client: Writes the finalizers.
        resource: The collection of the objects.
        view: The class into which the reconciler decodes the objects; None for the default class of the resource.

    Threads: `register` before the controller starts; the other methods from any.
    """

    @overload
    def __init__(self, client: Client, resource: Kind[T]) -> None: ...

    @overload
    def __init__(self, client: Client, resource: Kind[Any], view: type[T]) -> None: ...

    def __init__(self, client: Client, resource: Kind[Any], view: type[Any] | None = None) -> None:
        self._client = client
        self._resource = resource_of(resource)
        self._functions: FinalizerFunctions[T, None] = FinalizerFunctions()

    def register(self, name: str, finalize: Callable[[T], None]) -> Self:
        """Register a function that is called for an object being deleted, before the server removes it.

        Args:
            name: The finalizer, with a DNS prefix of your own: `example.com/volume`.
            finalize: Undoes the controller's work for the object, which is its argument. It may be called again after
                it has succeeded, so it must not fail because there is nothing left to undo.

        Raises:
            ValueError: The name is registered already, or is not a qualified name.
            UsageError: `finalize` is an `async def`. A function that returns a coroutine raises this when it is called,
                and its finalizer stays.
        """
        self._functions.register(name, synchronous(f"finalizer {name}", finalize, _INSTEAD))
        return self

    def register_for_metadata(self, name: str, finalize: Callable[[PartialObjectMetadata], None]) -> Self:
        """Register a function that needs only the metadata of the object, so that it can always be called.

        It is called even for an object that cannot be decoded into the class of the reconciler. With `register`, the
        deletion of such an object would wait until the object is repaired.

        Args:
            name: The finalizer, with a DNS prefix; see `register`.
            finalize: Undoes the controller's work for the object, whose metadata is its argument.

        Raises:
            ValueError: The name is registered already, or is not a qualified name.
            UsageError: `finalize` is an `async def`; see `register`.
        """
        self._functions.register_for_metadata(name, synchronous(f"finalizer {name}", finalize, _INSTEAD))
        return self

    def get(self, lister: Lister[T], request: Request) -> T | None:
        """Return the object to reconcile, after adding its finalizers; None if it does not exist or is being deleted.

        If the object is being deleted, the functions of its finalizers are called first. If it also cannot be decoded,
        only the functions that need just the metadata are called.

        Args:
            lister: Reads the object.
            request: The key of the object, as passed to `reconcile`.

        Raises:
            UnreadableObject: The object cannot be read, and either it is not being deleted, or one of its finalizers
                needs the whole object.
            Exception: A finalizer's function or a write failed; see `handle`.
        """
        try:
            obj = lister.get(request)
        except UnreadableObject as error:
            metadata = error.cached.meta
            if metadata.deletion_timestamp is None:
                raise
            self._finalize_all(metadata, error)
            return None
        return None if obj is None or self.handle(obj) else obj

    def handle(self, obj: T) -> bool:
        """Add the finalizers to an object; if it is being deleted, call their functions in the order of registration.

        When this returns False, the object has the finalizers: work that has to be undone later may begin.

        Returns:
            True if the object is being deleted, so that there is nothing else to do for it.

        Raises:
            Exception: The error of a finalizer's function, or an `ExceptionGroup` if several failed. The other
                functions are still called, and the finalizers of those that succeeded are removed.
            Conflict: The object has changed since it was read.
        """
        metadata = meta(obj)
        if metadata.deletion_timestamp is None:
            add_finalizers(self._client, self._resource, obj, self._functions.names)
            return False
        self._finalize_all(metadata, obj)
        return True

    def _finalize_all(self, metadata: ObjectMeta, obj: T | UnreadableObject) -> None:
        """Call the functions of an object that is being deleted, and remove the finalizers of those that succeeded."""
        done: list[str] = []
        failures: list[Exception] = []
        for name in self._functions.due(metadata):
            try:
                self._functions.call(name, obj)
            except Exception as failure:  # noqa: BLE001  a user's function ends here: the others are called too, then `handle` raises
                failures.append(failure)
            else:
                done.append(name)
        try:
            remove_finalizers(self._client, self._resource, PartialObjectMetadata(metadata), done)
        except ControllerRuntimeError as failure:
            failures.append(failure)
        raise_failures(self._resource, metadata.name, failures)

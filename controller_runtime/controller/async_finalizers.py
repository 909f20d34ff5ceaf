# SPDX-License-Identifier: Apache-2.0
"""Finalizers whose functions are coroutines, for an `AsyncReconciler`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Generic, Self, TypeVar, overload

from apimachinery.errors import ControllerRuntimeError, NotFound, UsageError
from apimachinery.objects import AnyObject, ObjectMeta, PartialObjectMetadata, meta
from controller_runtime.api.resources import Kind, resource_of
from controller_runtime.api.unreadable import UnreadableObject
from controller_runtime.cache.lister import Lister
from controller_runtime.client.async_client import AsyncClient
from controller_runtime.controller.finalizer_functions import FinalizerFunctions, adding, raise_failures, removing
from controller_runtime.controller.reconciler import Request

T = TypeVar("T", bound=AnyObject)


class AsyncFinalizers(Generic[T]):
    """The finalizers of one controller for one kind, like `Finalizers`, with coroutine functions.

    A coroutine is awaited in the reconcile that found its object being deleted. So it is cancelled at the controller's
    `reconcile_timeout`, its error fails the reconcile, which is counted and retried, and its finalizer is removed only
    after it has returned. An `AsyncReconciler` begins with::

        topic = await self.finalizers.get(self.topics, request)
        if topic is None: return Result()

    Args:
        client: Writes the finalizers.
        resource: The collection of the objects.
        view: The class into which the reconciler decodes the objects; None for the default class of the resource.

    Threads: `register` before the controller starts; the others from coroutines of any event loop.
    """

    @overload
    def __init__(self, client: AsyncClient, resource: Kind[T]) -> None: ...

    @overload
    def __init__(self, client: AsyncClient, resource: Kind[Any], view: type[T]) -> None: ...

    def __init__(self, client: AsyncClient, resource: Kind[Any], view: type[Any] | None = None) -> None:
        self._client = client
        self._resource = resource_of(resource)
        self._functions: FinalizerFunctions[T, Awaitable[None]] = FinalizerFunctions()

    def register(self, name: str, finalize: Callable[[T], Awaitable[None]]) -> Self:
        """Register a coroutine function that is awaited for an object being deleted, before the server removes it.

        Args:
            name: The finalizer, with a DNS prefix of your own: `example.com/topic`.
            finalize: Undoes the controller's work for the object, which is its argument. It may be called again after
                it has succeeded, or after it was cancelled, so it must not fail because there is nothing left to undo.

        Raises:
            ValueError: The name is registered already, or is not a qualified name.
        """
        self._functions.register(name, finalize)
        return self

    def register_for_metadata(self, name: str, finalize: Callable[[PartialObjectMetadata], Awaitable[None]]) -> Self:
        """Register a coroutine function that needs only the metadata; see `Finalizers.register_for_metadata`.

        Args:
            name: The finalizer, with a DNS prefix; see `register`.
            finalize: Undoes the controller's work for the object; its argument has only the object's metadata.

        Raises:
            ValueError: The name is registered already, or is not a qualified name.
        """
        self._functions.register_for_metadata(name, finalize)
        return self

    async def get(self, lister: Lister[T], request: Request) -> T | None:
        """Return the object to reconcile, after adding its finalizers; None if it does not exist or is being deleted.

        Raises:
            UnreadableObject: The object cannot be read, and either it is not being deleted, or one of its finalizers
                needs the whole object.
            Exception: A finalizer's function failed, or a write did; the errors are those of `handle`.
        """
        try:
            obj = await lister.body(request)
        except UnreadableObject as error:
            metadata = error.cached.meta
            if metadata.deletion_timestamp is None:
                raise
            await self._finalize_all(metadata, error)
            return None
        return None if obj is None or await self.handle(obj) else obj

    async def handle(self, obj: T) -> bool:
        """Add the finalizers to an object; if it is being deleted, await their functions instead, one after another.

        When this returns False, the object has the finalizers: work that has to be undone later may begin. If it is
        cancelled meanwhile, it removes no finalizer.

        Returns:
            True if the object is being deleted, so that there is nothing else to do for it.

        Raises:
            Exception: The error of a finalizer's function, or an `ExceptionGroup` if several failed. The other
                functions are still awaited, and the finalizers of those that succeeded are removed.
            UsageError: A function returned something that cannot be awaited; its finalizer stays.
            Conflict: The object has changed since it was read.
        """
        metadata = meta(obj)
        if metadata.deletion_timestamp is not None:
            await self._finalize_all(metadata, obj)
            return True
        patch = adding(obj, self._functions.names)
        if patch is not None:
            await self._client.patch(self._resource, Request(metadata.name, metadata.namespace), patch)
        return False

    async def _finalize_all(self, metadata: ObjectMeta, obj: T | UnreadableObject) -> None:
        done: list[str] = []
        failures: list[Exception] = []
        for name in self._functions.due(metadata):
            try:
                await _awaitable(name, self._functions.call(name, obj))
            except Exception as failure:  # noqa: BLE001  as in `Finalizers`: the others are awaited too
                failures.append(failure)
            else:
                done.append(name)
        try:
            await self._remove(metadata, done)
        except ControllerRuntimeError as failure:
            failures.append(failure)
        raise_failures(self._resource, metadata.name, failures)

    async def _remove(self, metadata: ObjectMeta, names: list[str]) -> None:
        patch = removing(PartialObjectMetadata(metadata), names)
        if patch is None:
            return
        try:
            await self._client.patch(self._resource, Request(metadata.name, metadata.namespace), patch)
        except NotFound:  # it was deleted, which is what its finalizers waited for
            return


def _awaitable(name: str, result: object) -> Awaitable[object]:
    if not isinstance(result, Awaitable):
        remedy = "write an `async def`, or call it by `client.call` in one"
        raise UsageError(f"finalizer {name}: its function returned {result!r}, which cannot be awaited: {remedy}")
    return result

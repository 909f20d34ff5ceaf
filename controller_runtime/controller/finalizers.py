# SPDX-License-Identifier: Apache-2.0
"""Finalizers: what must be done before an object may go, and the marks that hold it until then.

Every edit is a patch for the version that was read, so that the marks of others are never
lost; on a conflict the reconcile is called again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, Generic, Self, TypeVar

from controller_runtime.api.names import qualified_name_problems
from controller_runtime.api.objects import AnyObject, Cached, meta
from controller_runtime.api.resources import Resource
from controller_runtime.client.client import Client
from controller_runtime.controller.reconciler import Request
from controller_runtime.core.errors import ControllerRuntimeError, NotFound

T = TypeVar("T", bound=AnyObject)


def add_finalizers(client: Client, resource: Resource[Any], obj: AnyObject, names: Sequence[str]) -> Cached | None:
    """Hold the object by these finalizers; those it lacks come last, in their order.

    Returns:
        The object as it is now; None if it had them all, and nothing was written.

    Raises:
        Conflict: The object has changed since it was read.
        NotFound: It is gone.
        Invalid: It is being deleted, which takes no new finalizers.
    """
    present = meta(obj).finalizers or []
    missing = [name for name in dict.fromkeys(names) if name not in present]
    return _patch(client, resource, obj, [*present, *missing]) if missing else None


def remove_finalizers(client: Client, resource: Resource[Any], obj: AnyObject, names: Collection[str]) -> Cached | None:
    """Let the object go as far as these finalizers hold it; the others stay, in their order.

    Returns:
        The object as it is now, or was when it went; None if it had none of them or is gone.

    Raises:
        Conflict: The object has changed since it was read.
    """
    present = meta(obj).finalizers or []
    left = [name for name in present if name not in names]
    if left == present:
        return None
    try:
        return _patch(client, resource, obj, left)
    except NotFound:  # which is what was wanted
        return None


def _patch(client: Client, resource: Resource[Any], obj: AnyObject, finalizers: list[str]) -> Cached:
    metadata = meta(obj)
    patch = {"metadata": {"resourceVersion": metadata.resource_version, "finalizers": finalizers}}
    return client.patch(resource, Request(metadata.name, metadata.namespace), patch)


class Finalizers(Generic[T]):
    """The finalizers of one controller for one kind, and what each of them is for.

    A reconciler calls `handle` first:

        if self.finalizers.handle(obj):
            return Result()

    Args:
        client: Writes the marks.
        resource: The kind's collection.

    Threads: `register` before the controller starts; `handle` from any.
    """

    def __init__(self, client: Client, resource: Resource[Any]) -> None:
        self._client = client
        self._resource = resource
        self._finalize: dict[str, Callable[[T], None]] = {}

    def register(self, name: str, finalize: Callable[[T], None]) -> Self:
        """Have `finalize` called with an object that is being deleted, before it may go.

        Args:
            name: The mark, with a DNS prefix of one's own: `example.com/volume`.
            finalize: Undoes what was done for the object. It may be called again after it has
                succeeded, so what is undone already must be no error.

        Raises:
            ValueError: The name is registered already, or is no qualified name.
        """
        if problems := qualified_name_problems(name):
            raise ValueError(f"finalizer {name!r}: {problems[0]}")
        if name in self._finalize:
            raise ValueError(f"finalizer {name} is registered already")
        self._finalize[name] = finalize
        return self

    def handle(self, obj: T) -> bool:
        """Mark an object that lives; finalize one that is being deleted, in the order of registration.

        Once this returns, an object that lives is held: what needs undoing may be done.

        Returns:
            True if the object is being deleted, so that there is nothing else to do for it.

        Raises:
            Exception: What a finalizer raised, or an `ExceptionGroup` if several did. The others
                have been called all the same, and those that succeeded hold the object no longer.
            Conflict: The object has changed since it was read.
        """
        metadata = meta(obj)
        if metadata.deletion_timestamp is None:
            add_finalizers(self._client, self._resource, obj, [*self._finalize])
            return False
        present = metadata.finalizers or []
        done, failures = self._call([name for name in self._finalize if name in present], obj)
        try:
            remove_finalizers(self._client, self._resource, obj, done)
        except ControllerRuntimeError as failure:
            failures.append(failure)
        if len(failures) == 1:
            raise failures[0]
        if failures:
            raise ExceptionGroup(f"{self._resource} {metadata.name}: finalizers failed", failures)
        return True

    def _call(self, names: list[str], obj: T) -> tuple[list[str], list[Exception]]:
        done: list[str] = []
        failures: list[Exception] = []
        for name in names:
            try:
                self._finalize[name](obj)
            except Exception as failure:  # noqa: BLE001 (the others are called all the same, then `handle` raises it)
                failures.append(failure)
            else:
                done.append(name)
        return done, failures

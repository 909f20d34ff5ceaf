# SPDX-License-Identifier: Apache-2.0
"""Finalizers: names on an object that keep the server from removing it until each has been taken off.

Every edit is a patch that names the resourceVersion that was read. The list is replaced as a whole, so without that
resourceVersion the finalizers that other clients add at the same time would be lost. On a conflict the reconcile is
retried.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, Generic, Self, TypeVar

from controller_runtime.api.names import qualified_name_problems
from controller_runtime.api.objects import AnyObject, Cached, meta
from controller_runtime.api.resources import Kind
from controller_runtime.client.client import Client
from controller_runtime.controller.reconciler import Request
from controller_runtime.core.errors import ControllerRuntimeError, NotFound

T = TypeVar("T", bound=AnyObject)


def add_finalizers(client: Client, resource: Kind[Any], obj: AnyObject, names: Sequence[str]) -> Cached | None:
    """Add those of these finalizers that the object does not have, after the ones that it has.

    Returns:
        The object after the write; None if it had them all, and nothing was written.

    Raises:
        Conflict: The object has changed since it was read.
        NotFound: The object no longer exists.
        Invalid: The object is being deleted; the server allows no new finalizers then.
    """
    present = meta(obj).finalizers or []
    missing = [name for name in dict.fromkeys(names) if name not in present]
    return _patch(client, resource, obj, [*present, *missing]) if missing else None


def remove_finalizers(client: Client, resource: Kind[Any], obj: AnyObject, names: Collection[str]) -> Cached | None:
    """Remove these finalizers, and keep the order of those that stay.

    Once an object that is being deleted has no finalizer left, the server deletes it.

    Returns:
        The object after the write; None if it had none of them, or no longer exists.

    Raises:
        Conflict: The object has changed since it was read.
    """
    present = meta(obj).finalizers or []
    left = [name for name in present if name not in names]
    if left == present:
        return None
    try:
        return _patch(client, resource, obj, left)
    except NotFound:  # it was deleted, which is what its finalizers waited for
        return None


def _patch(client: Client, resource: Kind[Any], obj: AnyObject, finalizers: list[str]) -> Cached:
    metadata = meta(obj)
    patch = {"metadata": {"resourceVersion": metadata.resource_version, "finalizers": finalizers}}
    return client.patch(resource, Request(metadata.name, metadata.namespace), patch)


class Finalizers(Generic[T]):
    """The finalizers of one controller for one kind, with the function that each stands for.

    A reconciler calls `handle` first:

        if self.finalizers.handle(obj):
            return Result()

    Args:
        client: Writes the finalizers.
        resource: The collection of the objects.

    Threads: `register` before the controller starts; `handle` from any.
    """

    def __init__(self, client: Client, resource: Kind[Any]) -> None:
        self._client = client
        self._resource = resource
        self._finalize: dict[str, Callable[[T], None]] = {}

    def register(self, name: str, finalize: Callable[[T], None]) -> Self:
        """Register a function to call with an object that is being deleted, before the server removes it.

        Args:
            name: The finalizer, with a DNS prefix of your own: `example.com/volume`.
            finalize: Undoes what was done for the object. It may be called again after it has succeeded, so it
                must not fail because there is nothing left to undo.

        Raises:
            ValueError: The name is registered already, or is not a qualified name.
        """
        if problems := qualified_name_problems(name):
            raise ValueError(f"finalizer {name!r}: {problems[0]}")
        if name in self._finalize:
            raise ValueError(f"finalizer {name} is registered already")
        self._finalize[name] = finalize
        return self

    def handle(self, obj: T) -> bool:
        """Add the finalizers, or if the object is being deleted call their functions in the order of registration.

        When this returns False, the object has the finalizers: work that has to be undone later may begin.

        Returns:
            True if the object is being deleted, so that there is nothing else to do for it.

        Raises:
            Exception: The error of a finalizer's function, or an `ExceptionGroup` if several failed. The other
                functions have been called all the same, and the finalizers of those that succeeded are removed.
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
        """Call these functions, and return the names of those that succeeded and the errors of the others."""
        done: list[str] = []
        failures: list[Exception] = []
        for name in names:
            try:
                self._finalize[name](obj)
            except Exception as failure:  # noqa: BLE001  a user's function ends here: the others are called too, then `handle` raises
                failures.append(failure)
            else:
                done.append(name)
        return done, failures

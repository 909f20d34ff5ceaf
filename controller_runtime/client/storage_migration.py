# SPDX-License-Identifier: Apache-2.0
"""Rewrites the stored objects of a custom resource, so that older versions can leave its definition."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

import attrs

from apimachinery.errors import (
    APIError,
    Conflict,
    ConnectionLost,
    NotFound,
    ServerError,
    TooManyRequests,
    UsageError,
)
from apimachinery.objects import ObjectKey, PartialObjectMetadata
from apimachinery.stop import Stop
from controller_runtime.client.client import Client
from controller_runtime.core.backoff import Backoff
from controller_runtime.crd.definitions import DEFINITIONS
from controller_runtime.crd.storage import ANNOTATION, Place, StoragePlan, note_of, plan_storage, resumed_after

T = TypeVar("T")

NOTE_EVERY = 500
"""The number of objects after which the progress is saved. After `kill -9`, at most so many are rewritten twice."""

_RETRY = Backoff(initial=0.5, factor=2.0, cap=30.0, jitter=0.5)
_TRIES = 8  # about two minutes, in which an API server restarts
_PASSING = (ConnectionLost, ServerError, TooManyRequests)


class Progress(NamedTuple):
    """The progress of a migration.

    Attributes:
        done: The number of objects that need no more work: rewritten, or written or deleted by other clients.
        total: The number of objects at the beginning.
        failed: The reason by key, for objects that could not be rewritten.
    """

    done: int
    total: int
    failed: Mapping[ObjectKey, str]


@attrs.define(eq=False)
class StorageMigration:
    """Rewrites the stored objects of one CustomResourceDefinition, then prunes its `status.storedVersions`.

    An object is rewritten by a patch that changes nothing but names the version that was read: the server stores it
    again. A conflict means that another client has stored the object already. Transient errors are retried for two
    minutes. The progress is kept in an annotation of the definition, and a later migration continues from it.

    Args:
        client: Reads and writes; it must not be bound to a leadership.
        name: The name of the definition, such as `cabins.example.com`.
        rate: The most objects per second.
        accept_loss: Do not refuse a migration by which fields would be lost; see `plan_storage`.
        report: Called with the progress at the beginning, every `NOTE_EVERY` objects, and at the end.

    Threads: one.
    """

    client: Client
    name: str
    rate: float = attrs.field(default=100.0, validator=attrs.validators.gt(0))
    accept_loss: bool = False
    report: Callable[[StoragePlan, Progress], None] = lambda plan, progress: None

    def plan(self, stop: Stop) -> tuple[StoragePlan, Progress]:
        """Return the plan and the progress with which `run` would begin, and change nothing.

        Raises:
            UsageError: There is no such definition, or it cannot be migrated; see `plan_storage`.
            APIError: The server refuses a request.
        """
        plan, definition = self._read(stop)
        objects = self._objects(plan, stop) if plan.pruned else []
        after = resumed_after(plan, definition)
        return plan, Progress(sum(_place(one) <= after for one in objects) if after else 0, len(objects), {})

    def run(self, stop: Stop) -> tuple[StoragePlan, Progress]:
        """Rewrite all objects, then prune `status.storedVersions`; return the plan and the final progress.

        Nothing is pruned if an object could not be rewritten, or if `stop` was set before the end.

        Args:
            stop: Ends the migration after the current object; the progress is saved.

        Raises:
            UsageError: There is no such definition, it cannot be migrated, or it has changed meanwhile.
            APIError: The server refuses a request.
            ConnectionLost: The server could not be reached for two minutes.
        """
        plan, definition = self._read(stop)
        if not plan.pruned:
            self._forget(definition, stop)
            return plan, Progress(0, 0, {})
        objects = sorted(self._objects(plan, stop), key=_place)
        after = resumed_after(plan, definition)
        todo = [one for one in objects if after is None or _place(one) > after]
        failed: dict[ObjectKey, str] = {}
        progress = Progress(len(objects) - len(todo), len(objects), failed)
        self.report(plan, progress)
        last: Place | None = None
        for number, one in enumerate(todo, start=1):
            begun = self.client.host.monotonic()
            if stop.is_set():
                break
            key = ObjectKey(one.metadata.name, one.metadata.namespace or "")
            if reason := self._rewrite(plan, one, key, stop):
                failed[key] = reason
            else:
                progress = progress._replace(done=progress.done + 1)
            # A note says that everything before it is done, so there is none after a failure.
            last = last if failed else _place(one)
            if number % NOTE_EVERY == 0 and number < len(todo):
                self._note(plan, last, stop)
                self.report(plan, progress)
            stop.wait_until(begun + 1 / self.rate)
        self._note(plan, last, stop)
        if progress.done == progress.total:
            self._prune(plan, stop)
        self.report(plan, progress)
        return plan, progress

    def _read(self, stop: Stop) -> tuple[StoragePlan, dict[str, Any]]:
        try:
            definition = self._retried(lambda: self.client.get(DEFINITIONS, ObjectKey(self.name)), stop)
        except NotFound as error:
            raise UsageError(f"there is no definition {self.name} on the server: name it as PLURAL.GROUP") from error
        return plan_storage(definition, accept_loss=self.accept_loss), definition

    def _objects(self, plan: StoragePlan, stop: Stop) -> list[PartialObjectMetadata]:
        return self._retried(lambda: self.client.list(plan.resource.only_metadata()), stop)

    def _rewrite(self, plan: StoragePlan, one: PartialObjectMetadata, key: ObjectKey, stop: Stop) -> str:
        """Have the server store one object again, and return why it does not; empty if it did."""
        patch = {"metadata": {"uid": one.metadata.uid, "resourceVersion": one.metadata.resource_version}}
        try:
            self._retried(lambda: self.client.patch(plan.resource, key, patch), stop)
        except (Conflict, NotFound):  # written or deleted by another client
            return ""
        except _PASSING:
            raise
        except APIError as error:
            return str(error)
        return ""

    def _note(self, plan: StoragePlan, last: Place | None, stop: Stop) -> None:
        if last is not None:
            self._annotate(note_of(plan, last), stop)

    def _annotate(self, text: str | None, stop: Stop) -> None:
        patch = {"metadata": {"annotations": {ANNOTATION: text}}}
        self._retried(lambda: self.client.patch(DEFINITIONS, ObjectKey(self.name), patch), stop)

    def _prune(self, plan: StoragePlan, stop: Stop) -> None:
        """Remove the older versions from `status.storedVersions`, if the definition is still the one of the plan."""
        while True:
            now, definition = self._read(stop)
            if now.generation != plan.generation:
                raise UsageError(f"{self.name} has changed meanwhile: run the migration again")
            version = definition["metadata"]["resourceVersion"]
            patch = {"metadata": {"resourceVersion": version}, "status": {"storedVersions": [plan.storage]}}
            write = functools.partial(self.client.patch, DEFINITIONS, ObjectKey(self.name), patch, subresource="status")
            try:
                self._retried(write, stop)
            except Conflict:
                continue
            self._forget(definition, stop)
            return

    def _forget(self, definition: Mapping[str, Any], stop: Stop) -> None:
        if ANNOTATION in (definition["metadata"].get("annotations") or {}):
            self._annotate(None, stop)

    def _retried(self, call: Callable[[], T], stop: Stop) -> T:
        failures = 0
        while True:
            try:
                return call()
            except _PASSING as error:
                failures += 1
                if failures == _TRIES:
                    raise
                at_least = (error.retry_after or 0.0) if isinstance(error, APIError) else 0.0
                if stop.wait(max(at_least, _RETRY.delay(failures, self.client.host.random))):
                    raise


def _place(one: PartialObjectMetadata) -> Place:
    return one.metadata.namespace or "", one.metadata.name

# SPDX-License-Identifier: Apache-2.0
"""Writes the condition that sums up the dependents of a primary, and other fields of its status with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import msgspec

from apimachinery.errors import TerminalError
from apimachinery.host import Clock
from apimachinery.objects import ObjectKey, ObjectMeta
from controller_runtime.api.conditions import conditions_of
from controller_runtime.api.differ import merge_patch
from controller_runtime.api.resources import Resource
from controller_runtime.cache.observed import ObservedReads
from controller_runtime.client.bodies import encoded
from controller_runtime.client.client import Client
from controller_runtime.dependents.memory import PrimaryMemory
from controller_runtime.dependents.summary import with_readiness


@attrs.frozen
class StatusWriter:
    """Writes the status of primaries.

    Attributes:
        clock: The source of the time of transitions.
        client: Sends the writes.
        resource: The resource of the primaries.
        store: The cache of the primaries.
        condition: The type of the condition.

    Threads: any; one primary on one thread at a time.
    """

    clock: Clock
    client: Client
    resource: Resource[Any]
    store: ObservedReads
    condition: str

    def write(
        self, owner: ObjectMeta, reason: str, message: str, status: Mapping[str, Any], memory: PrimaryMemory
    ) -> None:
        """Write the condition and the fields in `status` in one patch, as far as they differ; send nothing if none
        differs.

        The patch requires the resourceVersion from which it was made, because it replaces the list of conditions.

        Args:
            owner: The metadata of the primary from which the dependents were computed.
            reason: The reason of the condition: `Ready`, or why the primary is not ready.
            message: The message of the condition, for people.
            status: Additional fields of the status, by their JSON names.
            memory: The memory of the primary, which has the version of the last write.

        Raises:
            Conflict: Another client has changed the primary meanwhile.
            TerminalError: The kind has no `status.conditions`.
        """
        key = ObjectKey(owner.name, owner.namespace)
        if memory.status_resets == self.store.resets and self.store.behind(memory.status_version):
            return  # the cache has yet to show our last write, and that causes the next reconcile
        present = self.store.get(key)
        if present is None or present.uid != owner.uid:
            return
        conditions = with_readiness(
            conditions_of(present),
            reason,
            message,
            kind=self.condition,
            now=self.clock.now(),
            generation=owner.generation,
        )
        wanted = {**msgspec.json.decode(encoded(status)), "conditions": conditions}
        old = msgspec.json.decode(present.raw).get("status") or {}
        patch = merge_patch({name: old.get(name) for name in wanted}, wanted)
        if not patch:
            return
        body = {"metadata": {"resourceVersion": present.resource_version}, "status": patch}
        answer = self.client.patch(self.resource, key, body, subresource="status")
        if not any(each.get("type") == self.condition for each in conditions_of(answer)):
            raise TerminalError(f"{self.resource}: the kind has no field status.conditions, so the server dropped it")
        memory.status_version, memory.status_resets = answer.resource_version, self.store.resets

# SPDX-License-Identifier: Apache-2.0
"""Release of deleted claims that no pod uses, and of deleted volumes that no claim is bound to."""

from __future__ import annotations

from typing import Any

from embedded_apiserver.admission.small_steps import FINALIZERS
from embedded_apiserver.groups.pods.kinds import POD
from embedded_apiserver.groups.storage.kinds import VOLUME
from embedded_apiserver.storage.storage import Storage
from embedded_apiserver.storage.stored import Stored
from embedded_apiserver.upkeep.internal_client import InternalClient
from embedded_apiserver.upkeep.ownership import Item, meta_of

USER_AGENT = "pvc-protection-controller"


class ProtectionController:
    """Removes the protection finalizers of deleted claims and volumes that are no longer used.

    It is used in the same way as `garbage.GarbageCollector`.

    Args:
        storage: The objects.
        client: Sends the writes.

    Attributes:
        due: The claims and volumes to check.

    Threads: one.
    """

    def __init__(self, storage: Storage, client: InternalClient) -> None:
        self._storage = storage
        self._client = client
        self._waiting: dict[Item, None] = {}
        self.due: dict[Item, None] = {}

    def see(self, item: Item, old: Stored | None, new: Stored | None) -> None:
        """Record a volume claim or volume that is being deleted; a change of a pod makes all of them due again."""
        if item.kind in FINALIZERS:
            if new is not None and meta_of(new).deletion_timestamp:
                self._waiting[item] = self.due[item] = None
            elif new is None:
                self._waiting.pop(item, None)
        elif item.kind == POD and self._waiting:
            self.due.update(self._waiting)

    def look(self, item: Item) -> bool:
        """Remove the finalizer of a deleted claim or volume if it is unused; return False if it must be checked
        again.
        """
        found = self._storage.get(item.kind.resource, item.key)
        if found is None:
            return True
        meta, finalizer = meta_of(found), FINALIZERS[item.kind]
        if not meta.deletion_timestamp or finalizer not in meta.finalizers or self._is_used(item, found.decode()):
            return True
        left = [one for one in meta.finalizers if one != finalizer]
        return self._client.patch(item, meta, {"finalizers": left})

    def _is_used(self, item: Item, obj: dict[str, Any]) -> bool:
        if item.kind == VOLUME:
            return bool(obj.get("status", {}).get("phase") == "Bound")
        namespace, _, name = item.key.rpartition("/")
        return any(_uses(pod.decode(), name) for pod in self._storage.read(POD.resource, f"{namespace}/").items)


def _uses(pod: dict[str, Any], claim: str) -> bool:
    """Return whether a pod that has not finished names a claim in its volumes."""
    if pod.get("status", {}).get("phase") in ("Succeeded", "Failed"):
        return False
    volumes = pod.get("spec", {}).get("volumes") or ()
    return any(volume.get("persistentVolumeClaim", {}).get("claimName") == claim for volume in volumes)

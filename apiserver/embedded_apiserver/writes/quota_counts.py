# SPDX-License-Identifier: Apache-2.0
"""The status of resource quotas: the usage is counted at each write of an object that they limit.

On a cluster a controller counts it, a moment later. Here the status is right when the write is answered.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from apimachinery.equality import same_json
from apimachinery.host import Host
from embedded_apiserver.admission.quota_usage import hard_of
from embedded_apiserver.admission.resource_quota import kinds_of, used_of
from embedded_apiserver.groups.core.kinds import QUOTA
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.objects import Object, part
from embedded_apiserver.storage.storage import Storage
from embedded_apiserver.storage.stored import Draft, Stored
from embedded_apiserver.typed.quantity_text import quantity_text
from embedded_apiserver.writes.managed import Writer, updated

_WRITER = Writer("kube-apiserver", subresource="status")


class QuotaCounts:
    """Updates the status of resource quotas when objects that they limit are written.

    Args:
        host: The source of time and locks.
        storage: The objects.
        is_on: False to count nothing.

    Threads: any.
    """

    def __init__(self, host: Host, storage: Storage, *, is_on: bool) -> None:
        self._host = host
        self._storage = storage
        self._is_on = is_on
        # Held from the check of a write against the quotas of its namespace until the count after it, so that no two
        # writes pass with the same remainder. Namespaces without quotas never take it.
        self._lock = host.lock("apiserver/quotas")

    def concern(self, kind: Kind, namespace: str, *, dry_run: bool) -> bool:
        """Return whether a write of an object of this kind may change the usage of a quota in the namespace."""
        if not self._is_on or not kind.namespaced or dry_run:
            return False
        if kind == QUOTA:
            return True
        quotas = QUOTA.resource
        return not self._storage.is_empty(quotas) and bool(self._storage.read(quotas, f"{namespace}/").items)

    def counted(self, kind: Kind, namespace: str, *, dry_run: bool = False) -> AbstractContextManager[None]:
        """Return a context manager that updates the quotas of a namespace after the writes inside it.

        Meanwhile no other counted write to the namespace is possible.
        """
        return self._counting(namespace) if self.concern(kind, namespace, dry_run=dry_run) else nullcontext()

    @contextmanager
    def _counting(self, namespace: str) -> Iterator[None]:
        with self._lock:
            yield
            self._count(namespace)

    def _count(self, namespace: str) -> None:
        for item in self._storage.read(QUOTA.resource, f"{namespace}/").items:
            current: Stored | None = item
            while current is not None and not self._refresh(namespace, current):
                current = self._storage.get(QUOTA.resource, item.key)

    def _refresh(self, namespace: str, current: Stored) -> bool:
        """Write the present count into a quota; return False if another write came first."""
        old = current.decode()
        status = _status(self._storage, namespace, old)
        if "deletionTimestamp" in old["metadata"] or same_json(part(old, "status"), status):
            return True
        new = {**old, "status": status}
        made = updated(QUOTA, old, new, new, _WRITER, self._host.now())
        return self._storage.commit(QUOTA.resource, current.key, current, Draft.of(made)) is not None


def _status(storage: Storage, namespace: str, quota: Object) -> Mapping[str, Any]:
    hard = hard_of(quota)
    if not hard:
        return {}
    used = used_of(storage, namespace, quota, hard, kinds_of(hard))
    texts = {name: quantity_text(name, used[name]) for name in sorted(hard)}
    return {"hard": dict(part(part(quota, "spec"), "hard")), "used": texts}

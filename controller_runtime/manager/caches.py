# SPDX-License-Identifier: Apache-2.0
"""The caches of a manager: listers and informers that its controllers share, and their comparison with the server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from apimachinery.errors import UsageError
from apimachinery.host import Host
from controller_runtime.api.collection import Collection
from controller_runtime.api.resources import Kind
from controller_runtime.cache.audit import CacheAudit
from controller_runtime.cache.informer import Informer
from controller_runtime.cache.informers import Informers
from controller_runtime.cache.lister import Lister
from controller_runtime.cache.union import Union
from controller_runtime.client.listwatch import ListWatch
from controller_runtime.client.transport import Transport
from controller_runtime.manager.definitions import Definitions


class ManagerCaches:
    """Makes the listers and informers of a manager, and records into which classes each kind is decoded.

    Args:
        host: Creates the locks and threads.
        transport: Carries the requests of the audit.
        informers: The caches.
        definitions: Gets the cached classes, to compare them with the server's definitions.

    Attributes:
        is_audited: Whether `audit` was called.

    Threads: any.
    """

    def __init__(self, host: Host, transport: Transport, informers: Informers, definitions: Definitions) -> None:
        self._host, self._transport = host, transport
        self._informers, self._definitions = informers, definitions
        self.is_audited = False

    def lister(
        self, collections: Sequence[Collection], view: type[Any] | None, *, any_version: bool = False
    ) -> Lister[Any]:
        """Return a lister of collections of one kind; see `Manager.lister` and `Manager.union_lister`."""
        kinds = {collection.resource for collection in collections}
        if len(kinds) != 1:
            raise UsageError(f"a lister reads one kind, not {len(kinds)}: give collections of one resource")
        [resource] = kinds
        self._definitions.see(resource)
        stores = [informer.reads for informer in self._informers.each(*collections, any_version=any_version)]
        lister: Lister[Any] = Lister(stores[0] if len(stores) == 1 else Union(self._host, stores), resource, view)
        self._informers.note_view(resource, resource.default_view() if view is None else view)
        return lister

    def informer(
        self,
        resource: Kind[Any],
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        any_version: bool = False,
    ) -> Informer:
        """Return the informer of one collection; see `Manager.informer`."""
        collection = Collection(resource, namespace, label_selector, field_selector)
        self._definitions.see(collection.resource)
        informer = self._informers.of(collection, any_version=any_version)
        self._informers.note_view(collection.resource, dict)
        return informer

    def audit(self, *, every: float, most_objects: int | None) -> CacheAudit:
        """Return the runnable that compares the caches with the server; arguments as for `Manager.audit_caches`."""

        def source_of(informer: Informer) -> ListWatch:
            collection = attrs.evolve(informer.collection, resource=informer.resource.only_metadata())
            return ListWatch(self._host, self._transport, collection)

        audit = CacheAudit(self._host, self._informers, source_of, every=every, most_objects=most_objects)
        self.is_audited = True
        return audit

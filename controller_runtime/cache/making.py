# SPDX-License-Identifier: Apache-2.0
"""Makes the informers of a program, so that they share the memory of equal objects."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import attrs

from apimachinery.host import Host
from apimachinery.stop import Stop
from controller_runtime.api.resources import Resource
from controller_runtime.cache.bodies import Bodies
from controller_runtime.cache.body_requests import BodyRequests
from controller_runtime.cache.body_source import BodySource
from controller_runtime.cache.informer import Informer
from controller_runtime.cache.large import Readers
from controller_runtime.cache.options import CacheOptions
from controller_runtime.cache.scope import options_of_heads
from controller_runtime.cache.shared_informer import Key, Shared
from controller_runtime.cache.transforms import MANAGED_FIELDS, removes
from controller_runtime.cache.union import Peers
from controller_runtime.client.listwatch import ListWatch
from controller_runtime.client.request_threads import RequestThreads
from controller_runtime.client.transport import Transport


class Making:
    """Makes informers from their options.

    Args:
        host: The source of time, threads and locks.
        transport: Carries the informers' requests.

    Attributes:
        body_requests: How whole objects are requested for caches of metadata.

    Threads: those that hold the lock of the informers.
    """

    def __init__(self, host: Host, transport: Transport) -> None:
        self.body_requests = BodyRequests(lambda: transport, RequestThreads(host))
        self._host = host
        self._transport = transport
        self._peers: dict[Resource[Any], Peers] = {}

    def make(
        self, key: Key, options: CacheOptions, readers: Readers, bodies: Bodies | None, watched: Informer | None
    ) -> Shared:
        """Return a new informer with a count of one user.

        Args:
            key: The collection and linger of the informer.
            options: The options of the cache.
            readers: Returns the names of the classes into which readers decode the objects.
            bodies: Selects the objects that are kept whole; None for all.
            watched: The informer of the whole objects that `bodies` selects by a selector; None without one.
        """
        collection = key.collection
        source = None
        if bodies is not None:
            source = BodySource(self._host, collection, bodies, self.body_requests, options.transform, options.warn_at)
            options = options_of_heads(options)
            collection = attrs.evolve(collection, resource=collection.resource.only_metadata())
        drops = options.drop_managed_fields
        drops = removes(options.transform, MANAGED_FIELDS) if drops is None else drops
        listwatch = ListWatch(self._host, self._transport, collection, linger=key.linger, drop_managed_fields=drops)
        portion = options.portion
        listwatch.shards = None if portion is None else lambda: portion.selector
        peers = self._peers.setdefault(collection.resource, Peers(self._host))
        informer = Informer(self._host, listwatch, options, peers, readers, source)
        if source is not None:
            source.follow(informer.store, None if watched is None else watched.store)
        return Shared(informer, Stop(self._host, f"stop of {informer}"), options.any_version, watched)

    def set_peers(self, resource: Resource[Any], informers: Iterable[Informer]) -> None:
        """Let the stores of one resource share the memory of equal objects."""
        self._peers[resource].stores = tuple(one.store for one in informers if one.kept_resource == resource)

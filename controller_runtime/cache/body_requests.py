# SPDX-License-Identifier: Apache-2.0
"""Requests whole objects (bodies) from the server for caches that keep only the metadata of some objects."""

from __future__ import annotations

from collections.abc import Callable

import attrs

from apimachinery.errors import DecodeError, Expired, NotFound
from apimachinery.host import Host
from apimachinery.http import HTTPRequest
from apimachinery.objects import Cached, PlainKey, cached_from_bytes
from controller_runtime.api.collection import Collection
from controller_runtime.cache.bodies import FIRST, Body, Seen, judged, next_page
from controller_runtime.cache.transforms import Transform, transformed
from controller_runtime.client.answers import check
from controller_runtime.client.listwatch import ListWatch
from controller_runtime.client.missing_kinds import explained
from controller_runtime.client.paging import ListBounds, Paging
from controller_runtime.client.request_threads import RequestThreads
from controller_runtime.client.transport import Transport
from controller_runtime.client.user_agent import user_agent
from controller_runtime.client.warnings import Warnings

TIMEOUT = 30.0
"""The timeout of one request in seconds, as for a `Client`. The transport shortens it to the deadlines of reconciles
and leaderships.
"""


@attrs.frozen
class BodyRequests:
    """The means by which bodies (whole objects) are requested: those of the program's client, with its deadlines, its
    fence and its limits.

    Attributes:
        transport: Returns the transport that carries the requests.
        threads: The threads on which requests of coroutines are sent.
    """

    transport: Callable[[], Transport]
    threads: RequestThreads


class BodyFetcher:
    """Requests the bodies of a collection's objects: whole objects of which the cache keeps only the metadata.

    A body is compared with the metadata in the cache (the head), since the object may have changed or been deleted
    meanwhile. No lock is held during a request.

    Args:
        host: The source of the time.
        collection: The collection of the objects.
        requests: The transport and the threads for the requests.
        transform: Changes each body before it is used; None for no change.

    Threads: any.
    """

    def __init__(self, host: Host, collection: Collection, requests: BodyRequests, transform: Transform | None) -> None:
        self._host = host
        self._collection = collection
        self._requests = requests
        self._transform = transform
        self._warnings = Warnings(host)

    def one(self, head: Cached, seen: Seen) -> Body:
        """Request the object of a head by its name, and return its body.

        Args:
            head: The metadata in the cache.
            seen: The part of the server's history that the cache has seen by now.

        Raises:
            StaleCache: The server's object is older than the head.
            NoSuchKind: The server does not serve the kind any more.
            APIError: The server refused the request, or a proxy answered it with an error of its own.
            ConnectionLost: There was no answer.
            DecodeError: The body cannot be read.
        """
        return judged(self._asked(head), head, seen)

    def _asked(self, head: Cached) -> Cached | None:
        resource = self._collection.resource
        path = resource.path(head.namespace, head.name)
        headers = {"user-agent": user_agent(self._host), "accept": "application/json"}
        deadline = self._host.monotonic() + TIMEOUT
        answer = self._requests.transport().request(HTTPRequest("GET", path, (), headers), deadline)
        self._warnings.log_new(answer, path)
        try:
            return transformed(cached_from_bytes(check(answer).body), self._transform)
        except NotFound as error:
            # A proxy's page says nothing about the object, and work may clean up after an absence.
            if error.reason and error.details.get("name") == head.name:
                return None
            raise explained(error, resource) from None

    def listed(
        self, absent: dict[PlainKey, Cached], seen: Seen, namespace: str, label_selector: str
    ) -> dict[PlainKey, Body]:
        """Request a list page by page, and return the bodies of the objects in `absent`, by key.

        If the list expires before its end, the heads of objects that it has not brought are missing from the result.

        Args:
            absent: The heads of the objects whose bodies the cache lacks, by key.
            seen: The part of the server's history that the cache has seen by now.
            namespace: The namespace that they are all in; empty if unknown.
            label_selector: The selector that they all match; empty if unknown.

        Raises:
            DecodeError: The list has no end, or an object that cannot be read.
            ControllerRuntimeError: A request failed; the errors are those of `one`.
        """
        # Any state is right that the heads are not newer than; it spares the server a list from etcd.
        source = self._source(namespace, label_selector)
        found: dict[PlainKey, Body] = {}
        paging, token, most = Paging(self._collection, ListBounds(), FIRST), "", FIRST
        while len(found) < len(absent):
            try:
                page = source.list(seen.version, continue_token=token, most=most)
            except Expired as error:  # the list took too long
                if error.continue_token in ("", token):
                    return found
                token = error.continue_token  # it goes on from here, at a newer version
                continue
            paging.pause_after(page)  # refuses a list without an end; the client's own limits set the pace
            if page.undecodable:  # its key is unknown, and an object must not seem absent because of it
                raise DecodeError(f"{self._collection}: {page.undecodable[0].text}")
            for cached in page.items:
                head = absent.get(cached.plain_key)
                if head is not None:
                    found[head.plain_key] = judged(transformed(cached, self._transform), head, seen)
            token, most = page.continue_token, next_page(len(page.items), sum(cached.size for cached in page.items))
            if not token:
                break
        return {key: found.get(key) or Body(head.uid, seen, None) for key, head in absent.items()}

    def _source(self, namespace: str, label_selector: str) -> ListWatch:
        labels = ",".join(filter(None, (self._collection.label_selector, label_selector)))
        collection = attrs.evolve(
            self._collection, namespace=namespace or self._collection.namespace, label_selector=labels
        )
        return ListWatch(self._host, self._requests.transport(), collection, warnings=self._warnings)

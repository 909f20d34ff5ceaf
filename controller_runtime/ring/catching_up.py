# SPDX-License-Identifier: Apache-2.0
"""Waits, before slots are taken, until the caches show each write that their last owner made.

Versions of two kinds cannot be compared by contract. So once no claim of another member has a slot any more, one
consistent list of one object of each kind gives a version of that kind which is later than all writes of that owner. A
cache reaches it with the next change of its kind, or the next bookmark. If none comes, the slots are taken after the
patience: whether the cache is behind is then unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs

from apimachinery.errors import APIError, ConnectionLost, DecodeError
from apimachinery.host import Host
from apimachinery.log import get_logger
from controller_runtime.cache.informer import Informer
from controller_runtime.client.listwatch import ListWatch
from controller_runtime.client.transport import Transport
from controller_runtime.ring.slots import count

log = get_logger(__name__)


@attrs.frozen
class _Awaited:
    """Some slots, the versions that the caches are to reach before these are taken, and until when they are awaited."""

    slots: int
    versions: Sequence[tuple[Informer, str]]
    until: float

    @property
    def is_reached(self) -> bool:
        return all(not informer.store.behind(version) for informer, version in self.versions)


class CatchingUp:
    """Decides which slots a member may take: those for which its caches show all writes of the slots' last owners.

    Sets of slots are bit sets.

    Args:
        host: The source of the time.
        transport: Carries the list requests.
        informers: Returns the caches that reconciles of the ring read.
        patience: The most seconds to wait for the caches; then the slots are taken anyway.
        on_behind: Called with slots that are taken although a cache may be out of date.

    Threads: that of the ring's member.
    """

    def __init__(
        self,
        host: Host,
        transport: Transport,
        informers: Callable[[], Sequence[Informer]],
        patience: float,
        on_behind: Callable[[int], None],
    ) -> None:
        self._host, self._transport, self._informers = host, transport, informers
        self._patience, self._on_behind = patience, on_behind
        self._awaited: list[_Awaited] = []

    def ready(self, slots: int) -> int:
        """Return those of `slots` that may be taken now; no other member must own any of them.

        A slot that is missing in one call and comes back later is waited for again, since another member may have owned
        it in between.
        """
        awaited = [attrs.evolve(each, slots=each.slots & slots) for each in self._awaited if each.slots & slots]
        known = 0
        for each in awaited:
            known |= each.slots
        if new := slots & ~known:
            awaited.append(self._ask(new))
        ready, now, self._awaited = 0, self._host.monotonic(), []
        for each in awaited:
            if not each.is_reached and now < each.until:
                self._awaited.append(each)
                continue
            if not each.is_reached:
                log.info("takes slots with a cache that may be behind", slots=count(each.slots))
                self._on_behind(each.slots)
            self._awaited.append(attrs.evolve(each, versions=()))  # until they are claimed
            ready |= each.slots
        return ready

    def _ask(self, slots: int) -> _Awaited:
        until = self._host.monotonic() + self._patience
        versions = []
        for informer in self._informers():
            left = max(0.0, until - self._host.monotonic())
            source = ListWatch(self._host, self._transport, informer.collection, request_timeout=left)
            try:
                versions.append((informer, source.list(most=1).version))
            except (APIError, ConnectionLost, DecodeError) as error:
                log.warning("no version to await", kind=informer.resource, error=error)
                versions.append((informer, _NEVER))
        return _Awaited(slots, versions, until)


_NEVER = "9" * 40
"""A version that no cache reaches: the server did not tell one, so the wait lasts as long as it may."""

# SPDX-License-Identifier: Apache-2.0
"""The requests of slots that a member takes, made slot by slot on a thread of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs

from apimachinery.errors import UsageError
from apimachinery.host import Host
from apimachinery.objects import Cached
from apimachinery.stop import Stop
from controller_runtime.api.resources import Resource
from controller_runtime.cache.informer import Informer
from controller_runtime.cache.informers import Informers
from controller_runtime.cache.lister import Lister
from controller_runtime.cache.share import Share
from controller_runtime.cache.union import stores_of
from controller_runtime.controller.channel import Channel
from controller_runtime.ring.division import OwnSlots
from controller_runtime.ring.slots import ALL

_HELD_BACK = 1_000_000
"""Requests of slots that come before their controller has started, at most."""


@attrs.frozen
class _Requested:
    """The objects of one kind that are requested, and where the requests go."""

    lister: Lister[Any]
    channel: Channel


class SlotRequests:
    """Requests a reconcile of each object of newly taken slots, and drops the objects of lost slots from caches.

    Both take a time that grows with the number of objects, so they run on a separate thread: the thread that renews the
    member's lease must not wait. An index of each cache has the slots of the objects. If a slot is taken while others
    are still being requested, it is served in the order of slot numbers, after the last one. So a membership that ends
    early and begins again does not request the same first slots each time.

    Args:
        host: Creates the lock.
        name: The ring's name.
        informers: The manager's caches.
        division: Assigns objects to slots.
        owns: Returns whether this replica owns a slot now.

    Attributes:
        name: The name of the thread.
        kinds: The kinds whose keys are requests, and those whose caches are divided.

    Threads: `run` on its own thread, everything else on any.
    """

    def __init__(
        self, host: Host, name: str, informers: Informers, division: OwnSlots, owns: Callable[[int], bool]
    ) -> None:
        self.name, self._index = f"ring/{name}/requests", f"ring/{name}"
        self.kinds: set[Resource[Any]] = set()
        self._host, self._informers, self._division, self._owns = host, informers, division, owns
        self._indexed: set[Informer] = set()  # of the thread that builds the program
        self._requested: tuple[_Requested, ...] = ()  # replaced as a whole
        # Guards the fields below; `run` waits on it.
        self._condition = host.condition(self.name)
        self._taken = 0
        self._narrowed: list[Share] = []
        self._next = 0  # the slot from which on the next one is looked for; of the thread of `run` alone

    def channel(self, lister: Lister[Any]) -> Channel:
        """Return a new channel that gets a request for each object of `lister` when its slot is taken.

        Raises:
            UsageError: Another manager made the lister.
        """
        informers = [informer for informer in self._informers if informer.reads in stores_of(lister.source)]
        if not informers:
            raise UsageError(f"{self._index} needs a lister of its own manager: make it by `manager.lister`")
        for informer in informers:
            if informer not in self._indexed:
                self._indexed.add(informer)
                informer.add_index(self._index, self._values)
        channel = Channel(self._host, capacity=_HELD_BACK)
        self._requested = (*self._requested, _Requested(lister, channel))
        self.kinds.add(lister.resource)
        return channel

    def channels(self, resource: object) -> Sequence[Channel]:
        """Return the channels that `channel` made for objects of the kind `resource`: one for each of its calls."""
        return [each.channel for each in self._requested if each.lister.resource == resource]

    def informers(self) -> Sequence[Informer]:
        """Return the caches of the ring's kinds."""
        return [informer for informer in self._informers if informer.collection.resource in self.kinds]

    def take(self, slots: int) -> None:
        """Request the objects of newly taken slots. It does not wait: the thread makes the requests."""
        with self._condition:
            self._taken |= slots
            self._condition.notify_all()

    def narrow(self, share: Share) -> None:
        """Let the thread drop the objects of slots that `share` no longer has from its caches. It does not wait."""
        with self._condition:
            self._narrowed.append(share)
            self._condition.notify_all()

    def run(self, stop: Stop) -> None:
        """Request the objects of taken slots, and drop those of lost slots, until `stop` is set."""
        stop.on_set(lambda: self.take(0))
        while not stop.is_set():
            with self._condition:
                while not (self._taken or self._narrowed or stop.is_set()):
                    self._condition.wait_until(None)
                shares, self._narrowed = self._narrowed, []
                slot = following(self._taken, self._next)
                self._taken &= ~(1 << slot) & ALL if slot is not None else ALL
            for share in dict.fromkeys(shares):
                share.drop_others()
            if slot is not None:
                self._request(slot)

    def _request(self, slot: int) -> None:
        if self._owns(slot):  # else it is requested when it is taken again
            self._next = slot + 1
            for each in self._requested:
                for key in each.lister.keys_by_index(self._index, str(slot)):
                    each.channel.push(key, cause="slot owned")

    def _values(self, cached: Cached) -> Sequence[str]:
        slot = self._division.slot_of(cached)
        return () if slot is None else (str(slot),)


def following(slots: int, start: int) -> int | None:
    """Return the first slot of a set at or after `start`; if there is none, the first slot of the set.

    None for an empty set.
    """
    rest = slots >> start << start or slots
    return (rest & -rest).bit_length() - 1 if rest else None

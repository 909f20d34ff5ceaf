# SPDX-License-Identifier: Apache-2.0
"""Shares: the objects of a kind that one of several replicas keeps in its caches, by the slots that it works for.

A share is a set of slots, as the bits of an integer, that changes while the caches run. When it grows, the caches list
again, and have filled the new slots once that list is complete. When it shrinks, they drop what is not in it any more,
and tell no handler: nothing has happened to those objects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from apimachinery.host import Host
from apimachinery.objects import Cached
from controller_runtime.client.decoding import Page


class Division(Protocol):
    """Divides the objects of a kind among slots; pure. Threads: any."""

    def slot_of(self, cached: Cached) -> int | None:
        """Return the slot of an object, by its header; None if no slot has it."""

    def selector(self, slots: int) -> str:
        """Return the `shardSelector` for the objects of some slots; empty if a server cannot choose them."""


def _nothing() -> None:
    """Do nothing: the default of a callback."""


class Portion:
    """The share of one cache.

    Args:
        host: Its lock.
        share: The share of the kind.
        wanted: The slots at first.

    Attributes:
        share: The share of the kind.
        on_widened: Called, with no lock held, when a list is needed.
        drop_others: Drops the objects that the cache should not have; called with no lock held.
        is_selected: Whether the server said that the last list was a shard; None before the first list.

    Threads: any; `pages` and `completed` the reflector's.
    """

    def __init__(self, host: Host, share: Share, wanted: int) -> None:
        self.share = share
        self.on_widened: Callable[[], None] = _nothing
        self.drop_others: Callable[[], None] = _nothing
        self.is_selected: bool | None = None
        # Guards the fields below.
        self._lock = host.lock("portion")
        self._wanted = wanted
        # The slots whose objects are in the cache, and those that the list under way brings. Both lose a slot at once
        # when it is not wanted, so that one which is wanted again is listed again.
        self._filled = 0
        self._coming = 0

    @property
    def filled(self) -> int:
        """The slots whose objects are in the cache."""
        return self._filled  # one number

    @property
    def lacks_slots(self) -> bool:
        """Whether it wants slots whose objects no complete list has brought yet."""
        with self._lock:  # the two change together
            return bool(self._wanted & ~self._filled)

    @property
    def selector(self) -> str:
        """The `shardSelector` to send now; empty for none."""
        return self.share.division.selector(self._wanted)  # one number

    def keeps(self, cached: Cached) -> bool:
        """Return whether the cache keeps an object."""
        slot = self.share.division.slot_of(cached)
        return slot is not None and bool(self._wanted >> slot & 1)  # one number; `want` removes what comes too late

    def want(self, slots: int) -> None:
        """Set the slots of which the cache shall have the objects."""
        with self._lock:
            before, self._wanted = self._wanted, slots
            self._filled &= slots
            self._coming &= slots
        if slots & ~before:
            self.on_widened()

    def pages(self, first: Callable[..., Page], pages: Callable[[], Iterator[Page]]) -> Iterator[Page]:
        """Return the pages of a list of what is wanted now, with the objects of the share only.

        Args:
            first: Lists one page of at most so many objects; all that is needed while nothing is wanted.
            pages: Lists all.
        """
        with self._lock:
            self._coming = self._wanted
        if not self._coming:  # a version to watch from
            yield first(most=1)._replace(items=[], undecodable=[])
            return
        for page in pages():
            self.is_selected = bool(page.shards)
            yield page._replace(items=[*filter(self.keeps, page.items)])

    def completed(self) -> None:
        """Note that the list of `pages` is in the cache."""
        with self._lock:
            self._filled, self._coming = self._coming, 0
        self.share.on_filled()


class Share:
    """The share of one replica in a kind.

    Args:
        host: For locks.
        division: Divides the objects of the kind among slots.
        on_filled: Called after the caches have filled slots; with no lock held, and on the caches' threads.
        on_narrowed: Called by `want`, with no lock held, when the caches have objects that they should not have:
            `drop_others` is to be called, on a thread that can wait. None drops them at once.

    Attributes:
        division: As given.
        on_filled: As given.

    Threads: any.
    """

    def __init__(
        self,
        host: Host,
        division: Division,
        on_filled: Callable[[], None] = _nothing,
        on_narrowed: Callable[[], None] | None = None,
    ) -> None:
        self.division = division
        self._on_narrowed = on_narrowed or self.drop_others
        self.on_filled = on_filled
        self._host = host
        # Guards the fields below.
        self._lock = host.lock("share")
        self._wanted = 0
        self._portions: list[Portion] = []

    def portion(self) -> Portion:
        """Add a cache, and return its portion."""
        with self._lock:
            portion = Portion(self._host, self, self._wanted)
            self._portions.append(portion)
        return portion

    def drop(self, portion: Portion) -> None:
        """Forget the share of a cache that has ended."""
        with self._lock:
            self._portions.remove(portion)

    def want(self, slots: int) -> int:
        """Set the slots of which all caches shall have the objects; return those that all of them have."""
        with self._lock:
            before, self._wanted = self._wanted, slots
            portions = [*self._portions]
        filled = slots
        for portion in portions:
            if slots != before:
                portion.want(slots)
            filled &= portion.filled
        if before & ~slots:
            self._on_narrowed()
        return filled

    def drop_others(self) -> None:
        """Drop from the caches the objects that are not in the share any more. It takes long if there are many."""
        with self._lock:
            portions = [*self._portions]
        for portion in portions:
            portion.drop_others()

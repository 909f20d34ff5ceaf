# SPDX-License-Identifier: Apache-2.0
"""Shares: the objects of a kind that one of several replicas keeps in its caches, by the slots that it works for.

A share is a set of slots, as the bits of an integer, that changes while the caches run. When it grows, the caches list
again; once that list is complete, the new slots are filled. When it shrinks, the caches drop the objects of the lost
slots without calling handlers, because nothing has happened to those objects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from apimachinery.host import Host
from apimachinery.objects import Cached
from controller_runtime.client.decoding import Page


class Division(Protocol):
    """Assigns the objects of a kind to slots of a ring. Its methods are pure. Threads: any."""

    def slot_of(self, cached: Cached) -> int | None:
        """Return the slot of an object, computed from its metadata; None if it belongs to no slot."""

    def selector(self, slots: int) -> str:
        """Return the `shardSelector` for the objects of some slots (bits); empty if a server cannot select them."""


def _nothing() -> None:
    """Do nothing: the default of a callback."""


class Portion:
    """The share of one cache: the slots of the ring whose objects it keeps. Sets of slots are bit sets.

    Args:
        host: Creates the lock.
        share: The share of this replica in the kind.
        wanted: The initial slots.

    Attributes:
        share: The share of this replica in the kind.
        on_widened: Called, with no lock held, when a new list is needed.
        drop_others: Removes objects that the cache should not have; called with no lock held.
        is_selected: Whether the server selected the objects of the last list by shard; None before the first list.

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
        """The slots whose objects are all in the cache."""
        return self._filled  # one number

    @property
    def lacks_slots(self) -> bool:
        """Whether the cache should have slots for which no list has been complete yet."""
        with self._lock:  # the two change together
            return bool(self._wanted & ~self._filled)

    @property
    def selector(self) -> str:
        """The `shardSelector` to send now; empty to send none."""
        return self.share.division.selector(self._wanted)  # one number

    def keeps(self, cached: Cached) -> bool:
        """Return whether the object belongs to a slot whose objects the cache should have."""
        slot = self.share.division.slot_of(cached)
        return slot is not None and bool(self._wanted >> slot & 1)  # one number; `want` removes what comes too late

    def want(self, slots: int) -> None:
        """Set the slots whose objects the cache should have."""
        with self._lock:
            before, self._wanted = self._wanted, slots
            self._filled &= slots
            self._coming &= slots
        if slots & ~before:
            self.on_widened()

    def pages(self, first: Callable[..., Page], pages: Callable[[], Iterator[Page]]) -> Iterator[Page]:
        """Yield the pages of a list, with only the objects of the slots that are wanted now.

        Args:
            first: Lists one page with at most `most` objects. It is used if no slot is wanted, because a watch still
                needs a version to begin with.
            pages: Lists all pages.
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
        """Record that the whole list of `pages` is in the cache."""
        with self._lock:
            self._filled, self._coming = self._coming, 0
        self.share.on_filled()


class Share:
    """The share of one replica in the objects of a kind: the caches keep the objects of some slots of the ring.

    A share has a `Portion` for each cache. `want` sets the slots.

    Args:
        host: Creates the locks.
        division: Assigns the objects of the kind to slots.
        on_filled: Called after the caches have filled slots; with no lock held, and on the caches' threads.
        on_narrowed: Called by `want`, with no lock held, when the caches have objects outside of the share. It should
            let a thread that can wait call `drop_others`. None drops them at once.

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
        """Return the portion (the slots to keep) of a new cache for the objects of this share."""
        with self._lock:
            portion = Portion(self._host, self, self._wanted)
            self._portions.append(portion)
        return portion

    def drop(self, portion: Portion) -> None:
        """Forget the portion (the slots to keep) of a cache that has ended."""
        with self._lock:
            self._portions.remove(portion)

    def want(self, slots: int) -> int:
        """Set the slots whose objects all caches should have; return those slots that all of them have filled."""
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
        """Remove the objects of slots that the share no longer has from the caches. It takes long if there are many."""
        with self._lock:
            portions = [*self._portions]
        for portion in portions:
            portion.drop_others()

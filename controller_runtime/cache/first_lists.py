# SPDX-License-Identifier: Apache-2.0
"""The first lists of several caches: where memory is short, one comes after another, the largest last.

While a cache fills, it needs memory that it gives back afterwards: for lines and pages under way, objects that are not
compressed yet, and the training of a dictionary. In turn, a program needs that once, and not for each cache.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from apimachinery.errors import ControllerRuntimeError
from apimachinery.host import Host
from apimachinery.log import get_logger
from apimachinery.stop import Stop
from controller_runtime.cache.large import USUAL_BOUND, bound_of
from controller_runtime.cache.shared_informer import Shared
from controller_runtime.client.decoding import Page
from controller_runtime.core.memory import memory_limit

log = get_logger(__name__)

TURN = 30.0
"""Seconds after which the next cache starts even if the previous one is not filled; a program has 120 s to start."""
_LOOK = 1.0
"""Seconds between two looks whether a cache whose turn it is was released."""


class Expected(NamedTuple):
    """A collection that is about to be listed.

    Attributes:
        place: Its index among the collections that are about to be listed.
        size: The expected size of its list, in bytes of JSON; None if that is unknown.
    """

    place: int
    size: int | None


def is_short(limit: int | None) -> bool:
    """Return whether the process may use less than 1 GiB of memory, so that first lists come one after another.

    Below that, one cache is also worth a warning at a smaller size; see `large.bound_of`.

    Args:
        limit: The memory limit of the process in bytes; None if there is none.
    """
    return bound_of(limit) < USUAL_BOUND


def in_turn(expected: Iterable[Expected]) -> list[int]:
    """Return the indices of the collections in the order of their first lists: smaller ones first, unknown ones
    last.
    """
    return [each.place for each in sorted(expected, key=lambda each: (each.size is None, each.size or 0, each.place))]


def size_of(page: Page) -> int | None:
    """Estimate the size of a whole collection from a page with its first object, in bytes of JSON; None if unknown.

    The page tells the number of the other objects, unless the list has selectors.
    """
    if page.continue_token and page.remaining is None:
        return None
    return sum(cached.size for cached in page.items) * (1 + (page.remaining or 0))


class FirstLists:
    """Starts the informers of a program, all at once or one after another.

    Args:
        host: The source of the time and the thread.
        one_by_one: Whether first lists come one after another; None to do so where memory is short.

    Threads: one.
    """

    def __init__(self, host: Host, one_by_one: bool | None) -> None:
        self._host = host
        self._is_one_by_one = is_short(memory_limit()) if one_by_one is None else one_by_one

    def takes_turns(self, waiting: Sequence[Shared]) -> bool:
        """Return whether these informers should start one after another, by `start_in_turn`."""
        return self._is_one_by_one and len(waiting) > 1

    def start_in_turn(self, waiting: Sequence[Shared], stop: Stop) -> None:
        """Start informers one after another, until `stop` is set.

        Each starts when the previous one has its first list, or after `TURN` seconds.
        """
        order = in_turn(Expected(place, _asked(shared)) for place, shared in enumerate(waiting))
        for place in order:
            if stop.is_set():
                return
            waiting[place].start(self._host, stop)
            self._wait(waiting[place], stop)

    def _wait(self, shared: Shared, stop: Stop) -> None:
        end = self._host.monotonic() + TURN
        while not (stop.is_set() or shared.stop.is_set()) and (now := self._host.monotonic()) < end:
            if shared.informer.wait_for_sync(stop, min(now + _LOOK, end)):
                return
        log.info("a cache starts before the one before it has filled", before=shared.informer, seconds=TURN)


def _asked(shared: Shared) -> int | None:
    try:
        return size_of(shared.informer.first_page())
    except ControllerRuntimeError:  # it is listed later, and says then what is wrong
        return None

# SPDX-License-Identifier: Apache-2.0
"""How much one list may bring and how quickly its pages are asked for, so that a broken server cannot go on forever.

A lawful list is never refused: its pages may be shorter than asked for, and even empty, for the API allows a
server to pass over what a selector excludes. Full pages are asked for without a pause.
"""

from __future__ import annotations

import attrs

from controller_runtime.client.decoding import Page
from controller_runtime.core.errors import DecodeError

_REMEDY = "if they are lawful, raise the bound (ListBounds)"


@attrs.frozen(kw_only=True)
class ListBounds:
    """The bounds of one list, paged, streamed or whole; a value, shared freely.

    Attributes:
        objects: Most objects. The default is more than ten times the 150,000 pods of the largest cluster for which
            Kubernetes is tested.
        size: Most bytes of them. The default, 8 GiB, is the largest database that etcd recommends for all objects of a
            cluster together. A program that must stay in less memory than that sets less.
        short_pages: Pages a second that may be asked for after pages with fewer objects than were asked for. The
            default, 20, is the rate at which Kubernetes' own controller manager may send requests.
        empty_pages: Most pages in a row without an object. At 500 objects a page, by default half a million objects
            that a selector excludes.

    Raises:
        ValueError: A bound is not positive.
    """

    objects: int = attrs.field(default=2_000_000, validator=attrs.validators.gt(0))
    size: int = attrs.field(default=8 * 1024**3, validator=attrs.validators.gt(0))
    short_pages: float = attrs.field(default=20.0, validator=attrs.validators.gt(0))
    empty_pages: int = attrs.field(default=1000, validator=attrs.validators.gt(0))


class Tally:
    """Counts what one list has brought.

    Args:
        what: The collection, for messages.
        bounds: What it may bring.

    Threads: one.
    """

    def __init__(self, what: object, bounds: ListBounds) -> None:
        self._what = what
        self._bounds = bounds
        self._objects = self._size = 0

    def add(self, objects: int, size: int) -> None:
        """Count `objects` more, of `size` bytes together.

        Raises:
            DecodeError: The list has brought more than it may.
        """
        self._objects += objects
        self._size += size
        for count, most, unit in (
            (self._objects, self._bounds.objects, "objects"),
            (self._size, self._bounds.size, "bytes"),
        ):
            if count > most:
                raise DecodeError(f"{self._what}: the list was given up: it has more than {most} {unit}; {_REMEDY}")


class Paging:
    """Follows one list through its pages: says how long to pause before the next, and refuses a list without end.

    Args:
        what: The collection, for messages.
        bounds: What it may bring.
        page_size: The objects asked for on each page.

    Threads: one.
    """

    def __init__(self, what: object, bounds: ListBounds, page_size: int) -> None:
        self._what = what
        self._bounds = bounds
        self._page_size = page_size
        self._tally = Tally(what, bounds)
        self._seen: set[int] = set()  # hashes of keys: a third of the memory, and one that collides does no harm
        self._token = ""
        self._empty = 0

    def pause_after(self, page: Page) -> float:
        """Return the seconds that must pass before the page after `page` is asked for.

        Raises:
            DecodeError: The list goes on without an end: it is followed by the page it was asked for with, brings
                objects again, brings nothing for too long, or is larger than it may be.
        """
        self._tally.add(len(page.items) + len(page.undecodable), sum(len(cached.raw) for cached in page.items))
        if not page.continue_token:
            return 0.0
        if page.continue_token == self._token:
            raise DecodeError(f"{self._what}: the list goes on where it went on before")
        self._token = page.continue_token
        self._require_progress(page)
        is_full = len(page.items) + len(page.undecodable) >= self._page_size
        return 0.0 if is_full else 1.0 / self._bounds.short_pages

    def _require_progress(self, page: Page) -> None:
        known = len(self._seen)
        self._seen.update(hash(cached.key) for cached in page.items)
        if page.items and len(self._seen) == known:
            raise DecodeError(f"{self._what}: the list was given up: a page has only objects of the pages before it")
        self._empty = 0 if page.items or page.undecodable else self._empty + 1
        if self._empty > self._bounds.empty_pages:
            raise DecodeError(f"{self._what}: the list was given up: {self._empty} pages in a row are empty")

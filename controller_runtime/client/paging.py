# SPDX-License-Identifier: Apache-2.0
"""Bounds of one list, so that a broken server cannot fill the memory or keep a client busy forever.

Every list that the API allows is accepted. In particular, its pages may be shorter than the limit, and even
empty, because a server may skip the objects that a selector excludes. Pages after full ones are asked for
without a pause.
"""

from __future__ import annotations

import attrs

from apimachinery.errors import DecodeError
from controller_runtime.client.decoding import Page

_REMEDY = "if they are legitimate, raise the bound (ListBounds)"


@attrs.frozen(kw_only=True)
class ListBounds:
    """The bounds of one list, whether paged, streamed or in one piece. It is a value, which can be shared.

    Attributes:
        objects: The most objects of a list. The default is more than ten times the 150,000 pods of the largest cluster
            for which Kubernetes is tested.
        size: The most bytes of these objects together. The default, 8 GiB, is the largest database that etcd
            recommends, which holds all objects of a cluster. A program with less memory needs a lower bound.
        short_pages: The most pages per second that are requested, after pages with fewer objects than were asked for.
            The default, 20, is the rate at which Kubernetes' own controller manager may send requests.
        empty_pages: The most consecutive pages without an object. The default, 1,000, allows half a million objects
            that a selector excludes, at 500 objects a page.

    Raises:
        ValueError: A bound is not positive.
    """

    objects: int = attrs.field(default=2_000_000, validator=attrs.validators.gt(0))
    size: int = attrs.field(default=8 * 1024**3, validator=attrs.validators.gt(0))
    short_pages: float = attrs.field(default=20.0, validator=attrs.validators.gt(0))
    empty_pages: int = attrs.field(default=1000, validator=attrs.validators.gt(0))


class ListTally:
    """Counts the objects of one list and their bytes.

    Args:
        what: The name of the collection, for messages.
        bounds: The bounds of the list.

    Threads: one.
    """

    def __init__(self, what: object, bounds: ListBounds) -> None:
        self._what = what
        self._bounds = bounds
        self._objects = self._size = 0

    def add(self, objects: int, size: int) -> None:
        """Count `objects` more, of `size` bytes together.

        Raises:
            DecodeError: The list is now beyond its bounds.
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
    """Checks the pages of one list: limits the rate of short pages, and refuses a list that does not end.

    Args:
        what: The name of the collection, for messages.
        bounds: The bounds of the list.
        page_size: The limit of objects on a page.

    Threads: one.
    """

    def __init__(self, what: object, bounds: ListBounds, page_size: int) -> None:
        self._what = what
        self._bounds = bounds
        self._page_size = page_size
        self._tally = ListTally(what, bounds)
        # Hashes of keys take a third of the memory of keys. A collision does no harm: a page is refused only if all of
        # its objects seem to be known.
        self._seen: set[int] = set()
        self._token = ""
        self._empty = 0

    def pause_after(self, page: Page) -> float:
        """Return the seconds that must pass between the request of `page` and that of the next page.

        Raises:
            DecodeError: The list does not end (a page has the continue token that it was requested with, or only
                objects of earlier pages, or too many pages are empty), or it is beyond the bounds.
        """
        self._tally.add(len(page.items) + len(page.undecodable), sum(len(cached.raw) for cached in page.items))
        if not page.continue_token:
            return 0.0
        if page.continue_token == self._token:
            raise DecodeError(f"{self._what}: the list was given up: a page continues with its own continue token")
        self._token = page.continue_token
        self._require_progress(page)
        is_full = len(page.items) + len(page.undecodable) >= self._page_size
        return 0.0 if is_full else 1.0 / self._bounds.short_pages

    def _require_progress(self, page: Page) -> None:
        known = len(self._seen)
        self._seen.update(hash(cached.plain_key) for cached in page.items)
        if page.items and len(self._seen) == known:
            raise DecodeError(f"{self._what}: the list was given up: a page has only objects of earlier pages")
        self._empty = 0 if page.items or page.undecodable else self._empty + 1
        if self._empty > self._bounds.empty_pages:
            raise DecodeError(f"{self._what}: the list was given up: {self._empty} pages in a row are empty")

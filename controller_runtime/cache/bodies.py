# SPDX-License-Identifier: Apache-2.0
"""Bodies of some: the option, and the decisions on a body that was kept or fetched, as pure functions.

A cache with this option keeps the metadata of all its objects, its heads. An object as a whole is its body.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import attrs

from apimachinery.errors import StaleCache, UsageError
from apimachinery.objects import Cached, ObjectMeta
from apimachinery.plain_functions import plain
from apimachinery.selectors import FieldSelector, LabelSelector
from controller_runtime.api.collection import Collection
from controller_runtime.api.versions import compare_versions
from controller_runtime.cache.packed import held_by

USUAL_MEMORY = 16 * 1024**2
"""Bytes of bodies that were read and are kept: 270 Secrets of 60 KB, of which an operator reads tens."""

_EMPTY = 200
"""Bytes of an entry without an object: its value, its key and its places in the cache's two dicts."""

PAGE = 4 * 1024**2
"""Bytes of a page of bodies that are aimed at; the API server's own pages of the watch cache are of a like size."""
MOST = 500
"""Most objects on a page, as in client-go."""
FIRST = 50
"""Objects on the first page, of which nothing is known."""
FEW = 10
"""Bodies that are asked for one by one, however small the collection."""
SHARE = 10
"""Pages are asked for once one in so many of their objects is missing. Else most of them would be unread."""


@attrs.frozen(kw_only=True)
class Bodies:
    """Which objects of a kind are kept whole, where a cache keeps the metadata of all of them; see `CacheScope.bodies`.

    Other objects are fetched when they are read, by one `get` each, and kept while there is room. A program that has
    neither selector nor function fetches all that it reads.

    Attributes:
        label_selector: The objects that are kept whole, by a second watch.
        field_selector: The same by fields.
        chosen: Returns by its metadata whether an object is kept whole. Each change of a chosen object costs one `get`
            on a thread of the cache, beside the watch of the metadata. It is pure, and an exception in it stops the
            program.
        memory: Most bytes of the other objects that were read, and are kept for the next read; the one that was not
            read for the longest goes first.

    Raises:
        UsageError: A selector is malformed, a selector and a function are given, or the function is an `async def`.
        ValueError: A negative `memory`.
    """

    label_selector: str = ""
    field_selector: str = ""
    chosen: Callable[[ObjectMeta], bool] | None = None
    memory: int = USUAL_MEMORY

    def __attrs_post_init__(self) -> None:
        plain("chosen of Bodies", self.chosen)
        if self.memory < 0:
            raise ValueError(f"memory ({self.memory}) must be zero or more")
        if self.has_selector and self.chosen is not None:
            raise UsageError("Bodies are chosen by selectors or by a function: give one of them")
        try:
            LabelSelector.parse(self.label_selector), FieldSelector.parse(self.field_selector)
        except ValueError as error:
            raise UsageError(f"Bodies: a selector cannot be read: {error}") from None

    @property
    def has_selector(self) -> bool:
        """Whether a second watch brings the chosen bodies."""
        return bool(self.label_selector or self.field_selector)

    def watched(self, collection: Collection) -> Collection | None:
        """Return the objects of a collection that a second watch brings; None if there is none."""
        if not self.has_selector:
            return None
        labels = ",".join(filter(None, (collection.label_selector, self.label_selector)))
        fields = ",".join(filter(None, (collection.field_selector, self.field_selector)))
        return attrs.evolve(collection, label_selector=labels, field_selector=fields).normalized()


class Seen(NamedTuple):
    """The part of the server's history that a cache of metadata has seen.

    Attributes:
        resets: The number of restores of the server's data.
        version: The resourceVersion that it has reached.
    """

    resets: int
    version: str


class Body(NamedTuple):
    """The answer to a request for a body.

    Attributes:
        uid: That of the object that was asked for.
        seen: The part of the server's history that the cache had seen when it asked.
        cached: The object; None if it was absent, or another one had its name.
    """

    uid: str
    seen: Seen
    cached: Cached | None

    @property
    def size(self) -> int:
        """The bytes of memory that it takes."""
        return _EMPTY + (0 if self.cached is None else held_by(self.cached))


def fits(body: Body, head: Cached, seen: Seen) -> bool:
    """Return whether a body answers a read of a head: it is that object, in its state or in one that is to come.

    A body that is newer than its head is lost once the cache has reached its version and the head has not: the server's
    data was restored from a backup without it. After a restore that made versions smaller, nothing counts that was
    fetched before. An absence counts until the cache has seen more: it is about to see the deletion.
    """
    if body.uid != head.uid or body.seen.resets != seen.resets:
        return False
    if body.cached is None:
        return body.seen == seen
    version = body.cached.resource_version
    order = compare_versions(version, head.resource_version)
    return order == 0 or (order > 0 and compare_versions(version, seen.version) > 0)


def judged(found: Cached | None, head: Cached, seen: Seen) -> Body:
    """Return the body of a head, after the server answered with `found`; None: it has no object of that name.

    Raises:
        StaleCache: The server's object is older than the head, because its data was restored from a backup.
    """
    if found is None or found.uid != head.uid:
        return Body(head.uid, seen, None)
    if compare_versions(found.resource_version, head.resource_version) < 0:
        raise StaleCache(
            f"{head.key}: the server has version {found.resource_version}, the cache of its metadata "
            f"{head.resource_version}: the server's data went back"
        )
    return Body(head.uid, seen, found)


def replaces(new: Body, old: Body | None) -> bool:
    """Return whether a fetched body takes the place of the one that is kept; another thread may have been quicker."""
    if old is None or old.uid != new.uid or old.seen.resets < new.seen.resets:
        return True
    if old.seen.resets > new.seen.resets:
        return False
    if new.cached is None or old.cached is None:
        return new.cached is None
    return compare_versions(new.cached.resource_version, old.cached.resource_version) >= 0


def by_pages(absent: int, objects: int) -> bool:
    """Return whether pages of a list bring the absent bodies of so many objects, and not a request for each."""
    return absent > FEW and absent * SHARE >= objects


def next_page(objects: int, size: int) -> int:
    """Return how many objects to ask for, after a page of `objects` with `size` bytes; see `PAGE`."""
    return FIRST if objects == 0 else max(1, min(MOST, PAGE * objects // max(size, 1)))

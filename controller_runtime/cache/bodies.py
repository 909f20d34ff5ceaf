# SPDX-License-Identifier: Apache-2.0
"""The option to keep only some objects whole, and the decisions on their bodies, as pure functions.

A cache with this option keeps the metadata of all its objects, called heads. An object as a whole is its body.
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
from controller_runtime.cache.packed import bytes_of

USUAL_MEMORY = 16 * 1024**2
"""The default memory for bodies that were read, in bytes: 270 Secrets of 60 KB, of which an operator reads tens."""

_EMPTY = 200
"""Bytes of an entry without an object: its value, its key and its places in the cache's two dicts."""

PAGE = 4 * 1024**2
"""The intended size of a page of bodies, in bytes; the pages of the API server's own watch cache are about as large."""
MOST = 500
"""The most objects on a page, as in client-go."""
FIRST = 50
"""The number of objects on the first page, when their sizes are not known."""
FEW = 10
"""The most missing bodies that are always requested one by one, even from a small collection."""
SHARE = 10
"""Bodies are requested by pages if at least one in this many objects is missing; otherwise most of a page would be
unused.
"""


@attrs.frozen(kw_only=True)
class Bodies:
    """Selects the objects that a cache of metadata keeps whole; see `CacheScope.bodies`.

    The cache has the metadata of all objects. An object that is not kept whole is fetched by a `get` when it is read,
    and kept while there is room; many objects at a time are listed instead, and not kept. Without selector and
    function, all objects are fetched so.

    Attributes:
        label_selector: Objects whose labels match are kept whole; a second watch brings them.
        field_selector: Objects whose fields match are kept whole; a second watch brings them.
        chosen: A pure function that gets the metadata of an object and returns whether to keep the object whole. Each
            change of such an object costs one `get`, on a thread of the cache. An exception in the function stops the
            program.
        memory: The most bytes of other objects that are kept after a read. The least recently read one is dropped
            first.

    Raises:
        UsageError: A selector is malformed, both a selector and a function are given, or the function is a
            coroutine function.
        ValueError: `memory` is negative.
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
        """Whether there is a selector, so that a second watch brings whole objects."""
        return bool(self.label_selector or self.field_selector)

    def watched(self, collection: Collection) -> Collection | None:
        """Return the part of a collection that the second watch brings; None if there is no selector."""
        if not self.has_selector:
            return None
        labels = ",".join(filter(None, (collection.label_selector, self.label_selector)))
        fields = ",".join(filter(None, (collection.field_selector, self.field_selector)))
        return attrs.evolve(collection, label_selector=labels, field_selector=fields).normalized()


class Seen(NamedTuple):
    """The point in the server's history that a cache of metadata has reached.

    Attributes:
        resets: How often the server's data was restored from a backup.
        version: The resourceVersion that the cache has reached.
    """

    resets: int
    version: str


class Body(NamedTuple):
    """The result of a request for a whole object (a body).

    Attributes:
        uid: The uid of the object that was asked for.
        seen: The point in the server's history that the cache had reached at the time of the request.
        cached: The object; None if it was absent, or another object had its name.
    """

    uid: str
    seen: Seen
    cached: Cached | None

    @property
    def size(self) -> int:
        """The memory that this result takes, in bytes."""
        return _EMPTY + (0 if self.cached is None else bytes_of(self.cached)[0])


def fits(body: Body, head: Cached, seen: Seen) -> bool:
    """Return whether a kept body may answer a read of an object whose metadata in the cache is `head`.

    It must be the same object, in the state of `head` or in a newer one. A newer body no longer counts once the cache
    (at `seen`) has reached its version without showing it: then the server's data was restored from a backup that
    lacks it. After a restore that made versions smaller, no earlier body counts. A body that says that the object is
    absent counts only until the version of the cache moves on.
    """
    if body.uid != head.uid or body.seen.resets != seen.resets:
        return False
    if body.cached is None:
        return body.seen == seen
    version = body.cached.resource_version
    order = compare_versions(version, head.resource_version)
    return order == 0 or (order > 0 and compare_versions(version, seen.version) > 0)


def judged(found: Cached | None, head: Cached, seen: Seen) -> Body:
    """Return the body for the metadata `head`, given the object that the server returned; None if it had none.

    Raises:
        StaleCache: The server's object is older than `head`, because its data was restored from a backup.
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
    """Return whether the fetched body `new` is at least as new as the kept body `old`, and so replaces it.

    Another thread may have fetched `old` later.
    """
    if old is None or old.uid != new.uid or old.seen.resets < new.seen.resets:
        return True
    if old.seen.resets > new.seen.resets:
        return False
    if new.cached is None or old.cached is None:
        return new.cached is None
    return compare_versions(new.cached.resource_version, old.cached.resource_version) >= 0


def by_pages(absent: int, objects: int) -> bool:
    """Return whether to fetch `absent` of `objects` objects by listing pages, rather than one by one."""
    return absent > FEW and absent * SHARE >= objects


def next_page(objects: int, size: int) -> int:
    """Return how many objects to request next, after a page of `objects` with `size` bytes; see `PAGE`."""
    return FIRST if objects == 0 else max(1, min(MOST, PAGE * objects // max(size, 1)))

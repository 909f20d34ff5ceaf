# SPDX-License-Identifier: Apache-2.0
"""Warnings about caches that take much memory, each with ways to make the cache smaller."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from apimachinery.log import get_logger
from controller_runtime.api.collection import Collection
from controller_runtime.api.resources import Resource
from controller_runtime.cache.sizes import Sizes
from controller_runtime.core.extras import remedy
from controller_runtime.core.memory import memory_limit

log = get_logger(__name__)

USUAL_BOUND = 256 * 1024**2
"""The size in bytes at which a cache causes a warning if the process has no lower limit: a usual limit of an operator's
container.
"""
SHARE = 0.25
"""The share of a process's memory limit at which one cache causes a warning, if that is below `USUAL_BOUND`."""


Readers = Callable[[], Iterable[str]]


def bound_of(limit: int | None) -> int:
    """Return the size in bytes at which a cache causes a warning.

    `limit` is the memory limit of the process, or None.
    """
    return USUAL_BOUND if limit is None else min(USUAL_BOUND, int(limit * SHARE))


def remedies(collection: Collection, *, can_compress: bool, is_compressed: bool) -> list[str]:
    """Return the ways to make a cache of `collection` smaller, each as a text with the code or command to use.

    Args:
        collection: The collection.
        can_compress: Whether the package for compression is installed.
        is_compressed: Whether the cache is compressed.
    """
    name = collection.resource.plural
    found = []
    if not can_compress:
        found.append(f"compress it: {remedy('lean')}")
    elif not is_compressed:
        found.append("compress it: manager.scope_caches(CacheScope(compress=True))")
    if not collection.resource.is_partial:
        found.append(f"keep metadata alone, if that is enough: lister({name}.only_metadata())")
        found.append(f"keep bodies of some: scope_caches(kinds={{{name}: CacheScope(bodies=Bodies())}})")
    if not (collection.label_selector or collection.field_selector):
        found.append(f"keep fewer objects: lister({name}, label_selector=…) or field_selector=…")
    if collection.resource.namespaced and not collection.namespace:
        found.append(f"keep some namespaces: lister({name}, namespace=…)")
    if not collection.resource.is_partial:
        found.append("drop fields that nothing reads: CacheScope(transform=without(('metadata', 'managedFields')))")
    return found


def readers_of(views: Callable[[], Mapping[Resource[Any], Iterable[type]]], resource: Resource[Any]) -> Readers:
    """Return a function that returns the names of the classes into which the objects of a resource are decoded."""
    return lambda: {view.__name__ for view in views().get(resource, ())}


class LargeCache:
    """Warns once if a cache takes more memory than a bound.

    Args:
        collection: The collection.
        bound: The bound in bytes; None for 256 MiB, or a quarter of the process's limit if that is less.
        readers: Returns the names of the classes into which readers decode the objects.

    Attributes:
        bound: The bound in bytes; infinite once the warning is due. Each write to the store compares its size with it,
            without a lock.

    Threads: `is_due` one at a time, under its owner's lock; the other methods any.
    """

    def __init__(
        self,
        collection: Collection,
        bound: int | None = None,
        readers: Readers = tuple,
    ) -> None:
        self._collection = collection
        self._bound = bound_of(memory_limit()) if bound is None else bound
        self.bound: float = self._bound
        self._readers = readers

    def is_due(self, sizes: Sizes) -> bool:
        """Return True once: at the first call with a size above the bound."""
        is_due = sizes.held > self.bound
        if is_due:
            self.bound = math.inf
        return is_due

    def tell(self, sizes: Sizes, objects: int, *, is_compressed: bool) -> None:
        """Log the warning."""
        can_compress = importlib.util.find_spec("zstandard") is not None
        ways = remedies(self._collection, can_compress=can_compress, is_compressed=is_compressed)
        log.warning(
            "cache takes much memory",
            collection=self._collection,
            objects=objects,
            mean_bytes_of_json=sizes.json // max(objects, 1),
            mib=round(sizes.held / 2**20),
            bound_mib=round(self._bound / 2**20),
            read_as=", ".join(sorted(self._readers())) or "nothing yet",
            remedies="; ".join(ways),
        )


def has_all_secrets(collection: Collection) -> bool:
    """Return whether the collection has all Secrets of a cluster, with their data."""
    resource = collection.resource
    is_secrets = (resource.group, resource.plural) == ("", "secrets") and not resource.is_partial
    return is_secrets and not (collection.namespace or collection.label_selector or collection.field_selector)


def warn_of_secrets(collection: Collection) -> None:
    """Log a warning if all Secrets of a cluster are about to be cached."""
    if has_all_secrets(collection):
        log.warning(
            "all Secrets of the cluster are cached",
            why="each release of Helm is one, of up to 1 MiB, and every Secret can be read from this process",
            without_releases="lister(SECRETS, field_selector='type!=helm.sh/release.v1')",
            metadata_alone="lister(SECRETS.only_metadata())",
            bodies_of_some="scope_caches(kinds={SECRETS: CacheScope(bodies=Bodies())})",
        )

# SPDX-License-Identifier: Apache-2.0
"""The options of a cache, as one value."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import attrs

from apimachinery.host import Host
from controller_runtime.api.collection import Collection
from controller_runtime.cache.bodies import Bodies
from controller_runtime.cache.compression import Compression
from controller_runtime.cache.forms import Form
from controller_runtime.cache.patience import Patience
from controller_runtime.cache.share import Portion
from controller_runtime.cache.store import Store
from controller_runtime.cache.transforms import Transform
from controller_runtime.client.reachable import ServerReachable

MakeStore: TypeAlias = "Callable[[Host, str, Form, Collection, Transform | None], Store]"


@attrs.frozen(kw_only=True)
class CacheOptions:
    """The options of a cache.

    Attributes:
        streaming: Begin with a streamed list, or with pages if the server cannot stream. False begins with pages.
        patience: The timeouts of the cache, and the bounds of one list.
        any_version: Begin with any state that the server has in memory, which may be older than the state that this
            program saw before a restart. False begins with the most recent state. Later lists are never older than the
            cache.
        transform: Changes each object before it is stored; None stores what the server sent.
        drop_managed_fields: Ask the server to leave out `metadata.managedFields` (Kubernetes 1.38, alpha). None asks if
            `transform` removes them, so that the cache has the same objects from every server. False never asks.
        reachable: Reports that the server has answered another client of this process, which shortens the wait after a
            lost connection; None for no such report.
        portion: The share of the objects that the cache keeps (in a ring); None for all. A cache with a share lists by
            pages, because a streamed list does not show whether the server selected the objects.
        compress: Whether the objects are compressed in memory, which needs the extra `lean`. None compresses if it is
            installed, once the objects have 4 MiB of JSON. True compresses any collection, from 250 objects on. A
            `Compression` sets other bounds.
        bodies: Selects the objects that are kept whole, while the cache has only the metadata of the others. None keeps
            all objects whole, and so does a cache with a `make_store`.
        make_store: Makes the store, from its host, label and form, the collection and the transform; None makes a
            `Store`. It comes before a portion: the caches that a program makes with `make_store` have none, and keep
            all objects.
        warn_at: The size in bytes at which a warning is logged, with ways to make the cache smaller. None is 256 MiB,
            or a quarter of the process's memory limit if that is less.
        one_by_one: Whether the first lists of the caches that a program starts with come one after another, the largest
            last. None does so where the process may have less than 1 GiB of memory. Each collection is then first asked
            for one object, since such an answer has the number of the others.
    """

    streaming: bool = True
    any_version: bool = False
    patience: Patience = attrs.field(factory=Patience)
    transform: Transform | None = None
    drop_managed_fields: bool | None = None
    reachable: ServerReachable | None = None
    portion: Portion | None = None
    compress: bool | Compression | None = None
    bodies: Bodies | None = None
    make_store: MakeStore | None = None
    warn_at: int | None = None
    one_by_one: bool | None = None

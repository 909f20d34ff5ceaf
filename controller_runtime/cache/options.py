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
    """The options that decide how a cache fills.

    Attributes:
        streaming: Begin with a streamed list; a server that cannot stream is asked for pages instead. False asks for
            pages at once.
        patience: How long the cache waits for the server, and the most that it accepts in one list.
        any_version: Begin with any state that the server has at hand, which may be older than what this program has
            seen before it was restarted; False begins with the most recent. Later lists are never older than the state
            that the cache has.
        transform: Changes each object before it is stored; None stores what the server sent.
        drop_managed_fields: Ask the server to leave out `metadata.managedFields` (Kubernetes 1.38, alpha). None does if
            `transform` removes them, so that the cache has the same objects from every server; False never asks.
        reachable: Tells that the server has answered another client of this process, which shortens the wait after a
            lost connection; None if no other client tells it.
        portion: The share of the objects that the cache keeps; None for all. Such a cache lists by pages, because a
            streamed list does not tell whether the server has chosen the objects.
        compress: Whether the objects are compressed in memory, which needs the extra `lean`. None does where it is
            installed, once the objects are 4 MiB of JSON; True does for any collection, from 250 objects on; a
            `Compression` has other bounds.
        bodies: The objects that are kept whole, where the metadata of all is enough; None keeps all whole, and so does
            a cache with a `make_store`.
        make_store: Makes the store, from its host, label and form, the collection and the transform; None makes a
            `Store`. A cache with a portion has a store of its own.
        warn_at: The bytes of memory from which one warning says what would make the cache smaller. None is 256 MiB, or
            a quarter of the memory that the process may have where that is less.
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

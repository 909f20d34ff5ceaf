# SPDX-License-Identifier: Apache-2.0
"""The options of a cache, as one value."""

from __future__ import annotations

import attrs

from controller_runtime.cache.patience import Patience
from controller_runtime.cache.transforms import Transform
from controller_runtime.client.reachable import ServerReachable


@attrs.frozen(kw_only=True)
class CacheOptions:
    """The options that decide how a cache fills.

    Attributes:
        streaming: Begin with a streamed list; a server that cannot stream is asked for pages instead. False asks for
            pages at once.
        patience: How long it waits for the server, and how much it takes from it.
        transform: Changes each object before it is stored; None stores what the server sent.
        reachable: Shortens the waits after a lost connection; None if no other client of the process reports.
    """

    streaming: bool = True
    patience: Patience = attrs.field(factory=Patience)
    transform: Transform | None = None
    reachable: ServerReachable | None = None

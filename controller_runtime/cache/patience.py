# SPDX-License-Identifier: Apache-2.0
"""How long caches wait for a server before they do something about it, and how much they take from it."""

from __future__ import annotations

import attrs

from controller_runtime.client.paging import ListBounds
from controller_runtime.core.backoff import Backoff


@attrs.frozen(kw_only=True)
class Patience:
    """The bounds of lists and watches, times in seconds; a value, shared freely.

    Attributes:
        silence: A watch that brings no complete line for so long is given up and taken up again at its version. A
            server sends a bookmark each minute, but on healthy quiet kinds the first one of a watch took 121 s.
        initial_silence: The same for a streamed list, where a server has no reason to pause.
        overdue: A cache that has heard nothing for so long counts as out of date. Longer than `silence`, or a watch
            that is given up and taken up at once would count; healthy ones know of gaps of 180 s.
        watch: The server is asked to end a watch after so many seconds, between these two at random: so they spread.
        backoff: Delays between tries.
        lists: How much one list may bring, and how quickly its pages are asked for.

    Raises:
        ValueError: A bound is not positive, or `overdue` or the second of `watch` is too short.
    """

    silence: float = attrs.field(default=150.0, validator=attrs.validators.gt(0))
    initial_silence: float = attrs.field(default=30.0, validator=attrs.validators.gt(0))
    overdue: float = attrs.field(default=200.0)
    watch: tuple[float, float] = attrs.field(default=(300.0, 600.0))
    backoff: Backoff = attrs.field(factory=Backoff)
    lists: ListBounds = attrs.field(factory=ListBounds)

    def __attrs_post_init__(self) -> None:
        if self.overdue <= self.silence:
            raise ValueError(f"overdue ({self.overdue:g}) must be longer than silence ({self.silence:g})")
        shortest, longest = self.watch
        if not 1 <= shortest <= longest:  # a server is told of whole seconds, and takes zero for no bound
            raise ValueError(f"watch ({shortest:g}, {longest:g}) must be two bounds of a second or more, in order")

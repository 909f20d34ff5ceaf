# SPDX-License-Identifier: Apache-2.0
"""The time limits of caches for answers of the server, and the bounds of what they accept from it."""

from __future__ import annotations

import attrs

from controller_runtime.client.paging import ListBounds
from controller_runtime.core.backoff import Backoff


@attrs.frozen(kw_only=True)
class Patience:
    """The timeouts of lists and watches, in seconds. It is an immutable value, which caches can share.

    Attributes:
        silence: After this time without a complete line, a watch is closed, and a new one continues where it ended. A
            server sends a bookmark each minute, but the first one of a watch of a quiet kind was measured to take 121
            s.
        initial_silence: The same for a streamed list; it is shorter, since a server does not pause within a list.
        overdue: After this time without a sign of life, a cache counts as out of date. It must be longer than
            `silence`, so that a silent watch can be opened again before; gaps of 180 s were measured on healthy
            servers.
        watch: The shortest and the longest time after which the server is asked to end a watch. Each watch draws its
            time at random between the two, so that the watches of many caches do not end together.
        backoff: Delays between two tries.
        missing_kind: The delay between two requests for a kind that the server does not serve. It does not grow, since
            such a request costs the server little, and the definition may be installed at any moment.
        lists: The bounds of one list's size and of the rate of its pages.

    Raises:
        ValueError: A value is not positive, `overdue` is not longer than `silence`, or the values of `watch` are less
            than a second or not in order.
    """

    silence: float = attrs.field(default=150.0, validator=attrs.validators.gt(0))
    initial_silence: float = attrs.field(default=30.0, validator=attrs.validators.gt(0))
    overdue: float = attrs.field(default=200.0)
    watch: tuple[float, float] = attrs.field(default=(300.0, 600.0))
    backoff: Backoff = attrs.field(factory=Backoff)
    missing_kind: float = attrs.field(default=5.0, validator=attrs.validators.gt(0))
    lists: ListBounds = attrs.field(factory=ListBounds)

    def __attrs_post_init__(self) -> None:
        if self.overdue <= self.silence:
            raise ValueError(f"overdue ({self.overdue:g}) must be longer than silence ({self.silence:g})")
        shortest, longest = self.watch
        if not 1 <= shortest <= longest:  # sent in whole seconds, and zero would mean no bound
            raise ValueError(f"watch ({shortest:g}, {longest:g}) must be two bounds of a second or more, in order")

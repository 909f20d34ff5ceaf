# SPDX-License-Identifier: Apache-2.0
"""Finds writes after a `requeue_after` that change only times: each is a load on all clients that watch the object."""

from __future__ import annotations

from collections import Counter

import attrs

from apimachinery.http import HTTPRequest
from controller_runtime.controller.written_fields import MOST_FIELDS, is_time, leaves_of, place_of
from controller_runtime.core.resource_paths import resource_path

MOST_PLACES = 4096
"""The most objects whose last write is remembered, the newest ones. Each takes a number and a path, in all less than 1
MiB.
"""

TOLD = 10
"""The number of such writes of a controller at which it is reported; a time that is written rarely costs little."""

_FOR_TIMES = "coordination.k8s.io"
"""The group of leases, whose whole purpose is a time."""


@attrs.frozen
class TimedWrite:
    """A write of a controller that changed only times.

    Attributes:
        controller: The controller's name.
        object: The object, as resource, namespace and name.
        fields: The paths of the changed times, at most three.
        count: The number of such writes by the controller so far.
    """

    controller: str
    object: str
    fields: tuple[str, ...]
    count: int

    def __str__(self) -> str:
        return (
            f"{self.controller} writes nothing but times when time alone causes a reconcile: {', '.join(self.fields)} "
            f"of {self.object}, {self.count} such writes so far; each is an event for all that watch the object: "
            "write a time only beside another change, or keep it in a Lease"
        )


class TimedWrites:
    """Finds and counts writes that change only times, by controller.

    Threads: one at a time, under the caller's lock.
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        # By place, a hash of what was written there last beside times.
        self._last: dict[tuple[str, str], int] = {}

    def wrote(self, controller: str, request: HTTPRequest) -> TimedWrite | None:
        """Record a write that changed an object, by a reconcile that only time caused.

        Such causes are a `requeue_after`, a retry, and a try again after a cancellation.

        Returns:
            The write, if it changed only times since the last recorded write of this method to this path. Otherwise
                None, as for the first one, and for all kinds of coordination.k8s.io.
        """
        named = resource_path(request.path)
        if named is None or named.group == _FOR_TIMES:
            return None
        place = request.method, request.path
        leaves = leaves_of(request.body)
        times = [path for path, value in leaves.items() if is_time(value)]
        rest = hash(frozenset((path, repr(value)) for path, value in leaves.items() if not is_time(value)))
        before = self._last.pop(place, None)
        self._last[place] = rest
        if len(self._last) > MOST_PLACES:
            del self._last[next(iter(self._last))]
        if not times or before != rest:
            return None
        self.counts[controller] += 1
        return TimedWrite(controller, place_of(request), tuple(times[:MOST_FIELDS]), self.counts[controller])

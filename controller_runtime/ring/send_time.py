# SPDX-License-Identifier: Apache-2.0
"""The time at which a member sends its lease, by a clock that stands still in a suspension and by two that go on."""

from __future__ import annotations

from typing import Self

import attrs

from apimachinery.host import Host


@attrs.frozen
class SendTime:
    """The time at which a lease was sent, by three clocks.

    Attributes:
        at: Monotonic seconds.
        elapsed: Seconds of `Host.elapsed`.
        wall: Seconds of the wall clock.
    """

    at: float
    elapsed: float
    wall: float

    @classmethod
    def now(cls, host: Host) -> Self:
        """Return the present time."""
        return cls(host.monotonic(), host.elapsed(), host.now().timestamp())

    def ahead(self, later: SendTime) -> float:
        """Return by how many seconds the wall clock has run ahead of the others until a later time."""
        return (later.wall - self.wall) - (later.elapsed - self.elapsed)

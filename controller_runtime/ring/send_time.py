# SPDX-License-Identifier: Apache-2.0
"""The time at which a member sends its lease, by a clock that stands still in a suspension and by two that go on."""

from __future__ import annotations

from typing import Self

import attrs

from apimachinery.host import Host


@attrs.frozen
class SendTime:
    """The time at which a lease was sent, on three clocks.

    Attributes:
        at: Monotonic seconds, which do not count while the machine is suspended.
        elapsed: Seconds of `Host.elapsed`, which also count then.
        wall: Seconds of the wall clock.
    """

    at: float
    elapsed: float
    wall: float

    @classmethod
    def now(cls, host: Host) -> Self:
        """Return the current time."""
        return cls(host.monotonic(), host.elapsed(), host.now().timestamp())

    def ahead(self, later: SendTime) -> float:
        """Return the seconds by which the wall clock has advanced more than `Host.elapsed` until `later`."""
        return (later.wall - self.wall) - (later.elapsed - self.elapsed)

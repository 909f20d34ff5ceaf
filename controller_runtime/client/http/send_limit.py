# SPDX-License-Identifier: Apache-2.0
"""The time until which a request may be sent, even if the machine is suspended after the request has begun."""

from __future__ import annotations

from typing import Self

import attrs

from apimachinery.host import Host


@attrs.frozen
class SendLimit:
    """The time until which a request may be sent, on two clocks.

    Attributes:
        deadline: When the exchange must be over, in monotonic seconds.
        elapsed: The same time in seconds of `Host.elapsed`, which also counts while the machine is suspended.
    """

    deadline: float
    elapsed: float

    @classmethod
    def of(cls, host: Host, deadline: float) -> Self:
        """Return the limit for a deadline in monotonic seconds, converted by the current readings of both clocks."""
        return cls(deadline, deadline + host.elapsed() - host.monotonic())

# SPDX-License-Identifier: Apache-2.0
"""The time until which a request may be sent, also if the machine is suspended after the request has begun."""

from __future__ import annotations

from typing import Self

import attrs

from apimachinery.host import Host


@attrs.frozen
class SendLimit:
    """The time until which a request may be sent, by two clocks.

    Attributes:
        deadline: When the exchange must be over, in monotonic seconds.
        elapsed: The same time in seconds of `Host.elapsed`: a request is not sent after a suspension beyond it.
    """

    deadline: float
    elapsed: float

    @classmethod
    def of(cls, host: Host, deadline: float) -> Self:
        """Return the limit of a deadline, in monotonic seconds, as the clocks stand now."""
        return cls(deadline, deadline + host.elapsed() - host.monotonic())

# SPDX-License-Identifier: Apache-2.0
"""A warning that others can cause as often as they like, and that is logged at most once in a while."""

from __future__ import annotations

import math

from apimachinery.host import Host
from apimachinery.log import Logger

PERIOD = 1.0
"""Seconds between two lines, at least."""


class RareLine:
    """Logs warnings, at most one per `PERIOD` seconds; the next one has the number of skipped ones.

    Threads: one.
    """

    def __init__(self, host: Host, log: Logger) -> None:
        self._host = host
        self._log = log
        self._at = -math.inf
        self._left_out = 0

    def warning(self, message: str, /, **fields: object) -> None:
        """Log a warning, or only count it if the last one was too recent."""
        now = self._host.monotonic()
        if now - self._at < PERIOD:
            self._left_out += 1
            return
        more = {"left_out": self._left_out} if self._left_out else {}
        self._at, self._left_out = now, 0
        self._log.warning(message, **fields, **more)

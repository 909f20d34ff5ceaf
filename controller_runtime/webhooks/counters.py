# SPDX-License-Identifier: Apache-2.0
"""The metrics of webhooks, with the meanings and the buckets of Go's `controller_runtime_webhook_*` metrics."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from apimachinery.host import Host
from controller_runtime.core.counters import Histogram

_BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_USUAL = (200, 500)  # the answers that are counted from the start, because an alert on a rate needs the zero


@attrs.frozen(kw_only=True)
class WebhookCounters:
    """The metrics of the webhook at one path, at one moment.

    Attributes:
        answers: Number of answers by HTTP status. If a function refuses a write, the status is 200: the webhook works.
        durations: Histogram of the seconds from the arrival of the whole review to the answer.
        in_flight: Number of reviews that are being answered.
        panics: Number of answers for which a function raised an unexpected error, which is most likely a bug.
    """

    answers: Mapping[int, int]
    durations: Histogram
    in_flight: int
    panics: int


@attrs.define
class _Counts:
    """The counts of one path. Guarded by the tally's lock."""

    answers: dict[int, int] = attrs.Factory(lambda: dict.fromkeys(_USUAL, 0))
    durations: Histogram = attrs.Factory(lambda: Histogram(_BOUNDS))
    in_flight: int = 0
    panics: int = 0


class WebhookTally:
    """Counts the answers of the webhooks of one manager, by their paths. Threads: any."""

    def __init__(self, host: Host) -> None:
        # Guards everything below.
        self._lock = host.lock("webhook counters")
        self._counts: dict[str, _Counts] = {}

    def add(self, path: str) -> None:
        """Start to count answers at this path."""
        with self._lock:
            self._counts.setdefault(path, _Counts())

    def begin(self, path: str) -> None:
        """Count a review that has arrived."""
        with self._lock:
            self._counts[path].in_flight += 1

    def end(self, path: str, status: int, took: float, *, panicked: bool) -> None:
        """Count the answer to a review that `begin` counted.

        Args:
            path: The webhook's path.
            status: The HTTP status.
            took: Seconds since the review arrived.
            panicked: Whether the function raised an unexpected error.
        """
        with self._lock:
            counts = self._counts[path]
            counts.in_flight -= 1
            counts.answers[status] = counts.answers.get(status, 0) + 1
            counts.durations.observe(took)
            counts.panics += panicked

    def counters(self) -> dict[str, WebhookCounters]:
        """Return the counters of each path."""
        with self._lock:
            return {
                path: WebhookCounters(
                    answers=dict(counts.answers),
                    durations=counts.durations.copy(),
                    in_flight=counts.in_flight,
                    panics=counts.panics,
                )
                for path, counts in self._counts.items()
            }

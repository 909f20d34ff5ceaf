# SPDX-License-Identifier: Apache-2.0
"""The metrics of a manager's webhooks; their names, labels and buckets are those of Go's controller-runtime."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from prometheus_client.metrics_core import Metric

from controller_runtime.manager.exposition import Row, counter, gauge, histogram, metrics_of
from controller_runtime.manager.manager import Manager

if TYPE_CHECKING:  # a program without webhooks should not pay for them
    from controller_runtime.webhooks.counters import WebhookCounters

_CONVERT = "/convert"  # not imported from the room of the webhooks, which programs without one do not load
_LABELS = ("webhook",)

# fmt: off
_OF_WEBHOOKS: tuple[Row[WebhookCounters], ...] = (
    Row(histogram, "controller_runtime_webhook_latency_seconds",
        "How long answers took.", lambda w: w.durations),
    Row(gauge, "controller_runtime_webhook_requests_in_flight",
        "Reviews that are being answered.", lambda w: w.in_flight),
)
# fmt: on


def of_webhooks(manager: Manager) -> Iterator[Metric]:
    """Yield the metrics of a manager's webhooks; none if it has no webhooks."""
    if not manager.declared_webhooks:
        return
    found = manager.webhooks.counters()
    answers = [((path, str(status)), n) for path, each in found.items() for status, n in each.answers.items()]
    yield counter(
        "controller_runtime_webhook_requests_total",
        "Answers to reviews, by HTTP status: 200 also for a refused write, 500 for a function that raised.",
        ("webhook", "code"),
        answers,
    )
    yield from metrics_of(_OF_WEBHOOKS, _LABELS, [((path,), each) for path, each in found.items()])
    admissions = sum(each.panics for path, each in found.items() if path != _CONVERT)
    text = "Reviews for which a function raised an unexpected error."
    yield counter("controller_runtime_webhook_panics_total", text, (), [((), admissions)])
    conversions = sum(each.panics for path, each in found.items() if path == _CONVERT)
    text = "Conversions for which a function raised an unexpected error."
    yield counter("controller_runtime_conversion_webhook_panics_total", text, (), [((), conversions)])

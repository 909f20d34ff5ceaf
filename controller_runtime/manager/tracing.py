# SPDX-License-Identifier: Apache-2.0
"""Makes the spans of a manager that was given a tracer provider."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apimachinery.host import Host

if TYPE_CHECKING:  # a program without tracing need not have it
    from opentelemetry.trace import TracerProvider

    from controller_runtime.controller.tracing import Tracing


def tracing_of(host: Host, provider: TracerProvider) -> Tracing:
    """Return a `Tracing` that makes spans by a tracer provider; this imports OpenTelemetry."""
    from controller_runtime.controller.tracing import Tracing

    return Tracing(host, provider)

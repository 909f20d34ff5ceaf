# SPDX-License-Identifier: Apache-2.0
"""The option `--tracing`: spans for the tracer provider that this process has set for OpenTelemetry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apimachinery.errors import UsageError
from controller_runtime.core.extras import needed_by

if TYPE_CHECKING:  # a program without tracing need not have it
    from opentelemetry.trace import TracerProvider


def global_provider() -> TracerProvider:
    """Return the tracer provider that this process has set for OpenTelemetry.

    Raises:
        UsageError: OpenTelemetry is not installed, or no provider is set, so that every span would be lost.
    """
    with needed_by("--tracing"):
        from opentelemetry import trace
    provider = trace.get_tracer_provider()
    if isinstance(provider, trace.ProxyTracerProvider):
        raise UsageError(
            "--tracing: OpenTelemetry has no tracer provider in this process: start the program by "
            "`opentelemetry-instrument`, or call `opentelemetry.trace.set_tracer_provider` in its module"
        )
    return provider

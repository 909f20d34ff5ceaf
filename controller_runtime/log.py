# SPDX-License-Identifier: Apache-2.0
"""Loggers that write structured lines with the context of a reconcile."""

from __future__ import annotations

from apimachinery.log import LogContext, Logger, get_logger

__all__ = [
    "LogContext",
    "Logger",
    "get_logger",
]

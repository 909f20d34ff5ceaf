# SPDX-License-Identifier: Apache-2.0
"""The options that all commands share: the API server, the duration, and the log."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from controller_runtime.core.log import configure

F = Callable[..., Any]
SECONDS = click.FloatRange(min=0, min_open=True)
"""A number of seconds; zero is refused, because a duration or a period of zero is a mistake."""


def server_options(command: F) -> F:
    """Add the options that name the API server: `embedded`, `kubeconfig`, `context`."""
    for option in (
        click.option("--context", metavar="NAME", help="Context of the kubeconfig; its current one by default."),
        click.option(
            "--kubeconfig",
            type=click.Path(path_type=Path),
            metavar="FILE",
            help="Run on the cluster that this file names.",
        ),
        click.option("--embedded", is_flag=True, help="Start an embedded API server and run on it."),
    ):
        command = option(command)
    return command


duration_option = click.option("--duration", type=SECONDS, metavar="SECONDS", help="Stop after this many seconds.")


def log_options(command: F) -> F:
    """Add the options of the log: `log_format`, `verbose`; see `configure_logging`."""
    formats = click.Choice(["text", "json"])
    for option in (
        click.option("-v", "--verbose", is_flag=True, help="Log each reconcile, and show tracebacks."),
        click.option("--log-format", type=formats, default="text", show_default=True, help="Format of each log line."),
    ):
        command = option(command)
    return command


def configure_logging(log_format: str, verbose: bool) -> None:
    """Configure the log of this process, in the format and at the level of these options."""
    configure(style=log_format, level=logging.DEBUG if verbose else logging.INFO)

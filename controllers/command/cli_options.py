# SPDX-License-Identifier: Apache-2.0
"""The options that all programs share: where they run, for how long, and how they speak."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from controller_runtime.core.log import configure

F = Callable[..., Any]
SECONDS = click.FloatRange(min=0, min_open=True)
"""Of something that takes time, or it would not be asked for."""


def server_options(command: F) -> F:
    """Which API server a program runs on: `embedded`, `kubeconfig`, `context`."""
    for option in (
        click.option("--context", metavar="NAME", help="Context of the kubeconfig; its current one by default."),
        click.option(
            "--kubeconfig", type=click.Path(path_type=Path), metavar="FILE", help="Run on the cluster this file names."
        ),
        click.option("--embedded", is_flag=True, help="Start an embedded API server and run on it."),
    ):
        command = option(command)
    return command


duration_option = click.option("--duration", type=SECONDS, metavar="SECONDS", help="Stop by itself after this long.")


def log_options(command: F) -> F:
    """How a program speaks: `log_format`, `verbose`; see `speak`."""
    formats = click.Choice(["text", "json"])
    for option in (
        click.option("-v", "--verbose", is_flag=True, help="Log each reconcile, and show tracebacks."),
        click.option("--log-format", type=formats, default="text", show_default=True, help="Of the log, line by line."),
    ):
        command = option(command)
    return command


def speak(log_format: str, verbose: bool) -> None:
    """Log from now on as these options say."""
    configure(style=log_format, level=logging.DEBUG if verbose else logging.INFO)

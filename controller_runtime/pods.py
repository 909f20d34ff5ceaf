# SPDX-License-Identifier: Apache-2.0
"""Logs, commands, streams and ports of pods: what `Client.logs`, `exec`, `attach` and `port_forward` give and raise."""

from __future__ import annotations

from controller_runtime.client.pods import (
    CommandFailed,
    CommandResult,
    Logs,
    Output,
    OutputTooLong,
    PortConnection,
    PortForward,
    PortListener,
    Session,
)

__all__ = [
    "CommandFailed",
    "CommandResult",
    "Logs",
    "Output",
    "OutputTooLong",
    "PortConnection",
    "PortForward",
    "PortListener",
    "Session",
]

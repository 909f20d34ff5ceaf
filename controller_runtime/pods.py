# SPDX-License-Identifier: Apache-2.0
"""Logs, commands, streams and ports of pods: what `Client.logs`, `exec`, `attach` and `port_forward` give and raise."""

from __future__ import annotations

from controller_runtime.client.pods.commands import CommandFailed, CommandResult, OutputTooLong
from controller_runtime.client.pods.listener import PortListener
from controller_runtime.client.pods.logs import Logs
from controller_runtime.client.pods.ports import PortConnection, PortForward
from controller_runtime.client.pods.session import Output, Session

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

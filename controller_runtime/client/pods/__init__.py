# SPDX-License-Identifier: Apache-2.0
"""Logs, commands, streams and ports of pods; `Client.logs`, `exec`, `open_exec`, `attach` and `port_forward` make them.

Each is bounded in time, and a command in its output, too. Each message to a pod is held to the limits of the client's
requests, such as a leadership or a deadline of a reconcile. `client.pods.asynchronous` has the
classes that `AsyncClient` returns.
"""

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

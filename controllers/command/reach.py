# SPDX-License-Identifier: Apache-2.0
"""The two ends of every command that runs on a cluster: the first word with its API server, and the last grace."""

from __future__ import annotations

from controller_runtime.api.wire import HTTPRequest
from controller_runtime.client.answers import check
from controller_runtime.core.errors import APIError, ConnectionLost, ControllerRuntimeError
from controller_runtime.core.stop import Stop
from controller_runtime.manager.manager import Manager

FIRST_ANSWER = 10.0
"""Seconds the API server has for the first answer; then the command gives up."""

GRACE = 1.5
"""Seconds that reconciles in hand have once the command is asked to stop: somebody waits at the terminal."""


def reach(manager: Manager, stop: Stop) -> None:
    """Ask the API server for its version, so that a wrong address is one clear line and not a long wait.

    Returns without an answer once `stop` is set.

    Raises:
        ControllerRuntimeError: It refuses, is silent, or does not accept the credentials.
    """
    forget = stop.on_set(manager.transport.close)
    try:
        if not stop.is_set():
            deadline = manager.host.monotonic() + FIRST_ANSWER
            check(manager.transport.request(HTTPRequest("GET", "/version"), deadline))
    except APIError as error:
        raise ControllerRuntimeError(
            f"the API server at {manager.transport} refuses ({error}): check the credentials in the kubeconfig"
        ) from error
    except ConnectionLost as error:
        if stop.is_set():
            return
        raise ControllerRuntimeError(
            f"cannot reach the API server: {error}; check that it runs and that the kubeconfig's server is right"
        ) from error
    finally:
        forget()

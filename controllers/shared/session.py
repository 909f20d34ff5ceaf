# SPDX-License-Identifier: Apache-2.0
"""The two ends of every command that runs on a cluster: the first word with its API server, and the last grace."""

from __future__ import annotations

from collections.abc import Callable

from controller_runtime.api.http import HTTPRequest
from controller_runtime.client.answers import check
from controller_runtime.core.backoff import Backoff
from controller_runtime.core.errors import (
    APIError,
    ConnectionLost,
    ControllerRuntimeError,
    ServerError,
    TooManyRequests,
)
from controller_runtime.core.log import get_logger
from controller_runtime.core.stop import Stop
from controller_runtime.manager.manager import Manager

log = get_logger(__name__)

FIRST_ANSWER = 10.0
"""Seconds the API server has for the first answer; then the command gives up."""
WAITING = Backoff(initial=0.5, factor=2.0, cap=7.0, jitter=0.2)
"""Between two tries of a command that waits for its API server."""

GRACE = 1.5
"""Seconds that reconciles in hand have once the command is asked to stop: somebody waits at the terminal."""

_AWAY = (ConnectionLost, ServerError, TooManyRequests)
"""It may answer later."""


def reach(manager: Manager, stop: Stop) -> None:
    """Ask the API server for its version, so that a wrong address is one clear line and not a long wait.

    Returns without an answer once `stop` is set.

    Raises:
        ControllerRuntimeError: It refuses, is silent, or does not accept the credentials.
    """
    forget = stop.on_set(manager.transport.close)
    try:
        if not stop.is_set():
            _ask(manager)
    except _AWAY as error:
        if stop.is_set():
            return
        raise ControllerRuntimeError(
            f"cannot reach the API server: {error}; check that it runs and that the kubeconfig's server is right"
        ) from error
    finally:
        forget()


def await_server(manager: Manager, stop: Stop, then: Callable[[], None]) -> None:
    """As `reach`, but wait for a server that is away, for as long as it takes; a warning says so, once.

    Returns without an answer once `stop` is set.

    Args:
        manager: Whose API server.
        stop: Ends the wait.
        then: What to ask next; if the server is away again meanwhile, all is asked anew.

    Raises:
        ControllerRuntimeError: It does not accept the credentials; or what `then` raises.
    """
    failures = 0
    forget = stop.on_set(manager.transport.close)
    try:
        while not stop.is_set():
            try:
                _ask(manager)
                then()
            except _AWAY as error:
                failures += 1
                if failures == 1 and not stop.is_set():
                    log.warning("waiting for the API server", error=error)
                at_least = (error.retry_after or 0.0) if isinstance(error, APIError) else 0.0
                stop.wait(max(WAITING.delay(failures, manager.host.random), at_least))
            else:
                if failures:
                    log.info("the API server answers")
                return
    finally:
        forget()


def _ask(manager: Manager) -> None:
    """Ask for the version.

    Raises:
        ControllerRuntimeError: The credentials are refused; or, one of `_AWAY`, there is no answer that counts.
    """
    deadline = manager.host.monotonic() + FIRST_ANSWER
    try:
        check(manager.transport.request(HTTPRequest("GET", "/version"), deadline))
    except (ServerError, TooManyRequests):
        raise
    except APIError as error:
        raise ControllerRuntimeError(
            f"the API server at {manager.transport} refuses ({error}): check the credentials in the kubeconfig"
        ) from error

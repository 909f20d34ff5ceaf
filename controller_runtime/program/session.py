# SPDX-License-Identifier: Apache-2.0
"""The API server at the start of a command: `reach` gives up if it does not answer, `await_server` waits for it."""

from __future__ import annotations

from collections.abc import Callable

from apimachinery.errors import (
    APIError,
    ConnectionLost,
    ControllerRuntimeError,
    ServerError,
    TooManyRequests,
)
from apimachinery.http import HTTPRequest
from apimachinery.log import get_logger
from apimachinery.stop import Stop
from controller_runtime.client.answers import check
from controller_runtime.core.backoff import Backoff
from controller_runtime.manager.manager import Manager

log = get_logger(__name__)

ANSWER_TIMEOUT = 10.0
"""Seconds that the API server has to answer the request for its version."""
RETRY = Backoff(initial=0.5, factor=2.0, cap=7.0, jitter=0.2)
"""Seconds between two tries of a command that waits for its API server."""

GRACE = 1.5
"""Seconds that running reconciles have to end once the command is asked to stop.

Short, because a user who pressed Ctrl-C waits at the terminal.
"""

_UNAVAILABLE = (ConnectionLost, ServerError, TooManyRequests)
"""Errors of a server that may answer later; any other error is final."""


def reach(manager: Manager, stop: Stop) -> None:
    """Check that the API server answers, so that a wrong address is one clear error and not a long wait.

    The function returns without an answer once `stop` is set.

    Raises:
        ControllerRuntimeError: The connection is refused, the server does not answer within `ANSWER_TIMEOUT` seconds or
            fails, or it refuses the credentials.
    """
    forget = stop.on_set(manager.transport.close)  # ends the request that is waiting for its answer
    try:
        if not stop.is_set():
            _ask(manager)
    except _UNAVAILABLE as error:
        if stop.is_set():
            return
        raise ControllerRuntimeError(
            f"cannot reach the API server: {error}; check that it runs and that the kubeconfig's server is right"
        ) from error
    finally:
        forget()


def await_server(manager: Manager, stop: Stop, then: Callable[[], None]) -> None:
    """Wait without a limit until the API server answers, and log one warning if it does not answer at first.

    The function returns without an answer once `stop` is set.

    Args:
        manager: The manager, whose client is used.
        stop: Ends the wait.
        then: Called once the server has answered, to make further requests. If the server becomes unavailable
            meanwhile, the wait starts again, and `then` is called again.

    Raises:
        ControllerRuntimeError: The server refuses the credentials, or `then` raised an error that is final.
    """
    failures = 0
    forget = stop.on_set(manager.transport.close)  # ends the request that is waiting for its answer
    try:
        while not stop.is_set():
            try:
                _ask(manager)
                then()
            except _UNAVAILABLE as error:
                failures += 1
                if failures == 1 and not stop.is_set():
                    log.warning("waiting for the API server", error=error)
                at_least = (error.retry_after or 0.0) if isinstance(error, APIError) else 0.0
                stop.wait(max(RETRY.delay(failures, manager.host.random), at_least))
            else:
                if failures:
                    log.info("the API server answers")
                return
    finally:
        forget()


def _ask(manager: Manager) -> None:
    """Request the version of the API server.

    Raises:
        ControllerRuntimeError: The request is refused; or one of `_UNAVAILABLE`, if the server may answer later.
    """
    deadline = manager.host.monotonic() + ANSWER_TIMEOUT
    try:
        check(manager.transport.request(HTTPRequest("GET", "/version"), deadline))
    except (ServerError, TooManyRequests):
        raise
    except APIError as error:
        raise ControllerRuntimeError(
            f"the API server at {manager.transport} refuses the request ({error}): "
            "check the credentials in the kubeconfig"
        ) from error

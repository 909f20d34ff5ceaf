# SPDX-License-Identifier: Apache-2.0
"""The policy of a reflector after a failure, as pure functions."""

from __future__ import annotations

import enum
from typing import NamedTuple

from apimachinery.errors import (
    APIError,
    ConnectionLost,
    ControllerRuntimeError,
    Expired,
    NoSuchKind,
    ServerError,
    StreamIdle,
    TooManyRequests,
)
from controller_runtime.cache.state import Listing, Receiving, Resuming, State, Streaming, Watching


class Failure(enum.Enum):
    """The kinds of failure of a list or watch; each value says in words what it means for the request."""

    VERSION = "the server does not have the version asked for"
    EVENT = "the server cannot read what an event would carry, now or in another watch"
    KIND = "the server does not serve the kind, until its definition is installed"
    BUSY = "nothing: the server, or the way to it, is down or overloaded"
    OTHER = "something else is wrong, perhaps with the request"


class Recovery(NamedTuple):
    """The step by which a reflector continues after a failure.

    Attributes:
        state: The state to enter.
        wait: True to wait for the delay of the backoff first.
    """

    state: Listing | Streaming | Resuming
    wait: bool = True


def recovery(state: State, failure: Failure, *, streaming: bool) -> Recovery:
    """Return how a reflector continues after a failure in `state`.

    Args:
        state: The state in which the failure happened.
        failure: The kind of the failure.
        streaming: Whether a new list is requested as a streamed list.
    """
    relist = Streaming() if streaming else Listing()
    match state, failure:
        case Resuming() | Watching(), Failure.VERSION | Failure.EVENT | Failure.KIND:
            return Recovery(relist)
        # A refused version says nothing against the server, so the most recent state is asked for at once. If that is
        # refused too, something else is wrong, and asking again without a wait would be a hot loop.
        case Listing(most_recent), Failure.VERSION:
            return Recovery(Listing(most_recent=True), wait=most_recent)
        case Streaming(most_recent) | Receiving(_, most_recent), Failure.VERSION:
            return Recovery(Streaming(most_recent=True), wait=most_recent)
        case Listing(), _:
            return Recovery(state)
        case Streaming(most_recent) | Receiving(_, most_recent), Failure.BUSY | Failure.KIND:
            return Recovery(Streaming(most_recent))
        case Streaming(most_recent) | Receiving(_, most_recent), _:
            # A server that cannot stream lists, or does not say when they end, can still list by pages.
            return Recovery(Listing(most_recent), wait=False)
        case ((Resuming(is_retry=True) | Watching(is_retry=True)), Failure.OTHER):
            # Twice in a row it may be the version's fault: a server whose data went back is silent until it gets there.
            return Recovery(relist)
        case _:
            return Recovery(Resuming(is_retry=True))


def classify(error: ControllerRuntimeError) -> Failure:
    """Return the kind of failure that `error` represents."""
    match error:
        case Expired():
            return Failure.VERSION
        case APIError() if _is_too_large(error):
            return Failure.VERSION
        case NoSuchKind():
            return Failure.KIND
        case APIError(reason="StorageReadError"):
            return Failure.EVENT
        case TooManyRequests() | ServerError(code=502 | 503 | 504):
            return Failure.BUSY
        case _ if is_lost(error):
            return Failure.BUSY
        case _:
            return Failure.OTHER


def is_lost(error: ControllerRuntimeError) -> bool:
    """Return whether `error` means that the server cannot be reached.

    A silent stream (`StreamIdle`) does not count: other requests may still be answered.
    """
    return isinstance(error, ConnectionLost) and not isinstance(error, StreamIdle)


def _is_too_large(error: APIError) -> bool:
    """Return whether the server has yet to reach the resourceVersion asked for; its releases say so in three ways."""
    causes = error.details.get("causes") or ()
    return "Too large resource version" in str(error) or any(
        cause.get("reason") == "ResourceVersionTooLarge" or cause.get("message") == "Too large resource version"
        for cause in causes
    )

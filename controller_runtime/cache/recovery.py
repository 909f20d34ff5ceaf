# SPDX-License-Identifier: Apache-2.0
"""What a reflector does, and what it does next when that fails: the whole policy, pure."""

from __future__ import annotations

import enum
from typing import NamedTuple

from controller_runtime.core.errors import (
    APIError,
    ConnectionLost,
    ControllerRuntimeError,
    Expired,
    ServerError,
    StreamIdle,
    TooManyRequests,
)


class State(enum.Enum):
    """What the reflector is doing."""

    STREAMING = "streaming the list"
    LISTING = "listing by pages"
    WATCHING = "watching"


class Failure(enum.Enum):
    """What a failure says about what was asked."""

    VERSION = "the version asked for is not to be had"
    EVENT = "the server cannot read what an event would tell of, now or in another watch"
    BUSY = "nothing: the server, or the way to it, is down or overloaded"
    OTHER = "something else is wrong, perhaps with the question"


class Recovery(NamedTuple):
    """What to do about a failure.

    Attributes:
        state: Where to go on.
        wait: Whether to back off first.
        most_recent: Whether the version last seen is of no use to the next list.
    """

    state: State
    wait: bool = True
    most_recent: bool = False


def recovery(state: State, failure: Failure, *, relist: State, fruitless: int, most_recent: bool) -> Recovery:
    """What follows from a failure in `state`: the whole policy, pure.

    Args:
        state: Where it happened.
        failure: What happened.
        relist: The state in which a list begins.
        fruitless: Tries that failed in a row without a single line, this one included.
        most_recent: Whether the most recent state had been asked for.
    """
    match state, failure:
        case State.WATCHING, Failure.VERSION | Failure.EVENT:
            return Recovery(relist)
        case _, Failure.VERSION:  # the first time without waiting: nothing is wrong with the server
            return Recovery(state, wait=most_recent, most_recent=True)
        case (State.LISTING, _) | (_, Failure.BUSY):
            return Recovery(state)
        case State.STREAMING, _:  # a server that cannot stream lists, or does not say when they end
            return Recovery(State.LISTING, wait=False)
        case _:
            # Twice in a row it may be the version's fault: a server whose data went back is silent until it gets there.
            return Recovery(relist if fruitless > 1 else state)


def classify(error: ControllerRuntimeError) -> Failure:
    """What `error` says about what was asked."""
    match error:
        case Expired():
            return Failure.VERSION
        case APIError() if _is_too_large(error):
            return Failure.VERSION
        case APIError(reason="StorageReadError"):
            return Failure.EVENT
        case TooManyRequests() | ServerError(code=502 | 503 | 504):
            return Failure.BUSY
        case _ if is_lost(error):
            return Failure.BUSY
        case _:
            return Failure.OTHER


def is_lost(error: ControllerRuntimeError) -> bool:
    """Whether the server is out of reach, rather than there and unable or unwilling, as far as `error` can tell."""
    return isinstance(error, ConnectionLost) and not isinstance(error, StreamIdle)


def _is_too_large(error: APIError) -> bool:
    """Whether the server has yet to reach the version asked for; it has said so in three ways over time."""
    causes = error.details.get("causes") or ()
    return "Too large resource version" in str(error) or any(
        cause.get("reason") == "ResourceVersionTooLarge" or cause.get("message") == "Too large resource version"
        for cause in causes
    )

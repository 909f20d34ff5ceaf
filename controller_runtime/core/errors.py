# SPDX-License-Identifier: Apache-2.0
"""The errors of the house, one tree.

An error is its own class where the caller has a different *next step*: relist, re-read,
wait, give up. Messages are lower case, name the object and the relation, and end
without a period. Whoever raises does not log; whoever ends a thread or a reconcile does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar


class ControllerRuntimeError(Exception):
    """Base of everything this package raises on purpose."""


class UsageError(ControllerRuntimeError):
    """The program was called or configured wrongly; the message says what and how to mend it."""


class APIError(ControllerRuntimeError):
    """The API server answered with a failure.

    Attributes:
        code: HTTP status.
        reason: `Status.reason`, empty when the server gave none.
        details: `Status.details`, empty when the server gave none.
        retry_after: Seconds the server asks to wait, if it does.
    """

    by_reason: ClassVar[dict[str, type[APIError]]] = {}
    by_code: ClassVar[dict[int, type[APIError]]] = {}
    codes: ClassVar[tuple[int, ...]] = ()

    def __init__(
        self,
        message: str,
        *,
        code: int,
        reason: str = "",
        details: Mapping[str, Any] | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.details = details or {}
        self.retry_after = retry_after

    def __init_subclass__(cls, reasons: tuple[str, ...] = (), codes: tuple[int, ...] = ()) -> None:
        cls.codes = codes
        for reason in reasons:
            APIError.by_reason[reason] = cls
        for code in codes:
            APIError.by_code[code] = cls


class BadRequest(APIError, reasons=("BadRequest",), codes=(400,)):
    """The request itself is wrong; repeating it will not help."""


class Unauthorized(APIError, reasons=("Unauthorized",), codes=(401,)):
    """The credentials are missing, wrong or expired."""


class Forbidden(APIError, reasons=("Forbidden",), codes=(403,)):
    """The credentials do not allow this; a role is missing."""


class NotFound(APIError, reasons=("NotFound",), codes=(404,)):
    """The object, its namespace or its kind does not exist."""


class Conflict(APIError, reasons=("Conflict",), codes=(409,)):
    """The object has changed since it was read: read again, decide again."""


class AlreadyExists(APIError, reasons=("AlreadyExists",)):
    """The name is taken."""


class Expired(APIError, reasons=("Expired", "Gone"), codes=(410,)):
    """The version asked for is no longer kept: list again."""


class Invalid(APIError, reasons=("Invalid",), codes=(422,)):
    """The object breaks a rule of its kind; `details["causes"]` names the fields."""


class TooManyRequests(APIError, reasons=("TooManyRequests",), codes=(429,)):
    """The server is overloaded: wait `retry_after` seconds, or back off."""


class ServerError(APIError, reasons=("InternalError", "ServiceUnavailable", "Timeout", "ServerTimeout")):
    """The server failed (5xx): back off and try again."""


class ConnectionLost(ControllerRuntimeError):
    """No answer: refused, cut, silent or late. A write may have been done all the same."""


class StreamIdle(ConnectionLost):
    """An open stream gave no complete line for too long; it is treated as dead."""


class DecodeError(ControllerRuntimeError):
    """An object, or an answer, is not what its kind promises."""


class CacheSyncTimeout(ControllerRuntimeError):
    """The caches did not fill in time; the message names each collection and its last error."""


class StaleCache(ControllerRuntimeError):
    """A cache has yet to show what this program wrote: decide later, on what it shows then."""


class AlreadyOwned(ControllerRuntimeError):
    """The object has another controller; two would fight over it."""


class LeadershipLost(ControllerRuntimeError):
    """The lease was lost; how `Manager.run` ends then."""


class ReconcileTimeout(ControllerRuntimeError):
    """A reconcile took longer than its controller allows; it is retried with a growing delay."""


class TerminalError(ControllerRuntimeError):
    """Raised by a reconciler: log, count, do not retry until the object changes.

    An error raised from one (`raise … from`) is terminal too, and so is a group of terminal errors alone.
    """


class Cancelled(ControllerRuntimeError):
    """The program stops and its grace has run out; the work in hand was given up."""


class ShutDown(Exception):  # not an error, so not in the tree
    """How `WorkQueue.get` ends once the queue is shut down and empty."""


UNREADABLE: tuple[type[Exception], ...] = (ValueError, RecursionError)
"""What decoding raises on bytes that are not what they should be: msgspec's errors (ValueErrors since 0.21), text
that is not UTF-8 (a ValueError that is none of msgspec's), and nesting too deep."""


LONGEST_RETRY_AFTER = 300.0
"""Seconds that a server can make anybody wait; what asks for more is meant for people."""


def error_from_status(code: int, status: Mapping[str, Any], retry_after: float | None = None) -> APIError:
    """The error for a failed answer: by `status["reason"]`, else by the HTTP code.

    Args:
        code: HTTP status of the answer.
        status: A `Status` object, or an empty mapping where the body was none.
        retry_after: Seconds of the `Retry-After` header; `details.retryAfterSeconds` otherwise.
    """
    reason = str(status.get("reason") or "")
    details = status.get("details")
    details = details if isinstance(details, Mapping) else {}
    asked = details.get("retryAfterSeconds")
    if retry_after is None and asked and isinstance(asked, int | float):
        retry_after = asked
    if retry_after is not None:
        retry_after = float(min(retry_after, LONGEST_RETRY_AFTER))
    cls = APIError.by_reason.get(reason) or APIError.by_code.get(code) or (ServerError if code >= 500 else APIError)
    message = str(status.get("message") or f"the server answered {code}")
    return cls(message, code=code, reason=reason, details=details, retry_after=retry_after)

# SPDX-License-Identifier: Apache-2.0
"""The errors of this package, one tree.

An error is a class of its own if the caller's next step differs: list again, read again, wait, give up. Messages
are lower case, name the object and what is wrong with it, and end without a period. Code that raises an error does not
log it; the code at which a thread or a reconcile ends does.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar


class ControllerRuntimeError(Exception):
    """The base class of all errors that this package raises on purpose."""


class UsageError(ControllerRuntimeError):
    """The package was called or configured wrongly; the message says how to correct the mistake."""


class APIError(ControllerRuntimeError):
    """The API server answered a request with an error.

    Attributes:
        code: The HTTP status code.
        reason: The `reason` of the `Status` in the response; empty if absent.
        details: The `details` of that `Status`; empty if absent.
        retry_after: The seconds to wait before a retry, as the server requested; None if it did not.
        continue_token: The token by which a list whose version has expired can continue at a newer version; empty if
            absent.
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
        self.continue_token = ""

    def __init_subclass__(cls, reasons: tuple[str, ...] = (), codes: tuple[int, ...] = ()) -> None:
        cls.codes = codes
        for reason in reasons:
            APIError.by_reason[reason] = cls
        for code in codes:
            APIError.by_code[code] = cls


class BadRequest(APIError, reasons=("BadRequest",), codes=(400,)):
    """The request is malformed; repeating it will not help."""


class Unauthorized(APIError, reasons=("Unauthorized",), codes=(401,)):
    """The credentials are missing, wrong or expired."""


class Forbidden(APIError, reasons=("Forbidden",), codes=(403,)):
    """The user may not make the request, for example because a role or a binding is missing."""

    def advised(self, advice: str) -> Forbidden:
        """Return this error with `advice`, a text on how to get the permission, after its message; itself if `advice`
        is empty.
        """
        if not advice:
            return self
        return Forbidden(f"{self}: {advice}", code=self.code, reason=self.reason, details=self.details)


class NotFound(APIError, reasons=("NotFound",), codes=(404,)):
    """The object, its namespace or its kind does not exist."""


class NoSuchKind(NotFound):
    """The server does not serve the kind: its definition is not installed, or its API is not enabled."""


class Conflict(APIError, reasons=("Conflict",), codes=(409,)):
    """The object has changed since it was read: read it again, and repeat the decision."""


class AlreadyExists(APIError, reasons=("AlreadyExists",)):
    """An object of this name already exists."""


class Expired(APIError, reasons=("Expired", "Gone"), codes=(410,)):
    """The server no longer has the requested resourceVersion: list again."""


class Invalid(APIError, reasons=("Invalid",), codes=(422,)):
    """The object breaks a rule of its kind; `details["causes"]` names the fields."""


class TooManyRequests(APIError, reasons=("TooManyRequests",), codes=(429,)):
    """The server is overloaded: wait `retry_after` seconds, or if that is None, a growing delay."""


class ServerError(APIError, reasons=("InternalError", "ServiceUnavailable", "Timeout", "ServerTimeout")):
    """The server failed (a status of 500 or more): try again after a growing delay."""


class ConnectionLost(ControllerRuntimeError):
    """The connection was refused, cut, silent or too slow, so no response came. A write may have succeeded
    nevertheless.
    """


class StreamIdle(ConnectionLost):
    """An open stream delivered no complete line within the time limit, so the client treats it as dead."""


class DecodeError(ControllerRuntimeError):
    """An object or a response cannot be decoded as its kind."""


class WaitTimeout(ControllerRuntimeError):
    """An object did not reach the expected state in time; the message shows its last state."""


class CacheSyncTimeout(ControllerRuntimeError):
    """Caches were not filled in time; the message names each collection and its last error."""


class StaleCache(ControllerRuntimeError):
    """A cache does not show an earlier write of this process yet, so the reconcile must be repeated later."""


class AlreadyOwned(ControllerRuntimeError):
    """The object already has another controller; two controllers would overwrite each other's changes."""


class LeadershipLost(ControllerRuntimeError):
    """The process lost or yielded the lease of its leader election; `Manager.run` ends with this error."""


class ReconcileTimeout(ControllerRuntimeError):
    """A reconcile took longer than its controller's `reconcile_timeout`; the controller retries it after a growing
    delay.
    """


class TerminalError(ControllerRuntimeError):
    """Raised by a reconciler if a retry would be useless: the controller logs and counts it, and does not retry.

    The next change of the object causes a reconcile as usual. An error that is raised from this one (`raise … from`) is
    terminal as well, and so is an exception group that contains only terminal errors.
    """


class TemporaryError(ControllerRuntimeError):
    """Raised by a reconciler if something outside of the cluster failed, and may work again later.

    Use it as the base class for errors of services, databases and devices. The controller logs it as a warning without
    a traceback, counts it as a failure and retries; no test fails because of it. Any other exception counts as a bug of
    the program.

    Attributes:
        requeue_after: Seconds after which the retry is due, such as a `Retry-After` of the service. Such a retry does
            not make later delays grow, and a change of the object causes an earlier one. None for a growing delay, as
            after other failures.

    Raises:
        ValueError: `requeue_after` is negative or not finite.
    """

    def __init__(self, message: str = "", *, requeue_after: float | None = None) -> None:
        if requeue_after is not None and not 0.0 <= requeue_after < math.inf:
            raise ValueError(f"requeue_after ({requeue_after}) must be zero or more, and finite")
        super().__init__(message)
        self.requeue_after = requeue_after


class Cancelled(ControllerRuntimeError):
    """The process is stopping and its grace period is over, so the running work was given up."""


class ShutDown(Exception):  # not an error, so not part of the tree
    """Raised by `WorkQueue.get` once the queue is shut down and empty."""


UNREADABLE: tuple[type[Exception], ...] = (ValueError, RecursionError)
"""The errors that decoding raises for malformed bytes.

They are msgspec's own (ValueErrors since 0.21), Python's ValueError for text that is not UTF-8, and RecursionError for
nesting that is too deep.
"""


LONGEST_RETRY_AFTER = 300.0
"""Longest `Retry-After` in seconds that is obeyed. A longer one would let a broken server stop a client for hours."""


def error_from_status(code: int, status: Mapping[str, Any], retry_after: float | None = None) -> APIError:
    """Return the error for a failed request. Its class follows from `status["reason"]`, or else from the HTTP status.

    Args:
        code: The HTTP status code of the response.
        status: The `Status` object in the body; an empty mapping if the body is not a `Status`.
        retry_after: The seconds in the `Retry-After` header; None if absent, so that `details.retryAfterSeconds` is
            used.
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
    error = cls(message, code=code, reason=reason, details=details, retry_after=retry_after)
    metadata = status.get("metadata")
    token = metadata.get("continue") if isinstance(metadata, Mapping) else None
    error.continue_token = token if isinstance(token, str) else ""
    return error

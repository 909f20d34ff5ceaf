# SPDX-License-Identifier: Apache-2.0
"""Refusals: each `Status` with which the server answers a failed request, in the words of a real API server.

Code that finds an error raises a `StatusError`, and the answering code turns it into a response. Clients decide
by code, reason and causes. The message is for people, but tools match it too, so it must not be reworded.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from embedded_apiserver.bounds import MOST_VALUES, abbreviated, abbreviated_message, told

OPTIMISTIC_LOCK = "the object has been modified; please apply your changes to the latest version and try again"


class Named(Protocol):
    """A kind with the names that error messages need."""

    @property
    def group(self) -> str:
        """The API group; empty for the core group."""

    @property
    def kind(self) -> str:
        """The name of the kind, such as `Lease`."""

    @property
    def plural(self) -> str:
        """The name of the resource, such as `leases`; empty for a kind that is not a resource."""


class Options(NamedTuple):
    """The kind of a request's options, which error messages name like the kind of an object."""

    kind: str
    group: str = "meta.k8s.io"
    plural: str = ""


LIST_OPTIONS = Options("ListOptions")
CREATE_OPTIONS = Options("CreateOptions")
UPDATE_OPTIONS = Options("UpdateOptions")
PATCH_OPTIONS = Options("PatchOptions")
DELETE_OPTIONS = Options("DeleteOptions")


class Cause(NamedTuple):
    """One validation error: a constant of the API such as `FieldValueInvalid`, the message, and the field's path."""

    reason: str
    message: str
    field: str

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


class StatusError(Exception):
    """The error of a refused request; `body` returns the response's body.

    Attributes:
        code: The HTTP status code.
        reason: A constant of the API, such as `NotFound`; empty where a real API server gives none.
        message: The message, abbreviated if it is very long.
        details: The `details` of the `Status`. None leaves them out; an empty mapping is sent as `{}`.
        retry_after: Whole seconds until the client may try again; None if it should not.
        continue_: The token by which a client can continue a list whose version has expired; None if absent.
        warnings: The warnings for the response, collected before the error; set by the code that decodes the body.
    """

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        details: Mapping[str, Any] | None = None,
        retry_after: int | None = None,
        continue_: str | None = None,
    ) -> None:
        self.message = abbreviated_message(message)
        super().__init__(self.message)
        self.code = code
        self.reason = reason
        self.details = details
        self.retry_after = retry_after
        self.continue_ = continue_
        self.warnings: Sequence[str] = ()

    def body(self) -> dict[str, Any]:
        """Return the `Status` object as decoded JSON."""
        body: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {} if self.continue_ is None else {"continue": self.continue_},
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            body["reason"] = self.reason
        if self.retry_after is not None:
            body["details"] = {**(self.details or {}), "retryAfterSeconds": self.retry_after}
        elif self.details is not None:
            body["details"] = dict(self.details)
        body["code"] = self.code
        return body


def qualified(name: str, group: str) -> str:
    """Return the name of a kind or resource with its group, such as `leases.coordination.k8s.io` or `nodes`."""
    return f"{name}.{group}" if group else name


def _details(name: str, group: str, kind: str, causes: Sequence[Cause] = ()) -> dict[str, Any]:
    listed = [Cause(reason, abbreviated(text), abbreviated(field))._asdict() for reason, text, field in causes]
    details: dict[str, Any] = {"name": abbreviated(name), "group": group, "kind": kind, "causes": listed}
    return {key: value for key, value in details.items() if value}


def not_found(kind: Named, name: str, called: str = "") -> StatusError:
    """Return a 404 error for an object that does not exist; `called` replaces the kind's plural if it is not empty."""
    plural = called or kind.plural
    message = f'{qualified(plural, kind.group)} "{name}" not found'
    return StatusError(404, "NotFound", message, details=_details(name, kind.group, plural))


def no_such_resource() -> StatusError:
    """Return a 404 error for a path that does not name a resource of the server."""
    return StatusError(404, "NotFound", "the server could not find the requested resource", details={})


def already_exists(kind: Named, name: str, *, terminating: bool = False, retry_after: int | None = None) -> StatusError:
    """Return a 409 error for a name that is in use; `terminating` is True if the existing object is being deleted.

    `retry_after`, in seconds, is for a name that the server generated; None for a name from the client.
    """
    message = f'{qualified(kind.plural, kind.group)} "{name}" already exists'
    if retry_after is not None:
        message += ", the server was not able to generate a unique name for the object"
    if terminating:
        message = f"object is being deleted: {message}"
    details = _details(name, kind.group, kind.plural)
    return StatusError(409, "AlreadyExists", message, details=details, retry_after=retry_after)


def conflict(kind: Named, name: str, text: str = OPTIMISTIC_LOCK) -> StatusError:
    """Return a 409 error for a write to an object that has changed since the client read it."""
    message = f'Operation cannot be fulfilled on {qualified(kind.plural, kind.group)} "{name}": {text}'
    return StatusError(409, "Conflict", message, details=_details(name, kind.group, kind.plural))


def precondition_failed(kind: Named, name: str, what: str, asked: str, actual: str) -> StatusError:
    """Return a 409 error for a request whose precondition does not hold; `what` is `UID` or `ResourceVersion`."""
    guess = "deleted and then recreated" if what == "UID" else "modified"
    text = f"the {what} in the precondition ({asked}) does not match the {what} in record ({actual})"
    message = f'{qualified(kind.kind, kind.group)} "{name}": {text}. The object might have been {guess}'
    details = _details(name, kind.group, kind.kind)
    return StatusError(409, "Conflict", f"Operation cannot be fulfilled on {message}", details=details)


def invalid(kind: Named, name: str, causes: Iterable[Cause]) -> StatusError:
    """Return a 422 error for an object that breaks rules of its kind, with its validation errors.

    The message contains equal errors only once. If there are very many, causes and message contain only the first ones,
    and the message also the number of the others.
    """
    return _invalid(kind.kind, kind.group, name, causes)


def check(kind: Named, name: str, causes: Iterable[Cause]) -> None:
    """Raise the error of `invalid` if there is a validation error in `causes`.

    Raises:
        StatusError: 422, there is a validation error.
    """
    rest = iter(causes)
    for first in rest:
        raise invalid(kind, name, itertools.chain((first,), rest))


def must_have_version(kind: Named, name: str) -> StatusError:
    """Return a 422 error for an update without a resourceVersion, for a kind that requires one."""
    cause = Cause("FieldValueInvalid", "Invalid value: 0: must be specified for an update", "metadata.resourceVersion")
    return _invalid(kind.plural, kind.group, name, [cause])


def _invalid(what: str, group: str, name: str, causes: Iterable[Cause]) -> StatusError:
    first, more = told(causes, lambda cause: len(cause.message) + len(cause.field))
    texts = list(dict.fromkeys(str(cause) for cause in first))
    texts = [abbreviated(text) for text in texts] + ([more] if more else [])
    text = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    message = f'{qualified(what, group)} "{abbreviated(name)}" is invalid: {text}'
    return StatusError(422, "Invalid", message, details=_details(name, group, what, first))


def rejected() -> StatusError:
    """Return a 422 error for a patch that cannot be applied, without a reason, like a real API server."""
    return StatusError(422, "Invalid", "the server rejected our request due to an error in our request", details={})


def bad_request(text: str) -> StatusError:
    """Return a 400 error for a malformed request."""
    return StatusError(400, "BadRequest", text)


def unauthorized() -> StatusError:
    """Return a 401 error for a request with missing or wrong credentials."""
    return StatusError(401, "Unauthorized", "Unauthorized")


def forbidden(kind: Named, name: str, text: str, causes: Sequence[Cause] = ()) -> StatusError:
    """Return a 403 error for a request that is not allowed for this object, at this time, or for this user."""
    message = f'{qualified(kind.plural, kind.group)} "{name}" is forbidden: {text}'
    return StatusError(403, "Forbidden", message, details=_details(name, kind.group, kind.plural, causes))


def namespace_terminating(kind: Named, name: str, namespace: str) -> StatusError:
    """Return a 403 error for a new object in a namespace that is being deleted."""
    text = f"unable to create new content in namespace {namespace} because it is being terminated"
    cause = Cause("NamespaceTerminating", f"namespace {namespace} is being terminated", "metadata.namespace")
    return forbidden(kind, name, text, [cause])


def not_supported(kind: Named, verb: str) -> StatusError:
    """Return a 405 error for a custom kind that does not support `verb` (empty for an unknown method)."""
    text = f'{verb} is not supported on resources of kind "{qualified(kind.plural, kind.group)}"'
    return StatusError(405, "MethodNotAllowed", text, details={"group": kind.group, "kind": kind.plural})


def method_not_allowed() -> StatusError:
    """Return a 405 error for a valid path that does not support the HTTP method."""
    text = "the server does not allow this method on the requested resource"
    return StatusError(405, "MethodNotAllowed", text, details={})


def not_acceptable(accepted: Sequence[str]) -> StatusError:
    """Return a 406 error for a request that accepts none of the media types in `accepted`."""
    text = f"406: Not Acceptable\n\nAvailable representations: {', '.join(accepted)}"
    return StatusError(406, "NotAcceptable", text, details={})


def expired(text: str, continue_: str | None = None) -> StatusError:
    """Return a 410 error for a resourceVersion that is not in the history; `continue_` is a token for lists."""
    return StatusError(410, "Expired", text, continue_=continue_)


def too_large(text: str) -> StatusError:
    """Return a 413 error for a request that exceeds a limit of the server."""
    return StatusError(413, "RequestEntityTooLarge", f"Request entity too large: {text}")


def too_many_values() -> StatusError:
    """Return a 413 error for a request with more than `MOST_VALUES` values."""
    return too_large(f"limit is {MOST_VALUES} values")


def unsupported_media_type(accepted: Sequence[str] = ()) -> StatusError:
    """Return a 415 error for an unsupported media type; without `accepted`, with the message for unknown patches."""
    if not accepted:
        return StatusError(415, "UnsupportedMediaType", "415: Unsupported Media Type", details={})
    types = ", ".join(accepted)
    text = f"the body of the request was in an unknown format - accepted media types include: {types}"
    return StatusError(415, "UnsupportedMediaType", text)


def disruption_refused(text: str, *, retry_after: int | None = None) -> StatusError:
    """Return a 429 error for an eviction that a budget does not allow now; `retry_after` is in seconds."""
    return StatusError(
        429,
        "TooManyRequests",
        "Cannot evict pod as it would violate the pod's disruption budget.",
        details={"causes": [{"reason": "DisruptionBudget", "message": text}]},
        retry_after=retry_after,
    )


def internal(text: str) -> StatusError:
    """Return a 500 error for an internal error of the server."""
    cause = {"message": text}
    return StatusError(500, "InternalError", f"Internal error occurred: {text}", details={"causes": [cause]})


def untyped(text: str) -> StatusError:
    """Return a 500 error without a reason, as a real API server sends for a few errors of clients."""
    return StatusError(500, "", text)


def too_large_version(asked: int | str, current: int | str, *, is_cached: bool = True) -> StatusError:
    """Return a 504 error for a resourceVersion that is newer than the server's current one.

    If a real API server reads the kind from its cache (`is_cached`), the response tells the client to try again,
    because the cache may catch up.
    """
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    text = f"Timeout: Too large resource version: {asked}, current: {current}"
    return StatusError(504, "Timeout", text, details={"causes": [cause]}, retry_after=1 if is_cached else None)

# SPDX-License-Identifier: Apache-2.0
"""Refusals: every `Status` the server answers with, worded as a real API server words it.

Whoever finds a fault raises a `StatusError`; whoever answers the request turns it into
a response. Clients read code, reason and causes; people and tools read the message.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from controller_runtime.apiserver.bounds import MOST_VALUES, abbreviated, abbreviated_message, told

OPTIMISTIC_LOCK = "the object has been modified; please apply your changes to the latest version and try again"


class Named(Protocol):
    """What a refusal says about the thing refused."""

    @property
    def group(self) -> str:
        """API group, empty for the core group."""

    @property
    def kind(self) -> str:
        """Such as `Lease`."""

    @property
    def plural(self) -> str:
        """Such as `leases`; empty for what is no resource."""


class Options(NamedTuple):
    """The parameters of a request, as a kind that can be invalid."""

    kind: str
    group: str = "meta.k8s.io"
    plural: str = ""


LIST_OPTIONS = Options("ListOptions")
CREATE_OPTIONS = Options("CreateOptions")
UPDATE_OPTIONS = Options("UpdateOptions")
PATCH_OPTIONS = Options("PatchOptions")
DELETE_OPTIONS = Options("DeleteOptions")


class Cause(NamedTuple):
    """One reason for a refusal. `reason` is one of the API's words, such as `FieldValueInvalid`."""

    reason: str
    message: str
    field: str

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


class StatusError(Exception):
    """A request refused; `body()` is the answer.

    Attributes:
        code: HTTP status.
        reason: The API's word, empty where a real server gives none.
        message: One line for people, abbreviated if it is very long.
        details: None leaves them out; an empty mapping is answered as such.
        retry_after: Whole seconds to wait, if the client may try again.
        continue_: A token that goes on with a list whose versions have expired.
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

    def body(self) -> dict[str, Any]:
        """The `Status` object."""
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
    """A kind or a plural with its group, as messages name it: `leases.coordination.k8s.io`, `nodes`."""
    return f"{name}.{group}" if group else name


def _details(name: str, group: str, kind: str, causes: Sequence[Cause] = ()) -> dict[str, Any]:
    listed = [Cause(reason, abbreviated(text), abbreviated(field))._asdict() for reason, text, field in causes]
    details: dict[str, Any] = {"name": abbreviated(name), "group": group, "kind": kind, "causes": listed}
    return {key: value for key, value in details.items() if value}


def not_found(kind: Named, name: str) -> StatusError:
    """404: no such object."""
    message = f'{qualified(kind.plural, kind.group)} "{name}" not found'
    return StatusError(404, "NotFound", message, details=_details(name, kind.group, kind.plural))


def no_such_resource() -> StatusError:
    """404: the path names no resource of a group that is served."""
    return StatusError(404, "NotFound", "the server could not find the requested resource", details={})


def already_exists(kind: Named, name: str, *, terminating: bool = False, retry_after: int | None = None) -> StatusError:
    """409: the name is taken, or still taken by an object that is being deleted."""
    message = f'{qualified(kind.plural, kind.group)} "{name}" already exists'
    if terminating:
        message = f"object is being deleted: {message}"
    details = _details(name, kind.group, kind.plural)
    return StatusError(409, "AlreadyExists", message, details=details, retry_after=retry_after)


def conflict(kind: Named, name: str, text: str = OPTIMISTIC_LOCK) -> StatusError:
    """409: written since it was read."""
    message = f'Operation cannot be fulfilled on {qualified(kind.plural, kind.group)} "{name}": {text}'
    return StatusError(409, "Conflict", message, details=_details(name, kind.group, kind.plural))


def uid_conflict(kind: Named, namespace: str, name: str, asked: str, actual: str) -> StatusError:
    """409: an update meant another object of this name; `actual` is empty where there is none."""
    key = "/".join(part for part in ("/registry", kind.plural, namespace, name) if part)
    return conflict(
        kind,
        name,
        f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: "
        f"Precondition failed: UID in precondition: {asked}, UID in object meta: {actual}",
    )


def precondition_failed(kind: Named, name: str, what: str, asked: str, actual: str) -> StatusError:
    """409: the precondition of a delete does not hold; `what` is `UID` or `ResourceVersion`."""
    guess = "deleted and then recreated" if what == "UID" else "modified"
    text = f"the {what} in the precondition ({asked}) does not match the {what} in record ({actual})"
    message = f'{qualified(kind.kind, kind.group)} "{name}": {text}. The object might have been {guess}'
    details = _details(name, kind.group, kind.kind)
    return StatusError(409, "Conflict", f"Operation cannot be fulfilled on {message}", details=details)


def invalid(kind: Named, name: str, causes: Iterable[Cause]) -> StatusError:
    """422: the object breaks rules of its kind; all of them are told at once, each once in the message.

    Of very many the first are told, and how many more there are.
    """
    return _invalid(kind.kind, kind.group, name, causes)


def check(kind: Named, name: str, causes: Iterable[Cause]) -> None:
    """Refuse the object as `invalid` if there is a cause.

    Raises:
        StatusError: 422.
    """
    rest = iter(causes)
    for first in rest:
        raise invalid(kind, name, itertools.chain((first,), rest))


def must_have_version(kind: Named, name: str) -> StatusError:
    """422: an update of this kind has to say which version it read."""
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
    """422: a patch that cannot be applied to this object; a real server does not say why."""
    return StatusError(422, "Invalid", "the server rejected our request due to an error in our request", details={})


def bad_request(text: str) -> StatusError:
    """400: the request itself is wrong."""
    return StatusError(400, "BadRequest", text)


def unauthorized() -> StatusError:
    """401: no credentials, or wrong ones."""
    return StatusError(401, "Unauthorized", "Unauthorized")


def forbidden(kind: Named, name: str, text: str, causes: Sequence[Cause] = ()) -> StatusError:
    """403: not this object, not now, or not for this user."""
    message = f'{qualified(kind.plural, kind.group)} "{name}" is forbidden: {text}'
    return StatusError(403, "Forbidden", message, details=_details(name, kind.group, kind.plural, causes))


def impersonation_refused(user: str) -> StatusError:
    """403: asked in the name of another user, whose rights are not known."""
    text = "this server cannot impersonate anybody: roles are stored, not evaluated"
    return StatusError(
        403, "Forbidden", f'users "{user}" is forbidden: {text}', details={"name": user, "kind": "users"}
    )


def namespace_terminating(kind: Named, name: str, namespace: str) -> StatusError:
    """403: nothing new in a namespace that is going away."""
    text = f"unable to create new content in namespace {namespace} because it is being terminated"
    cause = Cause("NamespaceTerminating", f"namespace {namespace} is being terminated", "metadata.namespace")
    return forbidden(kind, name, text, [cause])


def method_not_allowed() -> StatusError:
    """405: the path is right, the verb is not."""
    text = "the server does not allow this method on the requested resource"
    return StatusError(405, "MethodNotAllowed", text, details={})


def not_acceptable(accepted: Sequence[str]) -> StatusError:
    """406: none of the media types asked for can be produced."""
    text = f"406: Not Acceptable\n\nAvailable representations: {', '.join(accepted)}"
    return StatusError(406, "NotAcceptable", text, details={})


def expired(text: str, continue_: str | None = None) -> StatusError:
    """410: the version asked for is no longer kept."""
    return StatusError(410, "Expired", text, continue_=continue_)


def too_large(text: str) -> StatusError:
    """413: more than the server is willing to read."""
    return StatusError(413, "RequestEntityTooLarge", f"Request entity too large: {text}")


def too_many_values() -> StatusError:
    """413: more values than the server is willing to look at."""
    return too_large(f"limit is {MOST_VALUES} values")


def unsupported_media_type(accepted: Sequence[str] = ()) -> StatusError:
    """415: the body is in a form that is not accepted; without `accepted`, the bare answer to an unknown patch."""
    if not accepted:
        return StatusError(415, "UnsupportedMediaType", "415: Unsupported Media Type", details={})
    types = ", ".join(accepted)
    text = f"the body of the request was in an unknown format - accepted media types include: {types}"
    return StatusError(415, "UnsupportedMediaType", text)


def disruption_refused(text: str, *, retry_after: int | None = None) -> StatusError:
    """429: an eviction that a disruption budget does not allow now."""
    return StatusError(
        429,
        "TooManyRequests",
        "Cannot evict pod as it would violate the pod's disruption budget.",
        details={"causes": [{"reason": "DisruptionBudget", "message": text}]},
        retry_after=retry_after,
    )


def internal(text: str) -> StatusError:
    """500: the server's own fault."""
    cause = {"message": text}
    return StatusError(500, "InternalError", f"Internal error occurred: {text}", details={"causes": [cause]})


def untyped(text: str) -> StatusError:
    """500 without a reason: what a real server makes of a few faults that are the client's."""
    return StatusError(500, "", text)


def too_large_version(asked: int | str, current: int | str) -> StatusError:
    """504: a version from the future, waited for in vain."""
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    text = f"Timeout: Too large resource version: {asked}, current: {current}"
    return StatusError(504, "Timeout", text, details={"causes": [cause]}, retry_after=1)

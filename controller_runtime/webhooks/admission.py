# SPDX-License-Identifier: Apache-2.0
"""The values that functions of webhooks take and return: one request for admission, and why it is refused."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, Literal, TypeVar

import attrs

from apimachinery.objects import ObjectKey
from apimachinery.plain_functions import called, plain

T = TypeVar("T")

Operation = Literal["CREATE", "UPDATE", "DELETE"]
"""The kinds of writes that a webhook is called for."""


@attrs.frozen
class User:
    """The user who made a request, as the API server authenticated them.

    Attributes:
        name: The name, such as `system:serviceaccount:default:builder`.
        uid: The uid of the user; empty if it has none.
        groups: The groups of the user.
        extra: Additional values from the authenticator.
    """

    name: str = ""
    uid: str = ""
    groups: Sequence[str] = ()
    extra: Mapping[str, Sequence[str]] = attrs.field(factory=dict)


NO_KEY = ObjectKey("")
"""The key of an object that has no name yet."""


def _no_object() -> None:
    return None


@attrs.define(slots=False)
class Admission(Generic[T]):
    """The write about which an API server asks a webhook, without the object itself.

    The old object of an update is decoded only when `old` is read. So a function that does not read `old` also works
    for an update that repairs an object which the class cannot read.

    Attributes:
        operation: `CREATE`, `UPDATE` or `DELETE`.
        key: Name and namespace. The name is empty if the server will generate it.
        user: The user who makes the request.
        dry_run: Whether the write is a dry run. Then a function must not have effects beyond its answer.
        subresource: The written subresource, such as `scale`; empty for the object itself.
        options: The options of the request, such as CreateOptions.
        read_old: Returns the object before the update; in tests use `lambda: old`.
    """

    operation: Operation = "CREATE"
    key: ObjectKey = attrs.field(default=NO_KEY)
    user: User = attrs.field(factory=User)
    dry_run: bool = False
    subresource: str = ""
    options: Mapping[str, Any] = attrs.field(factory=dict)
    read_old: Callable[[], T | None] = _no_object

    def __attrs_post_init__(self) -> None:
        plain("read_old", self.read_old)

    @functools.cached_property
    def old(self) -> T | None:
        """The object before an update; None for a creation, and for a deletion, whose object the function gets itself.

        Raises:
            UnreadableObject: The stored object cannot be decoded into the class. If it is not caught, the write is
                refused with this reason.
        """
        return called("read_old", self.read_old)


@attrs.frozen
class FieldError:
    """A reason to refuse a write. The client gets it like the server's own error for an invalid field (status 422).

    Attributes:
        path: The field, such as `spec.schedule` or `spec.doors[0].width`; empty for the whole object.
        text: The error, and how to correct it.
        value: The wrong value, for the message; None omits it.
        reason: The reason as a constant of the API, such as `FieldValueRequired`.
    """

    path: str
    text: str
    value: Any = None
    reason: str = "FieldValueInvalid"


Findings = Iterable[FieldError | str] | FieldError | None
"""The result of a check: reasons to refuse the write, and texts to warn the user of; nothing allows it silently."""

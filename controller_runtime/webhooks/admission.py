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
        uid: Its uid; empty if it has none.
        groups: Its groups.
        extra: Further facts from the authenticator.
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
    """One write that an API server asks about, next to the object itself.

    The object before an update is decoded when it is first asked for. An update must be able to repair an object that
    the class cannot read, so a function that does not look at `old` is not disturbed by it.

    Attributes:
        operation: `CREATE`, `UPDATE` or `DELETE`.
        key: Name and namespace. The name is empty if the server is still to generate it.
        user: The user who asks.
        dry_run: Whether nothing will be stored. A function with effects beyond its answer must not have them then.
        subresource: The subresource that is written, such as `scale`; empty for the object itself.
        options: The options of the request, such as CreateOptions.
        read_old: Returns the object before an update; for tests, `lambda: old`.
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
        """The object before an update; None for a creation, and for a deletion, which is judged by the object itself.

        Raises:
            UnreadableObject: The stored object cannot be read as the class. The write is refused with the reason.
        """
        return called("read_old", self.read_old)


@attrs.frozen
class FieldError:
    """A reason to refuse a write. Its user sees it as the server's own refusal of an invalid field (status 422).

    Attributes:
        path: The field, such as `spec.schedule` or `spec.doors[0].width`; empty for the whole object.
        text: The fault, and the right form.
        value: The wrong value, for the message; None leaves it out.
        reason: The kind of the refusal as the API has it, such as `FieldValueRequired`.
    """

    path: str
    text: str
    value: Any = None
    reason: str = "FieldValueInvalid"


Findings = Iterable[FieldError | str] | FieldError | None
"""The result of a check: reasons to refuse the write, and texts to warn the user of; nothing allows it silently."""

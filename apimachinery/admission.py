# SPDX-License-Identifier: Apache-2.0
"""The request of an AdmissionReview v1 as a value, which a server in the same process hands to webhooks as it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

NO_OBJECT: Final = b"null"
"""The JSON of an object that is absent."""

_NOTHING = msgspec.Raw(NO_OBJECT)
_NO_USER = msgspec.Raw(b"{}")


HandedUser = tuple[str, str, Sequence[str], Mapping[str, Sequence[str]]]
"""The name of a user, the uid, the groups, and further facts by key."""


class ReviewedKind(msgspec.Struct, gc=False, frozen=True):
    """The group, version and kind of the objects in an AdmissionReview."""

    group: str
    version: str
    kind: str


class AdmissionRequest(msgspec.Struct, gc=False, rename="camel"):
    """The `request` of an AdmissionReview.

    Attributes:
        uid: The identifier of the review; the response repeats it.
        kind: The kind of the objects.
        operation: `CREATE`, `UPDATE`, `DELETE` or `CONNECT`.
        user_info: The user of the request, as JSON.
        sub_resource: The subresource; empty for the object itself.
        name: The object's name.
        namespace: The object's namespace; empty for a cluster-scoped object.
        dry_run: True if the server will not store the object.
        object: The object as JSON; null for a deletion.
        old_object: The stored object before an update or a deletion; null otherwise. Read it by `old`.
        options: The options of the request, such as `CreateOptions`; None if absent.
    """

    uid: str
    kind: ReviewedKind
    operation: str
    user_info: msgspec.Raw = _NO_USER
    sub_resource: str = ""
    name: str = ""
    namespace: str = ""
    dry_run: bool | None = None
    object: msgspec.Raw = _NOTHING
    old_object: msgspec.Raw = _NOTHING
    options: dict[str, Any] | None = None

    def old(self) -> bytes:
        """Return the stored object before an update or a deletion, as JSON; `null` otherwise."""
        return bytes(self.old_object)

    def handed_user(self) -> HandedUser | None:
        """Return the user, if it was passed within the process and not as JSON; None if `user_info` has the user."""
        return None


class HandedRequest(AdmissionRequest, gc=False, kw_only=True):
    """A request that a server passes to a webhook in the same process, without encoding it as JSON.

    The old object is encoded only when the webhook calls `old`.

    Attributes:
        user: The user of the request.
        encode_old: A function that returns the object before the write as JSON. That object must not be modified
            before.
    """

    user: HandedUser
    encode_old: Callable[[], bytes]

    def old(self) -> bytes:
        """Return the stored object before an update or a deletion, as JSON; `null` otherwise."""
        return self.encode_old()

    def handed_user(self) -> HandedUser | None:
        """Return the user of the request."""
        return self.user

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
    """The kind of the objects of a review."""

    group: str
    version: str
    kind: str


class AdmissionRequest(msgspec.Struct, gc=False, rename="camel"):
    """The request of an AdmissionReview.

    Attributes:
        uid: Repeated in the answer.
        kind: The kind of the objects.
        operation: `CREATE`, `UPDATE`, `DELETE` or `CONNECT`.
        user_info: The user of the request, as JSON.
        sub_resource: The subresource.
        name: The object's name.
        namespace: Its namespace.
        dry_run: Whether nothing will be stored.
        object: The object as JSON; null for a deletion.
        old_object: The object before it, for updates and deletions; see `old`.
        options: The options of the request.
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
        """Return the object before an update or a deletion, as JSON."""
        return bytes(self.old_object)

    def handed_user(self) -> HandedUser | None:
        """Return the user of a request that was never encoded; None if `user_info` has it."""
        return None


class HandedRequest(AdmissionRequest, gc=False, kw_only=True):
    """A request that was never encoded; the state before the write is, when a webhook asks for it.

    Attributes:
        user: The user of the request.
        encode_old: Returns the object before the write as JSON. The object must not be modified meanwhile.
    """

    user: HandedUser
    encode_old: Callable[[], bytes]

    def old(self) -> bytes:
        """Return the object before an update or a deletion, as JSON."""
        return self.encode_old()

    def handed_user(self) -> HandedUser | None:
        """Return the user of the request."""
        return self.user

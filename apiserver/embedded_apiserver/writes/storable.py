# SPDX-License-Identifier: Apache-2.0
"""The limits to the size of a stored object."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from embedded_apiserver.bounds import MOST_STORED, MOST_VALUES, values_in
from embedded_apiserver.status import too_many_values, untyped
from embedded_apiserver.storage.stored import Draft

# Room for the status that the server later writes into a definition: in bytes, and as generous a bound for its values.
_STATUS_ROOM = 16 << 10


def storable(obj: Mapping[str, Any], *, is_definition: bool = False) -> Draft:
    """Return the encoded form of an object to store, unless it exceeds a limit.

    The limit is lower for a custom resource definition, so that the server can still write its status.

    Raises:
        StatusError: 500, the encoded object has too many bytes; 413, it has too many values. With the fields that the
            server adds, such an object would exceed the limit of a request, so that no client could update it.
    """
    draft, room = Draft.of(obj), _STATUS_ROOM if is_definition else 0
    size = len(draft.head) + len(draft.tail)
    if size > MOST_STORED - room:
        raise untyped("etcdserver: request is too large")  # the text of a real server
    if size > MOST_VALUES - room and values_in(draft.unversioned()) > MOST_VALUES - room:
        raise too_many_values()
    return draft

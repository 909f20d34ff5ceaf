# SPDX-License-Identifier: Apache-2.0
"""How large an object may become."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controller_runtime.apiserver.bounds import MOST_STORED, MOST_VALUES, values_in
from controller_runtime.apiserver.status import too_many_values, untyped
from controller_runtime.apiserver.storage.stored import Draft

_NOTED = 16 << 10  # bytes, and far more than values, of the status of a definition


def storable(obj: Mapping[str, Any], *, is_definition: bool = False) -> Draft:
    """Return what is to be stored, of an object that a client wrote.

    A definition leaves room for what the server will note in its status.

    Raises:
        StatusError: 413 or 500, a client that reads the object could not send it back.
    """
    draft, room = Draft.of(obj), _NOTED if is_definition else 0
    size = len(draft.head) + len(draft.tail)
    if size > MOST_STORED - room:
        raise untyped("etcdserver: request is too large")  # so a real server says it
    if size > MOST_VALUES - room and values_in(draft.unversioned()) > MOST_VALUES - room:
        raise too_many_values()
    return draft

# SPDX-License-Identifier: Apache-2.0
"""Patches of three forms, told apart by their media type. Pure functions over plain dicts.

What a patch leaves alone is shared with the object it was applied to, so that whoever
checks the result can skip it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from controller_runtime.apiserver import status
from controller_runtime.apiserver.kinds.registry import Kind
from controller_runtime.apiserver.writes import jsonpatch, mergepatch, strategic
from controller_runtime.apiserver.writes.documents import check_values
from controller_runtime.core.errors import UNREADABLE

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
"""Which is no patch of this form: see `apply`."""


def patches_of(kind: Kind) -> tuple[str, ...]:
    """The media types of patches that a kind takes: custom kinds have no merge keys, so nothing strategic."""
    if kind.definition is not None:
        return (JSON_PATCH, MERGE_PATCH, APPLY_PATCH)
    return (JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, APPLY_PATCH)


def form_of(kind: Kind, content_type: str) -> str:
    """The media type of a patch that is applied to objects of `kind`, or to their scales.

    Raises:
        StatusError: 415, they take no such patch.
    """
    media_type = content_type.partition(";")[0].strip().lower()
    if media_type == APPLY_PATCH or media_type not in patches_of(kind):
        # A real server names what it takes for custom kinds alone.
        raise status.unsupported_media_type(patches_of(kind) if kind.definition else ())
    return media_type


def apply_patch(kind: Kind, content_type: str, current: Mapping[str, Any], patch: bytes) -> dict[str, Any]:
    """`current` with `patch` applied; what the patch leaves alone is shared with `current`, which is not modified.

    The result carries kind and apiVersion, so that a patch may test or state them, and is not
    checked yet: give it to `admit` with `old=current`.

    Raises:
        StatusError: 400 for what is no such patch, 413 for one of too many values or operations,
            415 for another media type, 422 for what cannot be applied to this object.
    """
    media_type = form_of(kind, content_type)
    check_values(patch)
    try:
        document = msgspec.json.decode(patch)
        whole = {"kind": kind.kind, "apiVersion": kind.api_version, **current}
        if media_type == JSON_PATCH:
            return jsonpatch.apply(whole, document)
        if type(document) is not dict:
            raise status.bad_request(f"error decoding patch: expected an object, got {patch[:30].decode()}")
        if media_type == MERGE_PATCH:
            return mergepatch.apply(whole, document)
        return strategic.apply(kind.schema, whole, document)
    except UNREADABLE as error:
        raise status.bad_request(f"error decoding patch: {error}") from error

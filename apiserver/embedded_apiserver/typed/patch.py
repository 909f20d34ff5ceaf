# SPDX-License-Identifier: Apache-2.0
"""Patches in three formats, chosen by media type. Pure functions on plain dicts.

The result shares the parts that a patch does not change with the object, so that validation can skip them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from apimachinery.errors import UNREADABLE
from embedded_apiserver import status
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.typed import jsonpatch, mergepatch, strategic
from embedded_apiserver.typed.documents import check_values, no_object, why_unreadable

_GO_MAP = "Go value of type map[string]interface {}"
JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
"""The media type of server-side apply, which `apply` handles: its body is a configuration and not a patch."""


def patches_of(kind: Kind) -> tuple[str, ...]:
    """Return the media types of the patches that a kind supports.

    Custom kinds do not support strategic merge patches, because their schemas have no merge keys.
    """
    if kind.definition is not None:
        return (JSON_PATCH, MERGE_PATCH, APPLY_PATCH)
    return (JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, APPLY_PATCH)


def form_of(kind: Kind, content_type: str) -> str:
    """Return the media type of a patch without parameters, if the kind supports it.

    Raises:
        StatusError: 415, the kind does not support such patches, or it is server-side apply, which is no patch.
    """
    media_type = content_type.partition(";")[0].strip().lower()
    if media_type == APPLY_PATCH or media_type not in patches_of(kind):
        # Like a real server, list the accepted media types for custom kinds only.
        raise status.unsupported_media_type(patches_of(kind) if kind.definition else ())
    return media_type


def check_patch_type(kind: Kind, content_type: str) -> None:
    """Refuse a patch of a built-in kind in an unsupported format, before anything else is checked.

    Raises:
        StatusError: 415, the format is not supported.
    """
    media_type = content_type.partition(";")[0].strip().lower()
    if kind.definition is None and media_type not in patches_of(kind):
        raise status.unsupported_media_type(())


def apply_patch(kind: Kind, content_type: str, current: Mapping[str, Any], patch: bytes) -> dict[str, Any]:
    """Return `current` with a patch applied. `current` is not modified; unchanged parts are shared with the result.

    The result has kind and apiVersion, which a patch may test or change. It is not validated yet: pass it to `admit`
    with `old=current`.

    Raises:
        StatusError: 400, the patch is malformed; 413, it has too many values or operations; 415, its media type is not
            supported; 422, it cannot be applied to this object; 500, a `$patch` has an unknown value.
    """
    media_type = form_of(kind, content_type)
    check_values(patch)
    try:
        document = msgspec.json.decode(patch)
        whole = {"kind": kind.kind, "apiVersion": kind.api_version, **current}
        if media_type == JSON_PATCH:
            return jsonpatch.apply(whole, document)
        if document is None and media_type == STRATEGIC_MERGE_PATCH:
            return whole  # as a patch without fields
        if type(document) is not dict:
            raise _refused(media_type, "" if document is None else f"{no_object(document)} {_GO_MAP}")
        if media_type == MERGE_PATCH:
            return mergepatch.apply(whole, document)
        return strategic.apply(kind.schema, whole, document)
    except UNREADABLE as error:
        raise _refused(media_type, why_unreadable(patch, error)) from error


def _refused(media_type: str, problem: str) -> status.StatusError:
    """Return the refusal of a patch that is not an object, in the words of a real API server; null has no `problem`."""
    if not problem:
        return status.bad_request("Invalid JSON Patch")
    return status.bad_request(problem if media_type == STRATEGIC_MERGE_PATCH else f"error decoding patch: {problem}")

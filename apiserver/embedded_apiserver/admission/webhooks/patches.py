# SPDX-License-Identifier: Apache-2.0
"""Applies the patches of admission webhooks, with a real API server's words for those that do not apply."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from embedded_apiserver.bounds import MOST_VALUES, values_in
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.objects import Object
from embedded_apiserver.status import internal
from embedded_apiserver.typed.body import reread
from embedded_apiserver.typed.jsonpatch import (
    MAX_OPERATIONS,
    Inapplicable,
    Missing,
    MissingKey,
    Patched,
    PatchOperation,
)
from embedded_apiserver.typed.jsonpatch import operations_in as read
from embedded_apiserver.typed.shape import Misshapen

_KNOWN = ("add", "replace", "remove", "copy", "move", "test")


def patched_by_webhook(kind: Kind, shown: Object, operations: Sequence[Any]) -> Object:
    """Return the result of a webhook's JSON patch to an object: decoded, with defaults, without kind and apiVersion.

    Args:
        kind: The kind of the object.
        shown: The object as sent to the webhook, with kind and apiVersion.
        operations: The operations of the patch.

    Raises:
        StatusError: 500, the patch cannot be applied, or the result is not an object of this kind.
    """
    try:
        steps = read(operations)
    except msgspec.ValidationError as error:
        raise internal(f"error decoding patch: {error}") from error
    if len(steps) > MAX_OPERATIONS:
        raise internal(f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(steps)}")
    patched = Patched(dict(shown))
    for step in steps:
        try:
            patched.apply(step)
        except Inapplicable as error:
            raise internal(words_for(step, error)) from error
    if type(patched.root) is not dict:
        raise internal("couldn't get version/kind; json parse error: the patch leaves no object")
    if values_in(msgspec.json.encode(patched.root)) > MOST_VALUES:
        raise internal(f"the patched object has more than {MOST_VALUES} values")
    try:
        return reread(kind, patched.root, shown)
    except Misshapen as error:
        raise internal(str(error)) from error


def words_for(step: PatchOperation, error: Inapplicable) -> str:
    """Return the error message for a patch operation that cannot be applied, in the words of a real API server."""
    op, path = step.op or "", step.path or ""
    if op not in _KNOWN:
        return f"Unexpected kind: {'unknown' if step.op is None else op}"
    if op == "test":
        return f"testing value {path} failed: test failed"
    if isinstance(error, MissingKey):
        key = path.rpartition("/")[2]
        return f"error in remove for path: '{path}': Unable to remove nonexistent key: {key}: missing value"
    if isinstance(error, Missing):
        shown = path if op == "replace" else f'"{path}"'
        return f"{op} operation does not apply: doc is missing path: {shown}: missing value"
    return f"{op} operation does not apply: {error}"

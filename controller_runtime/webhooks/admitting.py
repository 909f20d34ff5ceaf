# SPDX-License-Identifier: Apache-2.0
"""Answers AdmissionReviews: calls the function of a webhook, and makes its result a patch or a refusal.

A typed function sees the fields of its class only. So the patch is made from what the function changed, and all other
fields of the object stay as they are.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, cast, get_args

import msgspec

from apimachinery.admission import NO_OBJECT, AdmissionRequest
from apimachinery.errors import DecodeError
from apimachinery.objects import ObjectKey
from controller_runtime.api.differ import merge_patch, merge_patched
from controller_runtime.api.unreadable import UnreadableObject
from controller_runtime.crd.merging import graft
from controller_runtime.crd.writing import written
from controller_runtime.webhooks.admission import Admission, FieldError, Operation
from controller_runtime.webhooks.hooks import ChecksHook, DefaultsHook, Hook
from controller_runtime.webhooks.json_patch import json_patch
from controller_runtime.webhooks.reviews import (
    ADMISSION,
    NotAReview,
    admission_of,
    allowed,
    answer,
    shown_paths,
    user_of,
)

T = TypeVar("T")

_ALLOWED: Mapping[str, Any] = {"allowed": True}
_OPERATIONS: tuple[Operation, ...] = get_args(Operation)


def admit(hook: Hook[Any], body: bytes) -> bytes:
    """Return the answer to an AdmissionReview.

    Raises:
        NotAReview: The body is not an AdmissionReview v1, or is of another kind than the webhook's.
        Exception: The function of the webhook raised it.
    """
    asked = admission_of(body)
    response = admitted(hook, asked)
    return allowed(asked.uid) if response is None else answer(ADMISSION, {"uid": asked.uid, **response})


def admitted(hook: Hook[Any], asked: AdmissionRequest) -> Mapping[str, Any] | None:
    """Return the response to an admission request, without its uid; None to allow it without patch or warning.

    Raises:
        NotAReview: The request is for another kind than the webhook's.
        Exception: The function of the webhook raised it.
    """
    _refuse_others(hook, asked)
    raw = asked.old() if asked.operation == "DELETE" else bytes(asked.object)
    if raw == NO_OBJECT:
        # Servers before 1.15 sent no object with a deletion; a later one that sends none is wrong.
        raise NotAReview(f"this AdmissionReview of operation {asked.operation} has no object")
    try:
        response = _response(hook, asked, raw)
    except DecodeError as error:  # an object without a name yet is not even an `UnreadableObject`
        reason = error.reason if isinstance(error, UnreadableObject) else str(error)
        response = _refusal(asked, [FieldError("", f"it cannot be read: {reason}")])
    return None if response is _ALLOWED else response


def _response(hook: Hook[Any], asked: AdmissionRequest, raw: bytes) -> Mapping[str, Any]:
    obj, request = hook.decoder(raw), _admission(hook, asked)
    if isinstance(hook, DefaultsHook):
        filled = hook.fill(obj, request)
        if isinstance(filled, FieldError):
            return _refusal(asked, [filled])
        return _patch(hook, raw, filled)
    findings = cast("ChecksHook[Any]", hook).refuse(obj, request)
    if findings is None:
        return _ALLOWED
    found = [findings] if isinstance(findings, FieldError | str) else [*(findings or ())]
    warnings = [each for each in found if isinstance(each, str)]
    refusals = [each for each in found if isinstance(each, FieldError)]
    if len(warnings) + len(refusals) != len(found):
        raise TypeError(
            f"{hook.name} returned something that is neither a FieldError nor a warning (str): {found!r:.200}"
        )
    response = _refusal(asked, refusals) if refusals else _ALLOWED
    return {**response, "warnings": warnings} if warnings else response


def _refuse_others(hook: Hook[Any], asked: AdmissionRequest) -> None:
    resource, kind = hook.resource, asked.kind
    if (kind.group, kind.version, kind.kind) != (resource.group, resource.version, resource.kind):
        got = f"{kind.kind} of {kind.group}/{kind.version}".replace("of /", "of ")
        raise NotAReview(f"{hook.name} is for {resource.kind} of {resource.api_version}, got {got[:200]}")
    if asked.operation not in _OPERATIONS:
        raise NotAReview(f"{hook.name} is for {', '.join(hook.operations)}, got operation {asked.operation[:50]!r}")


def _admission(hook: Hook[T], asked: AdmissionRequest) -> Admission[T]:
    def read_old() -> T | None:
        if asked.operation != "UPDATE":
            return None
        old = asked.old()
        return hook.decoder(old) if old != NO_OBJECT else None

    return Admission(
        cast("Operation", asked.operation),
        ObjectKey(asked.name, asked.namespace),
        user_of(asked),
        bool(asked.dry_run),
        asked.sub_resource,
        asked.options or {},
        read_old,
    )


def _patch(hook: DefaultsHook[Any], raw: bytes, filled: Any) -> Mapping[str, Any]:
    if filled is None:
        raise TypeError(f"{hook.name} returned None: return the object, changed or not")
    before = msgspec.json.decode(raw)
    if isinstance(filled, dict):  # it has all fields, so those that are gone were removed
        return _allowed(json_patch(before, msgspec.json.decode(msgspec.json.encode(filled))))
    # Decoded once more, since the function may have changed the object that it was given.
    old, new = written(hook.decoder(raw), defaults=True), written(filled, defaults=True)
    changed = merge_patch(old, new)
    if not changed:
        return _allowed([])
    whole = graft(changed, old, before, hook.schema, hook.resource.kind)
    # Encoded and decoded, because a class may have dates and enums where JSON has texts.
    after = merge_patched(before, msgspec.json.decode(msgspec.json.encode(whole)))
    return _allowed(json_patch(before, after))


def _allowed(operations: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    if not operations:
        return _ALLOWED
    patch = base64.b64encode(msgspec.json.encode(operations)).decode()
    return {"allowed": True, "patchType": "JSONPatch", "patch": patch}


def _refusal(asked: AdmissionRequest, refused: Sequence[FieldError]) -> dict[str, Any]:
    """Return the answer whose status is that of an invalid object; an API server passes it on."""
    kind, causes = asked.kind, [_cause(each) for each in refused]
    name = asked.name or "(no name yet)"
    of = f"{kind.kind}.{kind.group}" if kind.group else kind.kind
    status = {
        "status": "Failure",
        "reason": "Invalid",
        "code": 422,
        "message": f'{of} "{name}" is invalid: {shown_paths(causes)}',
        "details": {"name": asked.name, "group": kind.group, "kind": kind.kind, "causes": causes},
    }
    return {"allowed": False, "status": status}


_WORDS = {
    "FieldValueInvalid": "Invalid value",
    "FieldValueRequired": "Required value",
    "FieldValueForbidden": "Forbidden",
    "FieldValueNotSupported": "Unsupported value",
    "FieldValueDuplicate": "Duplicate value",
    "FieldValueNotFound": "Not found",
    "FieldValueTooLong": "Too long",
    "FieldValueTooMany": "Too many",
}


def _cause(refused: FieldError) -> dict[str, str]:
    words = _WORDS.get(refused.reason, "Invalid value")
    value = "" if refused.value is None else f" {msgspec.json.encode(refused.value).decode()[:200]}:"
    text = f"{words}:{value} {refused.text}" if refused.path else refused.text
    return {"reason": refused.reason, "message": text, "field": refused.path.removeprefix(".")}

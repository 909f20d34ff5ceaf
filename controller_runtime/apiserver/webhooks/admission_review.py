# SPDX-License-Identifier: Apache-2.0
"""What an admission webhook answers: an `AdmissionReview`, in one of two API versions."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec

from controller_runtime.apiserver.webhooks.caller import Caller, Target
from controller_runtime.apiserver.webhooks.exchange import CallFailed, Kind, exchange, of_type

_GROUP = "admission.k8s.io"
_RESPONSE = "AdmissionResponse.response"
_VERSIONS = ("v1", "v1beta1")


class InvalidAnswer(CallFailed):
    """The webhook has answered with a review that says what it must not say."""


class Undecodable(CallFailed):
    """The webhook has answered with a patch that is none."""


class Verdict(NamedTuple):
    """What a webhook says.

    Attributes:
        allowed: Whether it lets the write through.
        status: The status with which it refuses the write; empty if it gives none.
        warnings: Warnings for the client.
        patch: The operations of its patch; None if it sent no patch.
        annotations: What it adds to the line of the audit log.
    """

    allowed: bool
    status: Mapping[str, Any]
    warnings: Sequence[str]
    patch: Sequence[Any] | None = None
    annotations: Mapping[str, str] = MappingProxyType({})


_ALLOWED = Verdict(True, {}, ())


def ask(
    caller: Caller,
    target: Target,
    versions: Sequence[str],
    request: Mapping[str, Any],
    seconds: float,
    *,
    may_patch: bool,
) -> Verdict:
    """Ask a webhook about a write.

    Args:
        caller: Makes the call.
        target: Where the webhook is.
        versions: The versions of reviews that it understands, the preferred one first.
        request: The request of the review.
        seconds: The time after which the call is given up.
        may_patch: Whether the webhook may change the object.

    Raises:
        InvalidAnswer: The answer contradicts itself or the request.
        Undecodable: Its patch is none.
        CallFailed: There is no answer that can be used.
    """
    version = next((one for one in versions if one in _VERSIONS), "")
    if not version:
        raise InvalidAnswer("webhook does not accept known AdmissionReview versions (v1, v1beta1)")
    expected = Kind(f"{_GROUP}/{version}", "AdmissionReview")
    review = {"kind": expected.kind, "apiVersion": expected.api_version, "request": request}
    answer = exchange(caller, target, review, expected, seconds, tells_time=True)
    response = of_type(answer.get("response"), dict, "AdmissionReview.response", None)
    if response is None:
        raise InvalidAnswer("webhook response was absent")
    return _verdict(response, answer, expected, request["uid"], may_patch=may_patch)


def _verdict(
    response: Mapping[str, Any], answer: Mapping[str, Any], expected: Kind, uid: str, *, may_patch: bool
) -> Verdict:
    is_strict, head = expected.api_version.endswith("/v1"), (answer.get("apiVersion") or "", answer.get("kind") or "")
    if head == expected and response == {"uid": uid, "allowed": True}:  # the usual answer, without a further look
        return _ALLOWED
    sent = of_type(response.get("uid"), str, f"{_RESPONSE}.uid", "")
    allowed = of_type(response.get("allowed"), bool, f"{_RESPONSE}.allowed", False)
    status = of_type(response.get("status"), dict, f"{_RESPONSE}.status", {})
    warnings = of_type(response.get("warnings"), list, f"{_RESPONSE}.warnings", [])
    for one in warnings:
        of_type(one, str, f"{_RESPONSE}.warnings", "")
    annotations = of_type(response.get("auditAnnotations"), dict, f"{_RESPONSE}.auditAnnotations", {})
    for value in annotations.values():
        of_type(value, str, f"{_RESPONSE}.auditAnnotations", "")
    text = of_type(response.get("patch"), str, f"{_RESPONSE}.patch", "")
    form = of_type(response.get("patchType"), str, f"{_RESPONSE}.patchType", None)
    try:
        packed = base64.b64decode(text, validate=True)
    except binascii.Error:
        first = next((index for index, one in enumerate(text) if not (one.isalnum() or one in "+/=")), len(text))
        raise CallFailed(f"illegal base64 data at input byte {first}") from None
    if is_strict:
        if sent != uid:
            raise InvalidAnswer(f'expected response.uid="{uid}", got "{sent}"')
        if head != expected:
            shown = f"{head[0] or '/'}, Kind={head[1]}"
            raise InvalidAnswer(
                f"expected webhook response of {expected.api_version}, Kind={expected.kind}, got {shown}"
            )
        _check_patch(packed, form, may_patch=may_patch)
    if not packed or not may_patch or not allowed:
        return Verdict(allowed, status, warnings, None, annotations)
    if is_strict and form != "JSONPatch":
        raise Undecodable(f'unsupported patch type "{form}"')
    return Verdict(allowed, status, warnings, _operations(packed), annotations)


def _check_patch(packed: bytes, form: str | None, *, may_patch: bool) -> None:
    if not may_patch:
        if packed:
            raise InvalidAnswer("validating webhook may not return response.patch")
        if form is not None:
            raise InvalidAnswer("validating webhook may not return response.patchType")
        return
    if packed and form is None:
        raise InvalidAnswer("webhook returned response.patch but not response.patchType")
    if not packed and form is not None:
        raise InvalidAnswer("webhook returned response.patchType but not response.patch")
    if form == "":
        raise InvalidAnswer('webhook returned invalid response.patchType of ""')


def _operations(packed: bytes) -> Sequence[Any]:
    what = "received undecodable patch in webhook response: "
    try:
        operations = msgspec.json.decode(packed)
    except (ValueError, RecursionError):
        first = packed.lstrip()[:1].decode("utf-8", "replace")
        raise Undecodable(f"{what}invalid character '{first}' looking for beginning of value") from None
    if type(operations) is not list:
        found = "object" if type(operations) is dict else "string"
        raise Undecodable(f"{what}json: cannot unmarshal {found} into Go value of type jsonpatch.Patch")
    return operations

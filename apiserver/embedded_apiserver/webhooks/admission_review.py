# SPDX-License-Identifier: Apache-2.0
"""The answer of an admission webhook: an `AdmissionReview`, in one of two API versions."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec

from apimachinery.admission import AdmissionRequest
from embedded_apiserver.webhooks.caller import Caller, Hand, Target, Unreached
from embedded_apiserver.webhooks.exchange import (
    CallFailed,
    ReviewKind,
    body_of,
    exchange,
    of_type,
    review_in,
    unreached,
)

_GROUP = "admission.k8s.io"
_RESPONSE = "AdmissionResponse.response"
_EXPECTED = {version: ReviewKind(f"{_GROUP}/{version}", "AdmissionReview") for version in ("v1", "v1beta1")}
_HANDED = "v1"  # the version whose requests are handed over as they are
_HEADS = {
    version: b'{"kind":"%b","apiVersion":"%b","request":' % (kind.kind.encode(), kind.api_version.encode())
    for version, kind in _EXPECTED.items()
}


class InvalidAnswer(CallFailed):
    """A webhook's AdmissionReview is invalid, for example because it contradicts the request."""


class Undecodable(CallFailed):
    """A webhook's patch is invalid."""


class Verdict(NamedTuple):
    """The response of an admission webhook to a write.

    Attributes:
        allowed: True if the webhook allows the write.
        status: The `Status` for the refusal of the write; empty if absent.
        warnings: Warnings for the client.
        patch: The operations of the webhook's JSON patch; None if it sent no patch.
        annotations: The webhook's audit annotations.
    """

    allowed: bool
    status: Mapping[str, Any]
    warnings: Sequence[str]
    patch: Sequence[Any] | None = None
    annotations: Mapping[str, str] = MappingProxyType({})


_ALLOWED = Verdict(True, {}, ())


class _Response(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    uid: str
    allowed: bool


class _AdmissionReview(msgspec.Struct, gc=False, rename="camel"):
    api_version: str
    kind: str
    response: _Response


# Reads the answers to most reviews. All that fails it is looked at field by field, to say what is wrong with it.
_usual = msgspec.json.Decoder(_AdmissionReview)


def version_of(versions: Sequence[str]) -> str:
    """Return the first version of AdmissionReview in `versions` that this server supports; empty if there is none."""
    return next((one for one in versions if one in _EXPECTED), "")


def ask(
    caller: Caller,
    target: Target,
    version: str,
    uid: str,
    request: bytes,
    seconds: float,
    *,
    may_patch: bool,
) -> Verdict:
    """Send an AdmissionReview to a webhook and return its response.

    Args:
        caller: Sends the request.
        target: The address of the webhook.
        version: The version of AdmissionReview to send; empty if this server supports none of the webhook's versions.
        uid: The identifier of the review.
        request: The `request` of the review, as JSON.
        seconds: The timeout of the call.
        may_patch: True if the webhook may change the object.

    Raises:
        InvalidAnswer: The response is invalid or does not match the request, or `version` is empty.
        Undecodable: The patch in the response is invalid.
        CallFailed: There is no usable response.
    """
    if not version:
        raise InvalidAnswer("webhook does not accept known AdmissionReview versions (v1, v1beta1)")
    expected = _EXPECTED[version]
    body = exchange(caller, target, b"%b%b}" % (_HEADS[version], request), seconds, tells_time=True)
    return _ALLOWED if _allows(body, expected, uid) else _read(body, expected, uid, may_patch=may_patch)


def handed(
    hand: Hand,
    target: Target,
    version: str,
    request: Callable[[], AdmissionRequest],
    seconds: float,
    *,
    may_patch: bool,
) -> Verdict | None:
    """Call a webhook in this process without encoding the review; return None if the review must be sent by `ask`.

    Args:
        hand: Passes the review to the webhook.
        target: The address of the webhook.
        version: The version of AdmissionReview that the webhook supports.
        request: A function that returns the `request` of the review, whose uid is empty.
        seconds: The timeout of the call.
        may_patch: True if the webhook may change the object.

    Raises:
        InvalidAnswer: The response is invalid, or does not match the request.
        Undecodable: The patch in the response is invalid.
        CallFailed: There is no usable response.
    """
    if version != _HANDED:
        return None
    try:
        answer = hand(target, request, seconds)
    except Unreached as error:
        raise unreached(target, seconds, error) from error
    if isinstance(answer, bool):
        return _ALLOWED if answer else None
    return _read(body_of(answer), _EXPECTED[version], "", may_patch=may_patch)


def _read(body: bytes, expected: ReviewKind, uid: str, *, may_patch: bool) -> Verdict:
    answer = review_in(body, expected)
    response = of_type(answer.get("response"), dict, "AdmissionReview.response", None)
    if response is None:
        raise InvalidAnswer("webhook response was absent")
    return _verdict(response, answer, expected, uid, may_patch=may_patch)


def _allows(body: bytes, expected: ReviewKind, uid: str) -> bool:
    """Return whether an answer says that the write is allowed, and nothing else."""
    try:
        review = _usual.decode(body)
    except (ValueError, RecursionError):
        return False
    said = review.response
    return said.allowed and said.uid == uid and (review.api_version, review.kind) == expected


def _verdict(
    response: Mapping[str, Any], answer: Mapping[str, Any], expected: ReviewKind, uid: str, *, may_patch: bool
) -> Verdict:
    is_strict, head = expected.api_version.endswith("/v1"), (answer.get("apiVersion") or "", answer.get("kind") or "")
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

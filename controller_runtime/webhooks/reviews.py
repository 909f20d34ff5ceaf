# SPDX-License-Identifier: Apache-2.0
"""AdmissionReview and ConversionReview v1 as they come and go: decoded as far as needed, objects as bytes."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from apimachinery.admission import AdmissionRequest
from controller_runtime.webhooks.admission import User

ADMISSION: Final = ("admission.k8s.io/v1", "AdmissionReview")
CONVERSION: Final = ("apiextensions.k8s.io/v1", "ConversionReview")

_NOTHING = msgspec.Raw(b"null")
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""The errors of decoding: no JSON, of other types, no UTF-8, or nested too deep."""


class NotAReview(ValueError):
    """Raised if a body is not the expected review; the message says what it is instead."""


_ALLOWED = b'{"apiVersion":"%b","kind":"%b","response":{"uid":%%b,"allowed":true}}' % tuple(
    part.encode() for part in ADMISSION
)


class _Who(msgspec.Struct, gc=False):
    username: str = ""
    uid: str = ""
    groups: list[str] | None = None
    extra: dict[str, list[str]] | None = None


class ConversionAsked(msgspec.Struct, gc=False, rename="camel"):
    """The request of a ConversionReview.

    Attributes:
        uid: The identifier of the request, which the answer repeats.
        desired_api_version: The `apiVersion` to which all objects must be converted.
        objects: The objects as JSON.
    """

    uid: str
    desired_api_version: str = msgspec.field(name="desiredAPIVersion")
    objects: list[msgspec.Raw]


class _WebhookReview(msgspec.Struct, gc=False, rename="camel"):
    api_version: str = ""
    kind: str = ""
    request: msgspec.Raw = _NOTHING


class _Usual(msgspec.Struct, gc=False, rename="camel"):
    api_version: str
    kind: str
    request: AdmissionRequest


_usual = msgspec.json.Decoder(_Usual)
_review = msgspec.json.Decoder(_WebhookReview)
_admission = msgspec.json.Decoder(AdmissionRequest)
_conversion = msgspec.json.Decoder(ConversionAsked)
_who = msgspec.json.Decoder(_Who)


def admission_of(body: bytes) -> AdmissionRequest:
    """Return the request of an AdmissionReview v1.

    Raises:
        NotAReview: The body is not an AdmissionReview v1.
    """
    try:
        # At once, because each write waits for it; a body that is none is looked at in steps, to say what it is.
        usual = _usual.decode(body)
        if (usual.api_version, usual.kind) == ADMISSION and usual.request.uid:
            return usual.request
    except _UNREADABLE:
        pass
    try:
        asked = _admission.decode(_request_of(body, ADMISSION))
    except _UNREADABLE as error:
        raise NotAReview(f"not an AdmissionReview: {_plain(error)}") from error
    if not asked.uid:
        raise NotAReview("not an AdmissionReview: request.uid is empty")
    return asked


def user_of(asked: AdmissionRequest) -> User:
    """Return the user who makes the request of a review.

    Raises:
        NotAReview: The user data are malformed.
    """
    if (handed := asked.handed_user()) is not None:
        name, uid, groups, extra = handed
        return User(name, uid, groups, {key: [*values] for key, values in extra.items()})
    raw = bytes(asked.user_info)
    if b'"extra"' not in raw:
        return User(*_user_without_extra(raw))  # a new one, because a function may write into its `extra`
    who = _who_in(raw)
    return User(who.username, who.uid, tuple(who.groups or ()), who.extra or {})


@functools.lru_cache(maxsize=64)
def _user_without_extra(raw: bytes) -> tuple[str, str, tuple[str, ...]]:
    who = _who_in(raw)
    return who.username, who.uid, tuple(who.groups or ())


def _who_in(raw: bytes) -> _Who:
    try:
        return _who.decode(raw)
    except _UNREADABLE as error:
        raise NotAReview(f"not an AdmissionReview: {_plain(error).replace('$', '$.userInfo', 1)}") from error


def conversion_of(body: bytes) -> ConversionAsked:
    """Return the request of a ConversionReview v1.

    Raises:
        NotAReview: The body is not a ConversionReview v1.
    """
    try:
        return _conversion.decode(_request_of(body, CONVERSION))
    except _UNREADABLE as error:
        raise NotAReview(f"not a ConversionReview: {_plain(error)}") from error


def _request_of(body: bytes, expected: tuple[str, str]) -> msgspec.Raw:
    review = _review.decode(body)
    found = (review.api_version, review.kind)
    if found != expected:
        shown = " ".join(part for part in found if part) or "an object without apiVersion and kind"
        raise NotAReview(f"expected {' '.join(expected)}, got {shown[:200]}")
    if bytes(review.request) == b"null":
        raise NotAReview(f"this {review.kind} has no request")
    return review.request


def _plain(error: Exception) -> str:
    return " ".join(str(error).replace("`", "").replace(" - at ", " at ").split())[:300]


def allowed(uid: str) -> bytes:
    """Return the AdmissionReview, as JSON, that allows a write without a patch or warning."""
    return _ALLOWED % msgspec.json.encode(uid)


def answer(kind: tuple[str, str], response: Mapping[str, Any]) -> bytes:
    """Return a review of this apiVersion and kind with the response, as JSON."""
    return msgspec.json.encode({"apiVersion": kind[0], "kind": kind[1], "response": response})


def shown_paths(causes: Sequence[Mapping[str, Any]]) -> str:
    """Return the causes of a refusal as one text, in the format of API servers: in brackets if there are several."""
    texts = [f"{cause['field']}: {cause['message']}" if cause["field"] else str(cause["message"]) for cause in causes]
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"

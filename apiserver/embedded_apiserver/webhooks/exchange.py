# SPDX-License-Identifier: Apache-2.0
"""One exchange with a webhook: a review is sent, and the answer read, whatever it is.

Each failure to get an answer has one text, in the words of a real API server's HTTP client.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec

from apimachinery.http import HTTPRequest, HTTPResponse
from embedded_apiserver.quoting import quoted
from embedded_apiserver.webhooks.caller import Caller, Target, Unreached

_SCHEME = "k8s.io/apiserver/pkg/util/webhook/client.go:71"
_HEAD = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
_BY_CODE: Mapping[int, str] = {
    400: "the server rejected our request for an unknown reason",
    401: "the server has asked for the client to provide credentials",
    403: "unknown",
    404: "the server could not find the requested resource",
    405: "the server does not allow this method on the requested resource",
    409: "the server reported a conflict",
    413: "Request entity too large: {}",
    415: "the server responded with the status code 415 but did not return more information",
    429: "the server has received too many requests and has asked us to try again later",
    503: "the server is currently unable to handle the request",
    504: "the server was unable to return a response in the time allotted, but may still be processing the request",
}
_ENDS_WITHOUT_ANSWER = 500
_HEADERS: Mapping[str, str] = MappingProxyType(
    {
        "content-type": "application/json",
        "accept": "application/json, */*",
        "user-agent": "kube-apiserver-admission",
    }
)
_MOST_SHOWN = 2048  # bytes of the body of a failure
_GO_TYPES: Mapping[type, str] = {str: "string", int: "number", float: "number", bool: "bool", list: "array"}


class CallFailed(Exception):
    """A webhook sent no usable response; the message gives the reason."""


class ReviewKind(NamedTuple):
    """The expected kind of a review, such as `AdmissionReview` of `admission.k8s.io/v1`."""

    api_version: str
    kind: str


def exchange(caller: Caller, target: Target, review: bytes, seconds: float, *, tells_time: bool) -> bytes:
    """Send a review to a webhook and return the body of the response, for `review_in`.

    Args:
        caller: Sends the request.
        target: The address of the webhook.
        review: The review to send, as JSON.
        seconds: The timeout of the call.
        tells_time: True to send the timeout to the webhook, as a query parameter.

    Raises:
        CallFailed: There is no response in time, or it is an error.
    """
    query = _query(seconds) if tells_time else ()
    request = HTTPRequest("POST", target.path, query, _HEADERS, review)
    try:
        answer = caller.call(target, request, seconds)
    except Unreached as error:
        raise unreached(target, seconds if tells_time else 30, error) from error
    return body_of(answer)


def unreached(target: Target, seconds: float, error: Unreached) -> CallFailed:
    """Return the error for a call that got no response within a timeout of `seconds`."""
    return CallFailed(f"Post {quoted(f'{target.url}?timeout={seconds:g}s')}: {error}")


@functools.lru_cache(maxsize=64)
def _query(seconds: float) -> tuple[tuple[str, str], ...]:
    return (("timeout", f"{seconds:g}s"),)


def body_of(answer: HTTPResponse) -> bytes:
    """Return the body of a response, which must not be empty.

    Raises:
        CallFailed: The response is an error, or empty.
    """
    if not 200 <= answer.status <= 206:
        raise CallFailed(_text_of_failure(answer))
    if not answer.body:
        media_type = answer.headers.get("content-type", "")
        raise CallFailed(f"0-length response with status code: {answer.status} and content type: {media_type}")
    return answer.body


def review_in(body: bytes, expected: ReviewKind) -> dict[str, Any]:
    """Return the review in the body of a response.

    Raises:
        CallFailed: The body is not a review of the expected kind.
    """
    try:
        review = msgspec.json.decode(body)
    except (ValueError, RecursionError):
        review = ""  # as a real server sees it, which reads text that is no JSON as a string
    if type(review) is not dict:
        found = _GO_TYPES.get(type(review), "null")
        raise CallFailed(
            f"couldn't get version/kind; json parse error: json: cannot unmarshal {found} into Go value of type {_HEAD}"
        )
    _check_kind(review, expected)
    return review


def _check_kind(review: dict[str, Any], expected: ReviewKind) -> None:
    version, kind = review.get("apiVersion") or expected.api_version, review.get("kind") or expected.kind
    if (version, kind) == expected:
        return
    group, _, own = expected.api_version.partition("/")
    if kind != expected.kind or version not in (f"{group}/v1", f"{group}/v1beta1"):
        raise CallFailed(f'no kind "{kind}" is registered for version "{version}" in scheme "{_SCHEME}"')
    other = str(version).partition("/")[2]
    raise CallFailed(f"converting ({other}.{kind}) to ({own}.{kind}): unknown conversion")


def _text_of_failure(answer: HTTPResponse) -> str:
    try:
        status = msgspec.json.decode(answer.body)
        if type(status) is dict and status.get("kind") == "Status" and status.get("message"):
            return str(status["message"])
    except (ValueError, RecursionError):
        pass
    shown = answer.body[:_MOST_SHOWN].decode("utf-8", "replace").strip()
    if text := _BY_CODE.get(answer.status):
        return shown if text == "unknown" and shown else text.format(shown)
    if answer.status >= _ENDS_WITHOUT_ANSWER:
        return f"an error on the server ({quoted(shown or 'unknown')}) has prevented the request from succeeding"
    return f"the server responded with the status code {answer.status} but did not return more information"


def of_type(value: Any, wanted: type, field: str, empty: Any) -> Any:
    """Return the value of a field in a response, or `empty` if the field is absent.

    Raises:
        CallFailed: The value does not have the type `wanted`.
    """
    if value is None:
        return empty
    if type(value) is not wanted:
        found = "object" if type(value) is dict else _GO_TYPES.get(type(value), "value")
        go_type = {str: "string", bool: "bool", list: "[]string", dict: "struct"}[wanted]
        raise CallFailed(f"json: cannot unmarshal {found} into Go struct field {field} of type {go_type}")
    return value

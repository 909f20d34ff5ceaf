# SPDX-License-Identifier: Apache-2.0
"""HTTP responses with objects, texts, documents and refusals."""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from apimachinery.http import HTTPResponse
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.protobuf.envelope import MEDIA_TYPE as PROTOBUF
from embedded_apiserver.protobuf.envelope import enveloped_document
from embedded_apiserver.reads.forms import Form
from embedded_apiserver.reads.negotiation import JSON, YAML, document_type
from embedded_apiserver.reads.yaml_form import to_yaml
from embedded_apiserver.status import StatusError

_JSON: Mapping[str, str] = {"content-type": JSON}
# Characters that a header cannot contain: control characters, and surrogates, which cannot be encoded.
_ILLEGAL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
# The most characters of all warnings together, and of each one if they have more: clients refuse a long header.
_MOST_WARNED, _SHORTENED = 4096, 256
_TEXT: Mapping[str, str] = {"content-type": "text/plain; charset=utf-8"}


def whole_answer(status: int, form: Form, body: bytes, warnings: Sequence[str] = ()) -> HTTPResponse:
    """Return a response whose body `form` has already encoded, with `warnings` in its headers.

    A newline is added to a body in a text format that has none, as by a real API server.
    """
    headers = _JSON if form.content_type == JSON else {"content-type": form.content_type}
    if form.content_type != PROTOBUF and not body.endswith(b"\n"):
        body += b"\n"
    return HTTPResponse(status, warned(headers, warnings) if warnings else headers, body)


def warned(headers: Mapping[str, str], warnings: Sequence[str]) -> dict[str, str]:
    """Return the headers with `warnings` added to the `Warning` header, which may contain several warnings.

    Like a real API server, send equal warnings once, leave out warnings that a header cannot contain, and if they have
    more than 4,096 characters together, shorten each to 256 and leave out the last ones.
    """
    escaped = [warning.replace("\\", "\\\\").replace('"', '\\"') for warning in _legal(warnings)]
    before = [headers["warning"]] if "warning" in headers else []
    values = [*before, *(f'299 - "{one}"' for one in escaped)]
    return {**headers, "warning": ", ".join(values)} if values else dict(headers)


def _legal(warnings: Sequence[str]) -> Sequence[str]:
    """Return the distinct warnings that a header can contain, shortened or left out if they are too long together."""
    legal = [warning for warning in dict.fromkeys(warnings) if not _ILLEGAL.search(warning)]
    if sum(map(len, legal)) <= _MOST_WARNED:
        return legal
    short = [warning[:_SHORTENED] for warning in legal]
    before = itertools.accumulate(map(len, short), initial=0)
    return [warning for warning, length in zip(short, before, strict=False) if length < _MOST_WARNED]


def document(
    content: Mapping[str, Any], media_type: str = JSON, *, status: int = 200, headers: Mapping[str, str] = {}
) -> HTTPResponse:
    """Return a response with a document that is not a stored object.

    Args:
        content: The document, as decoded JSON.
        media_type: The media type, one of the results of `document_type`.
        status: The HTTP status.
        headers: Further headers.
    """
    if media_type == PROTOBUF:
        return HTTPResponse(status, {"content-type": PROTOBUF, **headers}, enveloped_document(content))
    body = msgspec.json.encode(content)
    if media_type == YAML:
        return HTTPResponse(status, {"content-type": YAML, **headers}, to_yaml(body))
    return HTTPResponse(status, {**_JSON, **headers} if headers else _JSON, body + b"\n")


def tagged(body: bytes, media_type: str, known: str) -> HTTPResponse:
    """Return a response (200) with a document that rarely changes, or 304 if the client already has it.

    Args:
        body: The document.
        media_type: The media type of the document.
        known: The `If-None-Match` header of the request, with the entity tags of the client's copies.
    """
    tag = f'"{hashlib.sha256(body).hexdigest().upper()}"'
    headers = {"content-type": media_type, "etag": tag, "vary": "Accept", "cache-control": "public"}
    if tag in (one.strip().removeprefix("W/") for one in known.split(",")):
        return HTTPResponse(304, {"etag": tag, "vary": "Accept"})
    return HTTPResponse(200, headers, body)


def succeeded(status: int, accept: str = "") -> HTTPResponse:
    """Return a response with a `Status` of success, for a request whose response contains no object.

    Args:
        status: The HTTP status code.
        accept: The `Accept` header of the request.
    """
    body = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": status}
    return document(body, document_type(accept) or JSON, status=status)


def text(status: int, content: str) -> HTTPResponse:
    """Return a response with plain text; `status` is the HTTP status code."""
    return HTTPResponse(status, _TEXT, content.encode())


def refusal(error: StatusError, accept: str = "") -> HTTPResponse:
    """Return the error response for a refused request: a `Status`, and `Retry-After` if the client may try again.

    Args:
        error: The error.
        accept: The `Accept` header of the request. If it allows no format of a `Status`, the response is indented JSON,
            as from a real API server.
    """
    headers = {} if error.retry_after is None else {"retry-after": str(error.retry_after)}
    if error.warnings:
        headers = warned(headers, error.warnings)
    media_type = document_type(accept)
    answer = document(error.body(), media_type or JSON, status=error.code, headers=headers)
    return answer if media_type else answer._replace(body=msgspec.json.format(answer.body, indent=2).rstrip())


def removed(kind: Kind, name: str, uid: str, accept: str = "") -> HTTPResponse:
    """Return a response with status 200 and a `Status` that reports the removal of an object."""
    details = {"name": name, "group": kind.group, "kind": kind.plural, "uid": uid}
    return document(
        {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Success",
            "details": {key: value for key, value in details.items() if value},
        },
        document_type(accept) or JSON,
    )

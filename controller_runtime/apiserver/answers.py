# SPDX-License-Identifier: Apache-2.0
"""HTTP responses with objects, texts, documents and refusals."""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from controller_runtime.api.http import HTTPResponse
from controller_runtime.apiserver.kinds.kind import Kind
from controller_runtime.apiserver.reads.forms import Form
from controller_runtime.apiserver.status import StatusError

_JSON: Mapping[str, str] = {"content-type": "application/json"}
# Characters that a header cannot contain: control characters, and surrogates, which cannot be encoded.
_ILLEGAL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
# The most characters of all warnings together, and of each one if they have more: clients refuse a long header.
_MOST_WARNED, _SHORTENED = 4096, 256
_TEXT: Mapping[str, str] = {"content-type": "text/plain; charset=utf-8"}


def whole_answer(status: int, form: Form, body: bytes, warnings: Sequence[str] = ()) -> HTTPResponse:
    """Return a response with a body that `form` has encoded, and with warnings.

    The body ends with a newline, as in a real server.
    """
    headers = _JSON if form.content_type == _JSON["content-type"] else {"content-type": form.content_type}
    if not body.endswith(b"\n"):
        body += b"\n"
    return HTTPResponse(status, warned(headers, warnings) if warnings else headers, body)


def warned(headers: Mapping[str, str], warnings: Sequence[str]) -> dict[str, str]:
    """Return the headers with `warnings` added to the `Warning` header, which HTTP allows to hold several.

    Like a real server, leave out each warning that a header cannot contain, and the last ones of very many.
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


def document(content: Mapping[str, Any]) -> HTTPResponse:
    """Return a 200 with a document that is not a stored object."""
    return _json(200, content)


def tagged(body: bytes, media_type: str, known: str) -> HTTPResponse:
    """Return a 200 with a document that rarely changes, or a 304 if the client has it already.

    Args:
        body: The document.
        media_type: Its media type.
        known: The request's `If-None-Match` header, the entity tags of the documents that the client has.
    """
    tag = f'"{hashlib.sha256(body).hexdigest().upper()}"'
    headers = {"content-type": media_type, "etag": tag, "vary": "Accept", "cache-control": "public"}
    if tag in (one.strip().removeprefix("W/") for one in known.split(",")):
        return HTTPResponse(304, {"etag": tag, "vary": "Accept"})
    return HTTPResponse(200, headers, body)


def succeeded(status: int) -> HTTPResponse:
    """Return the `Status` of a successful request whose answer is not an object."""
    body = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": status}
    return _json(status, body)


def text(status: int, content: str) -> HTTPResponse:
    """Return a response with plain text."""
    return HTTPResponse(status, _TEXT, content.encode())


def refusal(error: StatusError) -> HTTPResponse:
    """Return the `Status` of a refused request, with a `Retry-After` header if the client may try again."""
    return _json(error.code, error.body(), {} if error.retry_after is None else {"retry-after": str(error.retry_after)})


def _json(status: int, content: Mapping[str, Any], headers: Mapping[str, str] = {}) -> HTTPResponse:
    """Return a response with a JSON document, which ends with a newline, as in a real server."""
    return HTTPResponse(status, {**_JSON, **headers} if headers else _JSON, msgspec.json.encode(content) + b"\n")


def removed(kind: Kind, name: str, uid: str) -> HTTPResponse:
    """Return a 200 with the `Status` for an object that was removed."""
    details = {"name": name, "group": kind.group, "kind": kind.plural, "uid": uid}
    return document(
        {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Success",
            "details": {key: value for key, value in details.items() if value},
        }
    )

# SPDX-License-Identifier: Apache-2.0
"""Answers as HTTP: objects, texts, documents and refusals."""

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
# What a header cannot hold: control characters, and text that cannot be encoded.
_UNTELLABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
# Characters of all warnings, and of one where there are more: clients refuse a header that is too long.
_TOLD, _SHORTENED = 4096, 256
_TEXT: Mapping[str, str] = {"content-type": "text/plain; charset=utf-8"}


def whole_answer(status: int, form: Form, body: bytes, warnings: Sequence[str] = ()) -> HTTPResponse:
    """What a form has said, with warnings."""
    headers = _JSON if form.content_type == _JSON["content-type"] else {"content-type": form.content_type}
    if not body.endswith(b"\n"):
        body += b"\n"
    return HTTPResponse(status, warned(headers, warnings) if warnings else headers, body)


def warned(headers: Mapping[str, str], warnings: Sequence[str]) -> dict[str, str]:
    """Headers with a `Warning` for each warning more (folded into one, as HTTP allows).

    What a header cannot hold is left out, and of very many the last, as a real server does it.
    """
    escaped = [warning.replace("\\", "\\\\").replace('"', '\\"') for warning in _tellable(warnings)]
    before = [headers["warning"]] if "warning" in headers else []
    told = [*before, *(f'299 - "{one}"' for one in escaped)]
    return {**headers, "warning": ", ".join(told)} if told else dict(headers)


def _tellable(warnings: Sequence[str]) -> Sequence[str]:
    legal = [warning for warning in dict.fromkeys(warnings) if not _UNTELLABLE.search(warning)]
    if sum(map(len, legal)) <= _TOLD:
        return legal
    short = [warning[:_SHORTENED] for warning in legal]
    before = itertools.accumulate(map(len, short), initial=0)
    return [warning for warning, told in zip(short, before, strict=False) if told < _TOLD]


def document(content: Mapping[str, Any]) -> HTTPResponse:
    """200, a document that is no stored object."""
    return _told(200, content)


def tagged(body: bytes, media_type: str, known: str) -> HTTPResponse:
    """200 and a document that rarely changes, or 304 to who has it; `known` is the header `If-None-Match`."""
    tag = f'"{hashlib.sha256(body).hexdigest().upper()}"'
    headers = {"content-type": media_type, "etag": tag, "vary": "Accept", "cache-control": "public"}
    if tag in (one.strip().removeprefix("W/") for one in known.split(",")):
        return HTTPResponse(304, {"etag": tag, "vary": "Accept"})
    return HTTPResponse(200, headers, body)


def succeeded(status: int) -> HTTPResponse:
    """The `Status` of something that has no other answer."""
    body = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": status}
    return _told(status, body)


def text(status: int, content: str) -> HTTPResponse:
    """Plain text."""
    return HTTPResponse(status, _TEXT, content.encode())


def refusal(error: StatusError) -> HTTPResponse:
    """The `Status` of a refused request; its delay stands in the header, too."""
    return _told(error.code, error.body(), {} if error.retry_after is None else {"retry-after": str(error.retry_after)})


def _told(status: int, content: Mapping[str, Any], headers: Mapping[str, str] = {}) -> HTTPResponse:
    """A document of its own, with the newline that ends every answer of a real server in JSON."""
    return HTTPResponse(status, {**_JSON, **headers} if headers else _JSON, msgspec.json.encode(content) + b"\n")


def removed(kind: Kind, name: str, uid: str) -> HTTPResponse:
    """200, the `Status` that tells of an object that is gone."""
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

# SPDX-License-Identifier: Apache-2.0
"""Answers as HTTP: objects, texts and refusals, and the forms a client accepts them in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from controller_runtime.api.wire import HTTPResponse
from controller_runtime.apiserver.forms import Form, json_form
from controller_runtime.apiserver.kinds import Kind
from controller_runtime.apiserver.status import StatusError, not_acceptable

_JSON: Mapping[str, str] = {"content-type": "application/json"}
_TEXT: Mapping[str, str] = {"content-type": "text/plain; charset=utf-8"}
_PRODUCED = ("application/json", "application/json;stream=watch")


def json_answer(status: int, body: bytes, warnings: Sequence[str] = ()) -> HTTPResponse:
    """JSON as it is, with a `Warning` header for each warning (folded into one, as HTTP allows)."""
    if not warnings:
        return HTTPResponse(status, _JSON, body)
    escaped = [warning.replace("\\", "\\\\").replace('"', '\\"') for warning in warnings]
    return HTTPResponse(status, {**_JSON, "warning": ", ".join(f'299 - "{one}"' for one in escaped)}, body)


def document(content: Mapping[str, Any]) -> HTTPResponse:
    """200, a document that is no stored object."""
    return HTTPResponse(200, _JSON, msgspec.json.encode(content))


def text(status: int, content: str) -> HTTPResponse:
    """Plain text."""
    return HTTPResponse(status, _TEXT, content.encode())


def refusal(error: StatusError) -> HTTPResponse:
    """The `Status` of a refused request; its delay stands in the header, too."""
    headers = _JSON if error.retry_after is None else {**_JSON, "retry-after": str(error.retry_after)}
    return HTTPResponse(error.code, headers, msgspec.json.encode(error.body()))


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


def form_for(kind: Kind, accept: str) -> Form:
    """The first form that the client accepts and the server produces.

    Args:
        kind: Whose objects are served.
        accept: The header; empty accepts everything. Weights are ignored, as a real server does.

    Raises:
        StatusError: 406, there is none.
    """
    if accept in ("", "*/*", "application/json"):
        return json_form(kind.api_version, kind.kind)
    for clause in accept.split(","):
        media_type, *parameters = (part.strip() for part in clause.split(";"))
        transformed = any(parameter.startswith("as=") for parameter in parameters)
        if media_type in ("application/json", "application/*", "*/*") and not transformed:
            return json_form(kind.api_version, kind.kind)
    raise not_acceptable(_PRODUCED)

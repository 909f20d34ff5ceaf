# SPDX-License-Identifier: Apache-2.0
"""From a failed answer to an error: the one translation."""

from __future__ import annotations

from typing import Any

import msgspec

from controller_runtime.api.http import HTTPResponse
from controller_runtime.core.errors import UNREADABLE, APIError, DecodeError, error_from_status

_SHOWN = 200  # characters of a plain text answer that go into a message


def check(response: HTTPResponse) -> HTTPResponse:
    """The answer itself, if it is a success (2xx).

    Raises:
        APIError: It is not; the class says what to do next.
    """
    if 200 <= response.status < 300:
        return response
    raise error_of(response)


def document_of(response: HTTPResponse) -> dict[str, Any]:
    """The body of a successful answer, where that need be no object of a name.

    Raises:
        DecodeError: It is no JSON object.
    """
    try:
        return msgspec.json.decode(response.body, type=dict[str, Any])
    except UNREADABLE as error:
        raise DecodeError(f"the answer is no JSON object: {error}") from error


def error_of(response: HTTPResponse) -> APIError:
    """The error that a failed answer stands for: by its `Status`, else by its code and its text."""
    asked = response.headers.get("retry-after", "")
    retry_after = float(asked) if asked.isascii() and asked.isdecimal() else None  # servers send seconds, never a date
    return error_from_status(response.status, _status_of(response), retry_after)


def _status_of(response: HTTPResponse) -> dict[str, Any]:
    try:
        body = msgspec.json.decode(response.body)
    except UNREADABLE:
        body = None
    if isinstance(body, dict) and body.get("kind") == "Status":
        return body
    lines = response.body.decode(errors="replace").split("\n", 1)  # a proxy's page, a plain "forbidden", or nothing
    text = lines[0].strip()[:_SHOWN]
    elsewhere = response.headers.get("location", "")[:_SHOWN]
    leads = f", which leads to {elsewhere}" if elsewhere and 300 <= response.status < 400 else ""
    said = f": {text}" if text else ""
    return {"message": f"the server answered {response.status}{leads}{said}"}

# SPDX-License-Identifier: Apache-2.0
"""Turns answers of the server into documents and errors."""

from __future__ import annotations

from typing import Any

import msgspec

from apimachinery.errors import UNREADABLE, APIError, DecodeError, error_from_status
from apimachinery.http import HTTPResponse

_SHOWN = 200  # characters of a plain text answer, or of a redirect's address, that go into a message


def check(response: HTTPResponse) -> HTTPResponse:
    """Return the answer if it is a success (2xx).

    Raises:
        APIError: The answer is not a success; the subclass depends on the status.
    """
    if 200 <= response.status < 300:
        return response
    raise error_of(response)


def document_of(response: HTTPResponse) -> dict[str, Any]:
    """Return the body of a successful answer as a dict, such as a Status or a discovery document.

    Raises:
        DecodeError: The body is not a JSON object.
    """
    try:
        return msgspec.json.decode(response.body, type=dict[str, Any])
    except UNREADABLE as error:
        raise DecodeError(f"the answer is not a JSON object: {error}") from error


def error_of(response: HTTPResponse) -> APIError:
    """Return the error for a failed answer, made from the `Status` in its body, or else from its code and text."""
    header = response.headers.get("retry-after", "")
    # HTTP also allows a date here, but API servers send seconds.
    retry_after = float(header) if header.isascii() and header.isdecimal() else None
    return error_from_status(response.status, _status_of(response), retry_after)


def _status_of(response: HTTPResponse) -> dict[str, Any]:
    try:
        body = msgspec.json.decode(response.body)
    except UNREADABLE:
        body = None
    if isinstance(body, dict) and body.get("kind") == "Status":
        return body
    # Not an API server's answer, but a proxy's page, a plain "forbidden", or nothing.
    text = response.body.decode(errors="replace").split("\n", 1)[0].strip()[:_SHOWN]
    location = response.headers.get("location", "")[:_SHOWN]
    redirect = f", a redirect to {location}" if location and 300 <= response.status < 400 else ""
    detail = f": {text}" if text else ""
    return {"message": f"the server answered {response.status}{redirect}{detail}"}

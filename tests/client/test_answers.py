# SPDX-License-Identifier: Apache-2.0
"""Failed answers become the errors that say what to do next."""

from __future__ import annotations

import json

import pytest

from apimachinery.errors import (
    AlreadyExists,
    APIError,
    Conflict,
    Expired,
    Forbidden,
    Invalid,
    NotFound,
    ServerError,
    TooManyRequests,
    Unauthorized,
)
from apimachinery.http import HTTPResponse
from controller_runtime.client.answers import check


def status(code: int, reason: str, **details: object) -> HTTPResponse:
    body = {"kind": "Status", "message": f"told {reason}", "reason": reason, "details": details, "code": code}
    return HTTPResponse(code, {"content-type": "application/json"}, json.dumps(body).encode())


@pytest.mark.parametrize("code", [200, 201, 202, 204])
def test_a_success_is_handed_back(code: int) -> None:
    response = HTTPResponse(code, {}, b"anything")

    assert check(response) is response


@pytest.mark.parametrize(
    ("response", "error"),
    [
        pytest.param(status(404, "NotFound"), NotFound, id="by reason"),
        pytest.param(status(409, "Conflict"), Conflict, id="409, changed"),
        pytest.param(status(409, "AlreadyExists"), AlreadyExists, id="409, taken"),
        pytest.param(status(410, "Gone"), Expired, id="gone"),
        pytest.param(status(422, "Invalid"), Invalid, id="invalid"),
        pytest.param(status(504, "Timeout"), ServerError, id="timeout"),
        pytest.param(status(500, ""), ServerError, id="by code where there is no reason"),
    ],
)
def test_a_status_is_an_error_of_its_reason(response: HTTPResponse, error: type[APIError]) -> None:
    with pytest.raises(error, match="told") as caught:
        check(response)

    assert type(caught.value) is error
    assert caught.value.code == response.status


@pytest.mark.parametrize(
    ("code", "body", "error", "message"),
    [
        pytest.param(401, b"Unauthorized\n", Unauthorized, "the server answered 401: Unauthorized", id="plain text"),
        pytest.param(403, b"", Forbidden, "the server answered 403", id="nothing"),
        pytest.param(502, b"<html>\n<body>", ServerError, "the server answered 502: <html>", id="a proxy's page"),
        pytest.param(500, b"x" * 9999, ServerError, "the server answered 500: xxx", id="long text"),
        pytest.param(503, b"\xff\xfe", ServerError, "the server answered 503", id="not even text"),
        pytest.param(404, b"[1]", NotFound, "the server answered 404: [1]", id="JSON of another kind"),
        pytest.param(301, b"moved", APIError, "the server answered 301: moved", id="a redirect"),
    ],
)
def test_any_other_body_is_an_error_of_its_code(code: int, body: bytes, error: type[APIError], message: str) -> None:
    with pytest.raises(error) as caught:
        check(HTTPResponse(code, {}, body))

    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("headers", "details", "seconds"),
    [
        pytest.param({"retry-after": "7"}, {"retryAfterSeconds": 3}, 7.0, id="the header first"),
        pytest.param({}, {"retryAfterSeconds": 3}, 3.0, id="the details otherwise"),
        pytest.param({"retry-after": "Fri, 20 Nov 2026 10:00:00 GMT"}, {}, None, id="a date is not understood"),
        pytest.param({}, {}, None, id="neither"),
    ],
)
def test_the_wait_that_the_server_asks_for_is_kept(
    headers: dict[str, str], details: dict[str, object], seconds: float | None
) -> None:
    with pytest.raises(TooManyRequests) as caught:
        check(status(429, "TooManyRequests", **details)._replace(headers=headers))

    assert caught.value.retry_after == seconds

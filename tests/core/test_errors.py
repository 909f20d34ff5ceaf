# SPDX-License-Identifier: Apache-2.0
"""A failed answer becomes an error whose class tells the caller what to do next."""

from __future__ import annotations

import pytest

from apimachinery import errors
from apimachinery.errors import APIError, ControllerRuntimeError, error_from_status


@pytest.mark.parametrize(
    ("code", "reason", "expected"),
    [
        (400, "BadRequest", errors.BadRequest),
        (401, "Unauthorized", errors.Unauthorized),
        (403, "Forbidden", errors.Forbidden),
        (404, "NotFound", errors.NotFound),
        (409, "Conflict", errors.Conflict),
        (409, "AlreadyExists", errors.AlreadyExists),
        (410, "Expired", errors.Expired),
        (410, "Gone", errors.Expired),
        (422, "Invalid", errors.Invalid),
        (429, "TooManyRequests", errors.TooManyRequests),
        (500, "InternalError", errors.ServerError),
        (500, "ServerTimeout", errors.ServerError),
        (503, "ServiceUnavailable", errors.ServerError),
        (504, "Timeout", errors.ServerError),
        pytest.param(404, "", errors.NotFound, id="by code, without a reason"),
        pytest.param(409, "", errors.Conflict, id="409 without a reason is the one that is retried"),
        pytest.param(502, "", errors.ServerError, id="any 5xx"),
        pytest.param(404, "Unheard", errors.NotFound, id="by code, where the reason is new"),
        pytest.param(405, "MethodNotAllowed", APIError, id="no next step of its own"),
        pytest.param(418, "", APIError, id="a code nobody knows"),
    ],
)
def test_the_class_follows_the_reason_else_the_code(code: int, reason: str, expected: type[APIError]) -> None:
    error = error_from_status(code, {"reason": reason})

    assert type(error) is expected
    assert (error.code, error.reason) == (code, reason)


def test_message_and_details_are_the_servers() -> None:
    error = error_from_status(404, {"message": 'nodes "n" not found', "reason": "NotFound", "details": {"name": "n"}})

    assert str(error) == 'nodes "n" not found'
    assert error.details == {"name": "n"}


def test_an_answer_without_a_status_still_says_what_happened() -> None:
    error = error_from_status(502, {})

    assert str(error) == "the server answered 502"
    assert (error.reason, error.details, error.retry_after) == ("", {}, None)


@pytest.mark.parametrize(
    ("header", "details", "retry_after"),
    [
        pytest.param(3.0, {"retryAfterSeconds": 7}, 3.0, id="the header wins"),
        pytest.param(None, {"retryAfterSeconds": 7}, 7.0, id="else the details"),
        pytest.param(None, {"retryAfterSeconds": 0}, None, id="zero asks for nothing"),
        pytest.param(None, None, None, id="neither"),
        pytest.param(0.0, {"retryAfterSeconds": 7}, 0.0, id="a header of zero is a header"),
    ],
)
def test_how_long_the_server_asks_to_wait(
    header: float | None, details: dict[str, int] | None, retry_after: float | None
) -> None:
    assert error_from_status(429, {"details": details}, header).retry_after == retry_after


def test_one_base_catches_everything_raised_on_purpose() -> None:
    raised = [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, Exception)]

    outside = [each for each in raised if not issubclass(each, ControllerRuntimeError)]

    assert outside == [errors.ShutDown]


def test_a_silent_stream_is_a_lost_connection() -> None:
    assert issubclass(errors.StreamIdle, errors.ConnectionLost)

# SPDX-License-Identifier: Apache-2.0
"""The outcome of a command, as servers tell it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apimachinery.errors import APIError, ServerError
from controller_runtime.client.pods.session import exit_code_of


def failed(reason: str, *causes: dict[str, str], **parts: Any) -> bytes:
    return json.dumps({"status": "Failure", "reason": reason, "details": {"causes": causes}, **parts}).encode()


@pytest.mark.parametrize(
    ("outcome", "code"),
    [
        (b'{"metadata":{},"status":"Success"}', 0),
        (failed("NonZeroExitCode", {"reason": "ExitCode", "message": "137"}), 137),
        (failed("NonZeroExitCode", {"reason": "Other", "message": "1"}, {"reason": "ExitCode", "message": "2"}), 2),
    ],
)
def test_an_outcome_tells_the_exit_status(outcome: bytes, code: int) -> None:
    assert exit_code_of(outcome) == code


@pytest.mark.parametrize(
    ("outcome", "message"),
    [
        (failed("InternalError", message="error dialing backend", code=500), "error dialing backend"),
        (failed("NonZeroExitCode", message="no code"), "no code"),
        (failed("NonZeroExitCode", {"reason": "ExitCode", "message": "many"}, message="odd"), "odd"),
        (b"error executing command", "is not a Status"),
        (b"[]", "is not a Status"),
        (b"", "is not a Status"),
    ],
)
def test_an_outcome_without_an_exit_status_is_an_error(outcome: bytes, message: str) -> None:
    with pytest.raises(ServerError, match=message):
        exit_code_of(outcome)


@given(st.binary(max_size=60))
def test_no_junk_is_a_success(junk: bytes) -> None:
    with pytest.raises(APIError):
        exit_code_of(junk)

# SPDX-License-Identifier: Apache-2.0
"""A refusal, as a fault to inject into a transport."""

from __future__ import annotations

from apimachinery.http import HTTPResponse
from controller_runtime.testing.faults import Answered


def refused(code: int, reason: str) -> Answered:
    """Return a fault: the server answers with `code` and a status of `reason`."""
    body = f'{{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"{reason}","code":{code},"message":"no"}}'
    return Answered(HTTPResponse(code, {"content-type": "application/json"}, body.encode()))

# SPDX-License-Identifier: Apache-2.0
"""A transport that gives the answers of a test, and keeps each request with its deadline."""

from __future__ import annotations

import json

from apimachinery.errors import ConnectionLost
from apimachinery.http import HTTPRequest, HTTPResponse
from controller_runtime.client.transport import Stream


class Recorder:
    """Gives the answers in order, and repeats the last one. Threads: one."""

    def __init__(self, *answers: HTTPResponse) -> None:
        self.answers = [*answers]
        self.asked: list[HTTPRequest] = []
        self.deadlines: list[float] = []

    def request(self, request: HTTPRequest, deadline: float) -> HTTPResponse:
        self.asked.append(request)
        self.deadlines.append(deadline)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    def stream(self, request: HTTPRequest, deadline: float) -> Stream:
        raise ConnectionLost("no streams here")

    def close(self) -> None:
        return

    @property
    def body(self) -> object:
        return json.loads(self.asked[-1].body)

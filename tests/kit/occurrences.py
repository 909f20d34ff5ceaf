# SPDX-License-Identifier: Apache-2.0
"""Occurrences for tests of events, and a transport that stores events or answers with errors."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from apimachinery.errors import ConnectionLost
from apimachinery.http import HTTPRequest, HTTPResponse
from controller_runtime.api.references import Reference
from controller_runtime.client.transport import Stream
from controller_runtime.events.occurrence import Correlator, Occurrence, OccurrenceFate, Reporter, Write

START = datetime(2026, 1, 1, tzinfo=UTC)
REPORTER = Reporter(controller="example.com/c", instance="example.com/c-h", node="h")


def happened(
    at: float = 0.0,
    *,
    pod: str = "p",
    type: str = "Normal",  # noqa: A002 (the field's word)
    reason: str = "R",
    action: str = "A",
    note: str = "n",
    field_path: str = "",
) -> Occurrence:
    """Return an occurrence `at` seconds after `START`."""
    regarding = Reference(api_version="v1", kind="Pod", name=pod, namespace="ns", uid=f"u-{pod}", field_path=field_path)
    return Occurrence(
        regarding=regarding,
        type=type,
        reason=reason,
        action=action,
        note=note,
        name=f"{pod}.{at:g}",
        time=START + timedelta(seconds=at),
        at=at,
    )


def tell(correlator: Correlator, occurrence: Occurrence) -> Write | OccurrenceFate:
    """Pass an occurrence to the correlator, as a recorder does when no other write is due."""
    assert correlator.due(occurrence.at) == []
    return correlator.observe(occurrence)


class Sink:
    """A transport that stores every event, after it has given some answers from a list.

    Args:
        answers: Answers to the first requests: 200 stores the event, an error status refuses it, and
            None loses the request.
        loses_only_answers: None stores the event and loses the answer.
    """

    def __init__(self, *answers: int | None, loses_only_answers: bool = False) -> None:
        self.asked: list[HTTPRequest] = []
        self.events: dict[str, dict[str, Any]] = {}
        self.retry_after = 0
        self._answers = list(answers)
        self._loses_only_answers = loses_only_answers

    def request(self, request: HTTPRequest, deadline: float) -> HTTPResponse:
        self.asked.append(request)
        answer = self._answers.pop(0) if self._answers else 200
        if answer is None and not self._loses_only_answers:
            raise ConnectionLost("request lost")
        if answer is not None and answer >= 400:
            headers = {"retry-after": str(self.retry_after)} if self.retry_after else {}
            return HTTPResponse(answer, headers, b"no")
        taken = self._take(request)
        if answer is None:
            raise ConnectionLost("cut")
        return taken

    def _take(self, request: HTTPRequest) -> HTTPResponse:
        body = json.loads(request.body)
        if request.method == "POST":
            name = body["metadata"]["name"]
            if name in self.events:
                return HTTPResponse(409, {}, b'{"kind":"Status","reason":"AlreadyExists"}')
            self.events[name] = body
        else:
            name = request.path.rpartition("/")[2]
            if name not in self.events:
                return HTTPResponse(404, {}, b'{"kind":"Status","reason":"NotFound"}')
            self.events[name] |= body
        return HTTPResponse(200, {}, json.dumps({**self.events[name], "metadata": {"name": name}}).encode())

    def stream(self, request: HTTPRequest, deadline: float) -> Stream:
        raise ConnectionLost("no streams here")

    def close(self) -> None:
        return

    def methods(self) -> Sequence[str]:
        """Return the methods of the requests, in order."""
        return [request.method for request in self.asked]

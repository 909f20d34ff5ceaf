# SPDX-License-Identifier: Apache-2.0
"""The steps of an attempt as an incident contains them; they are made when the incident is needed.

Each function that makes one gets the bodies of the record, and the monotonic seconds at which the attempt began.
"""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import attrs
import msgspec

from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.objects import Cached, ObjectKey
from apimachinery.texts import kept_text
from controller_runtime.incidents.bodies import Bodies, raw_json
from controller_runtime.incidents.incident import (
    NOTHING,
    NULL,
    Ask,
    Error,
    Get,
    Kind,
    Select,
    Sent,
    State,
    Stream,
    Time,
)
from controller_runtime.incidents.standins import without_tokens

_HEADERS = ("content-type", "accept")
_ANSWERED = ("content-type", "retry-after", "warning")


_NO_ANSWER = HTTPResponse(0)


@attrs.define
class Answer:
    """The answer to a request or its error, empty until it comes; `at` is its time in monotonic seconds."""

    response: HTTPResponse = _NO_ANSWER
    error: Error | None = None
    at: float | None = None
    is_counted: bool = False


def error_of(error: BaseException, *, with_stack: bool = False) -> Error:
    """Return an error as the `Error` that incidents contain. Its texts are still complete; they are shortened later."""
    texts = (str(error), "".join(traceback.format_exception(error)) if with_stack else "")
    return Error(type(error).__name__, *(without_tokens(text.encode(errors="replace")).decode() for text in texts))


def place_of(error: BaseException | None) -> str:
    """Return the file and line at which an error was raised; empty if it was not raised, or there is none."""
    trace = None if error is None else error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "" if trace is None else f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"


def bounded_error(bodies: Bodies, error: Error | None) -> Error | None:
    """Return an error with stand-ins and shortened texts; None for None."""
    return error and Error(error.type, kept_text(bodies.replaced_text(error.text)), bodies.text(error.stack))


def kind_of(resource: Any) -> Kind:
    """Return the kind of `resource`, an `api.resources.Resource`, as the `Kind` that incidents contain."""
    return Kind(resource.api_version, resource.kind, resource.plural, resource.namespaced, resource.is_partial)


def get_step(bodies: Bodies, began: float, resource: Any, key: ObjectKey, found: Cached | None) -> Get:
    """Return the recorded read of one key."""
    version, body = ("", NOTHING) if found is None else (found.resource_version, bodies.place(found))
    return Get(kind_of(resource), key.name, key.namespace, version, body)


def select_step(
    bodies: Bodies, began: float, resource: Any, verb: str, what: str, found: Sequence[Cached], has_bodies: bool
) -> Select:
    """Return the recorded read of several objects: their keys and versions, and with `has_bodies` their contents."""
    items = [
        (each.name, each.namespace, each.resource_version, bodies.place(each) if has_bodies else NOTHING)
        for each in found
    ]
    return Select(kind_of(resource), verb, what, items)


def ask_step(bodies: Bodies, began: float, resource: Any, what: str, answer: Any) -> Ask:
    """Return the recorded fact about a cache, such as its version; see `Attempt.ask`."""
    return Ask(kind_of(resource), what, answer)


def time_step(bodies: Bodies, began: float, clock: str, at: Any) -> Time:
    """Return the recorded reading `at` of a clock."""
    return Time(clock, at.isoformat() if isinstance(at, datetime) else at)


def state_step(bodies: Bodies, began: float, name: str, value: bytes) -> State:
    """Return the recorded state of a reconciler."""
    return State(name, msgspec.Raw(without_tokens(value)))


def stream_step(bodies: Bodies, began: float, path: str) -> Stream:
    """Return the record of a request that opened a stream."""
    return Stream(path)


def sent_step(bodies: Bodies, began: float, request: HTTPRequest, answer: Answer) -> Sent:
    """Return the recorded request with its answer.

    Args:
        bodies: Shortens texts and replaces confidential values in them.
        began: When the reconcile began, in monotonic seconds.
        request: The request.
        answer: The answer, or the error.
    """
    response = answer.response
    body = without_tokens(response.body)
    known = raw_json(body)
    return Sent(
        request.method,
        request.path,
        [*request.query],
        {name: request.headers[name] for name in _HEADERS if name in request.headers},
        raw_json(without_tokens(request.body)) or NULL,
        response.status,
        {name: response.headers[name] for name in _ANSWERED if name in response.headers},
        known or NULL,
        "" if known else bodies.text(body.decode(errors="replace")),
        bounded_error(bodies, answer.error),
        None if answer.at is None else answer.at - began,
    )

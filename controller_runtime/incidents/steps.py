# SPDX-License-Identifier: Apache-2.0
"""The steps of an attempt as an incident holds them, made when the incident is asked for."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from typing import Any

import attrs

from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.objects import Cached, ObjectKey
from apimachinery.texts import kept_text
from controller_runtime.incidents.bodies import Bodies, raw_json
from controller_runtime.incidents.incident import NOTHING, NULL, Error, Get, Kind, Select, Sent
from controller_runtime.incidents.standins import without_tokens

_HEADERS = ("content-type", "accept")
_ANSWERED = ("content-type", "retry-after", "warning")


@attrs.frozen
class Ended:
    """How an attempt ended.

    Attributes:
        outcome: The outcome that was counted, in lower case.
        took: Seconds.
        requeue_after: The seconds that its result asks for; None if it asks for none.
        error: The error that it raised; None if it raised none.
        causes: Why it was requested.
    """

    outcome: str
    took: float
    requeue_after: float | None
    error: Error | None
    causes: Sequence[str] = ()


@attrs.define
class Answer:
    """The end of a request: nothing until it is known."""

    response: HTTPResponse = attrs.field(factory=lambda: HTTPResponse(0))
    error: Error | None = None
    at: float | None = None


def error_of(error: BaseException, *, with_stack: bool = False) -> Error:
    """Return an error as a record holds it, but whole: its texts are bounded once they have stand-ins."""
    texts = (str(error), "".join(traceback.format_exception(error)) if with_stack else "")
    return Error(type(error).__name__, *(without_tokens(text.encode(errors="replace")).decode() for text in texts))


def bounded_error(bodies: Bodies, error: Error | None) -> Error | None:
    """Return an error with stand-ins and within the bounds of texts; None for none."""
    return error and Error(error.type, kept_text(bodies.replaced_text(error.text)), bodies.text(error.stack))


def kind_of(resource: Any) -> Kind:
    """Return the kind of a resource as an incident holds it."""
    return Kind(resource.api_version, resource.kind, resource.plural, resource.namespaced, resource.is_partial)


def get_step(bodies: Bodies, resource: Any, key: ObjectKey, found: Cached | None) -> Get:
    """Return the read of a key."""
    version, body = ("", NOTHING) if found is None else (found.resource_version, bodies.place(found))
    return Get(kind_of(resource), key.name, key.namespace, version, body)


def select_step(
    bodies: Bodies, resource: Any, verb: str, what: str, found: Sequence[Cached], has_bodies: bool
) -> Select:
    """Return the read of a selection; without bodies it has keys and versions."""
    items = [
        (each.name, each.namespace, each.resource_version, bodies.place(each) if has_bodies else NOTHING)
        for each in found
    ]
    return Select(kind_of(resource), verb, what, items)


def sent_step(bodies: Bodies, request: HTTPRequest, body: bytes, answer: Answer) -> Sent:
    """Return a request with its answer."""
    response = answer.response
    known = raw_json(response.body)
    return Sent(
        request.method,
        request.path,
        [*request.query],
        {name: request.headers[name] for name in _HEADERS if name in request.headers},
        raw_json(body) or NULL,
        response.status,
        {name: response.headers[name] for name in _ANSWERED if name in response.headers},
        known or NULL,
        "" if known else bodies.text(response.body.decode(errors="replace")),
        bounded_error(bodies, answer.error),
        answer.at,
    )

# SPDX-License-Identifier: Apache-2.0
"""Annotations that admission gives a request in the audit log.

They are collected in a context variable, so that neither the answer nor any signature between the log and the steps has
to carry them. Without an audit log nothing is kept.
"""

from __future__ import annotations

import contextvars
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import msgspec

from apimachinery.log import get_logger
from apimachinery.names import qualified_name_errors

log = get_logger(__name__)

LONGEST_VALUE = 10 * 1024
"""Characters of the value of a policy's annotation; the rest is cut off."""

_current: contextvars.ContextVar[dict[str, str] | None] = contextvars.ContextVar("audit annotations", default=None)


@contextmanager
def collected() -> Iterator[Mapping[str, str]]:
    """Return a context manager whose value is filled with the audit annotations that this thread adds inside it."""
    found: dict[str, str] = {}
    token = _current.set(found)
    try:
        yield found
    finally:
        _current.reset(token)


def annotate(key: str, value: str) -> None:
    """Add an annotation to the audit log entry of the current request.

    An annotation with an invalid key, or with a key that already has another value, is dropped and logged as a warning,
    as on a real API server. Outside of `collected` this does nothing.
    """
    found = _current.get()
    if found is None:
        return
    if key.count("/") != 1 or qualified_name_errors(key):
        log.warning("audit annotation left out: its key is no name with one prefix", key=key[:300])
    elif found.setdefault(key, value) != value:
        log.warning("audit annotation left out: the request has another value for its key", key=key)


def as_json(value: Any) -> str:
    """Return a value as JSON in the way that Go encodes an annotation: with `<`, `>` and `&` escaped."""
    text = msgspec.json.encode(value).decode()
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")

# SPDX-License-Identifier: Apache-2.0
"""Tells whether the caller runs under the delivery lock of a cache, where it must not wait."""

from __future__ import annotations

import contextvars
from types import TracebackType

_DELIVERING: contextvars.ContextVar[bool] = contextvars.ContextVar("delivering", default=False)

is_delivering = _DELIVERING.get
"""Returns whether the caller is a mapper, a predicate, another handler or an index function."""


begin_delivering = _DELIVERING.set
"""Makes `is_delivering` true for the caller, if it is called with True. Call `end_delivering` with the returned token.

A single change uses these two in place of `Delivering`, which costs two more calls.
"""

end_delivering = _DELIVERING.reset


class Delivering:
    """A context manager: inside its block `is_delivering` is true.

    Threads: those that hold the delivery lock of the cache, which guards its field.
    """

    __slots__ = ("_token",)

    def __enter__(self) -> None:
        self._token = _DELIVERING.set(True)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        _DELIVERING.reset(self._token)

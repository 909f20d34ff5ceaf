# SPDX-License-Identifier: Apache-2.0
"""The deadline of the work in hand: it rides along in a context variable, so it reaches whatever runs inside.

Nothing can end a Python thread from outside. A deadline is kept by those who ask for it:
the requests of a manager's client, and whoever waits for something else.
"""

from __future__ import annotations

import contextvars
from types import TracebackType

_current: contextvars.ContextVar[float | None] = contextvars.ContextVar("deadline", default=None)


def reconcile_deadline() -> float | None:
    """When the reconcile that asks should have ended: absolute monotonic seconds; None is at no time.

    For a reconciler that waits for what is no request: `host.monotonic()` is to be compared with it.
    """
    return _current.get()


class deadline_scope:  # noqa: N801  used like a function: `with deadline_scope(deadline):`
    """A context in which `reconcile_deadline` is `deadline` (absolute monotonic seconds).

    Threads: one for each instance; threads started inside inherit it.
    """

    __slots__ = ("_deadline", "_token")

    def __init__(self, deadline: float) -> None:
        self._deadline = deadline

    def __enter__(self) -> None:
        self._token = _current.set(self._deadline)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _current.reset(self._token)

# SPDX-License-Identifier: Apache-2.0
"""The deadline of the running reconcile, in a context variable, so that no signature has to carry it.

Python cannot end a thread from outside. So a deadline holds only for code that looks at it: the manager's client
does at each request, and a reconciler that waits for anything else should.
"""

from __future__ import annotations

import contextvars
from types import TracebackType

_current: contextvars.ContextVar[float | None] = contextvars.ContextVar("deadline", default=None)


def reconcile_deadline() -> float | None:
    """Return the deadline of the reconcile that calls this; None if it has no timeout, or outside of a reconcile.

    The deadline is in absolute monotonic seconds: compare it with `host.monotonic()`. Requests of `Manager.client`
    respect it; a reconciler that waits for anything else should not wait beyond this time.
    """
    return _current.get()


class deadline_scope:  # noqa: N801  used like a function: `with deadline_scope(deadline):`
    """A context manager: inside its block `reconcile_deadline` returns `deadline` (absolute monotonic seconds).

    Threads: one for each instance. Threads that are spawned inside inherit the deadline.
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

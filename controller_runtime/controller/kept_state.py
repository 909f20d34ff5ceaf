# SPDX-License-Identifier: Apache-2.0
"""The state that a reconciler keeps between reconciles, for records of them that can be replayed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from controller_runtime.controller.reconciler import AsyncReconciler, Reconciler, Request
from controller_runtime.core.attempts import current_attempt


def state_of(reconciler: Reconciler | AsyncReconciler) -> Callable[[Request], None] | None:
    """Return a function that passes the state of a reconciler to the running attempt; None if it gives none.

    A reconciler that decides by more than what it reads may have two methods more: `snapshot(request)`, which returns
    its state for a request as JSON, and `restore(request, state)`, which takes one back. The first is called at the
    begin of each reconcile that is recorded, the second of one that is replayed; an error of theirs is one of the
    reconcile.
    """
    snapshot, restore = getattr(reconciler, "snapshot", None), getattr(reconciler, "restore", None)
    if snapshot is None or restore is None:
        return None

    def pass_state(request: Request) -> None:
        if (attempt := current_attempt()) is not None:
            attempt.state("reconciler", partial(snapshot, request), partial(restore, request))

    return pass_state

# SPDX-License-Identifier: Apache-2.0
"""The state that a reconciler keeps between reconciles, so that a record of a reconcile can be replayed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from controller_runtime.controller.reconciler import AsyncReconciler, Reconciler, Request
from controller_runtime.core.attempts import current_attempt


def state_of(reconciler: Reconciler | AsyncReconciler) -> Callable[[Request], None] | None:
    """Return a function that passes a reconciler's state to the running attempt; None if it has no state.

    A reconciler whose decisions depend on more than its reads may have two more methods: `snapshot(request)` returns
    its state for a request as JSON, and `restore(request, state)` sets it. `snapshot` is called at the start of each
    recorded reconcile, `restore` at the start of a replayed one. An error in them fails the reconcile.
    """
    snapshot, restore = getattr(reconciler, "snapshot", None), getattr(reconciler, "restore", None)
    if snapshot is None or restore is None:
        return None

    def pass_state(request: Request) -> None:
        if (attempt := current_attempt()) is not None:
            attempt.state("reconciler", partial(snapshot, request), partial(restore, request))

    return pass_state

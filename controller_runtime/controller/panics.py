# SPDX-License-Identifier: Apache-2.0
"""Unexpected errors of a user's code, as values: tests collect them, and programs may report them."""

from __future__ import annotations

from collections.abc import Callable

import attrs

from controller_runtime.controller.reconciler import Request


@attrs.frozen
class Panic:
    """An error that a reconcile, a mapper or a predicate raised and that is not a `ControllerRuntimeError`: a bug.

    Attributes:
        controller: The name of the controller.
        request: The key that was being reconciled, or that of the object whose change was being mapped.
        error: The error, with its traceback.
    """

    controller: str
    request: Request
    error: BaseException


OnPanic = Callable[[Panic], None]
"""Called with each panic on the thread where it happened, after it was logged and counted. It must not raise."""


def ignore_panic(panic: Panic) -> None:
    """Do nothing: the log and the metrics tell enough."""

# SPDX-License-Identifier: Apache-2.0
"""Unexpected errors of a user's code, as values: tests collect them, and programs may report them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import attrs

from controller_runtime.controller.reconciler import Request

Function = Literal["reconcile", "mapper or predicate", "periodic function"]
"""The kinds of user functions whose bugs are reported."""


@attrs.frozen
class Panic:
    """An error of a reconcile, a mapper, a predicate or a periodic function that reports a bug in the program.

    The error is not a `ControllerRuntimeError`, or it has a `UsageError` as cause, context or group member.

    Attributes:
        controller: The name of the controller.
        request: The key that was reconciled, or the key of the object whose change was mapped; None for a periodic
            function.
        error: The error, with its traceback.
        function: The kind of function that raised it.
    """

    controller: str
    request: Request | None
    error: BaseException
    function: Function = "reconcile"


OnPanic = Callable[[Panic], None]
"""Called with each panic on the thread where it happened, after it was logged and counted. It must not raise."""


def ignore_panic(panic: Panic) -> None:
    """Do nothing: the log and the metrics show the error."""

# SPDX-License-Identifier: Apache-2.0
"""Checks the arguments of a controller when they are given, so that a wrong one raises at that call."""

from __future__ import annotations

import math


def check_controller(name: str, reconciler: object, workers: int, reconcile_timeout: float | None) -> None:
    """Check the arguments of `Controller`.

    A reconciler must be an object, not a function: it has dependencies, which are the fields of a class, and a method
    that returns its metrics.

    Raises:
        ValueError: `name` is empty, `workers` is less than one, or `reconcile_timeout` is not positive.
        TypeError: `reconciler` has no method `reconcile`, or is a class.
    """
    if not name:
        raise ValueError("a controller needs a name")
    if workers < 1:
        raise ValueError(f"{name}: workers ({workers}) must be at least 1")
    if reconcile_timeout is not None and reconcile_timeout <= 0:
        raise ValueError(f"{name}: reconcile_timeout ({reconcile_timeout}) must be positive")
    what = getattr(reconciler, "__qualname__", type(reconciler).__qualname__)
    if isinstance(reconciler, type):
        raise TypeError(f"{name}: the reconciler is the class {what}: pass an instance of it")
    if not callable(getattr(reconciler, "reconcile", None)):
        raise TypeError(f"{name}: {what} is not a Reconciler: derive a class from it that has `reconcile(request)`")


def check_period(name: str, seconds: float, jitter: float) -> None:
    """Check the arguments of `Controller.every`.

    Raises:
        ValueError: `seconds` is not positive, or `jitter` is negative.
    """
    if not 0.0 < seconds < math.inf:
        raise ValueError(f"{name}: seconds ({seconds}) must be positive")
    if not 0.0 <= jitter < math.inf:
        raise ValueError(f"{name}: jitter ({jitter}) must be zero or more")

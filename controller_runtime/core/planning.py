# SPDX-License-Identifier: Apache-2.0
"""Tells whether this process plans: it runs reconciles to show what they would write, and writes nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator


class _State:
    planning = (
        False  # one reference, set before any reconcile begins and cleared after the last, so read without a lock
    )


def is_planning() -> bool:
    """Return whether this program runs with `--plan`: it reconciles each object once, without lasting effects.

    Writes by `Manager.client` are then dry runs, and other connections and the start of programs are refused. Only code
    that acts by other means, such as a library that opens connections without Python's `socket`, must call this
    function, and skip its effect if it returns True.
    """
    return _State.planning


@contextlib.contextmanager
def planning() -> Iterator[None]:
    """Return a context manager: inside its block `is_planning` returns True, on all threads."""
    _State.planning = True
    try:
        yield
    finally:
        _State.planning = False

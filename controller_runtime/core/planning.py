# SPDX-License-Identifier: Apache-2.0
"""Whether this process plans: runs reconciles to tell what they would write, and writes nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator


class _State:
    planning = (
        False  # one reference, set before any reconcile begins and cleared after the last, so read without a lock
    )


def is_planning() -> bool:
    """Return whether `--plan` runs this program: it reconciles each object once, and nothing that it does may last.

    Writes by `Manager.client` are dry runs, and other calls to the world outside are refused. So only code that acts in
    another way, such as a library that opens connections without Python's `socket`, needs to ask, and to pass over
    its effect.
    """
    return _State.planning


@contextlib.contextmanager
def planning() -> Iterator[None]:
    """Have `is_planning` return True inside the block, on all threads."""
    _State.planning = True
    try:
        yield
    finally:
        _State.planning = False

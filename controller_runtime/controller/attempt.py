# SPDX-License-Identifier: Apache-2.0
"""Calls mappers, predicates and periodic functions of users, and is the one place that catches their errors."""

from __future__ import annotations

from collections.abc import Callable


def attempt(act: Callable[[], None], on_error: Callable[[Exception | SystemExit], None]) -> bool:
    """Call `act` and return True; if it raised, call `on_error` (inside the `except`) and return False.

    If user code fails for one object, such as one without a label that a mapper expects, a program that works for all
    others must not stop. So callers keep the failed work, and try it again.

    Args:
        act: Calls user code. It may be called again, so it must not have side effects.
        on_error: Logs and remembers the error. It must not raise.
    """
    try:
        act()
    except (Exception, SystemExit) as error:  # noqa: BLE001  a mapper ends here, the thread of its informer does not
        on_error(error)
        return False
    return True

# SPDX-License-Identifier: Apache-2.0
"""The one place at which the errors of mappers, predicates and periodic functions end."""

from __future__ import annotations

from collections.abc import Callable


def attempt(act: Callable[[], None], on_error: Callable[[Exception | SystemExit], None]) -> bool:
    """Call `act`, and return whether it succeeded; if it raised, call `on_error` while the error is being handled.

    One object that user code cannot deal with, such as one without a label that a mapper takes for granted, must not
    stop a program that works for all others. So callers keep the work that failed, and try it again.

    Args:
        act: The call of user code. It may be called again, so it must be free of side effects.
        on_error: Logs and remembers the error. It must not raise.
    """
    try:
        act()
    except (Exception, SystemExit) as error:  # noqa: BLE001  a mapper ends here, the thread of its informer does not
        on_error(error)
        return False
    return True

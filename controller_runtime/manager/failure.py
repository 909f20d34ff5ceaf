# SPDX-License-Identifier: Apache-2.0
"""The error with which a manager's run ends."""

from __future__ import annotations

from collections.abc import Sequence

from apimachinery.errors import ControllerRuntimeError
from apimachinery.host import Thread

_LATE = "still running after a grace of "


def is_still_running(failure: BaseException) -> bool:
    """Return whether threads still ran when the manager ended with this error."""
    return any(text.startswith(_LATE) for text in [str(failure), *getattr(failure, "__notes__", ())])


def failure_of(first: BaseException | None, stuck: Sequence[Thread], grace: float) -> BaseException | None:
    """Return the error that a run raises; None if nothing failed and every thread has ended.

    The first failure is raised, because later ones may be its consequences. Threads that did not end are a separate
    error if nothing else failed; otherwise they are named in notes on the first failure. In both cases the notes show
    their stacks.

    Args:
        first: The first failure of a thread.
        stuck: The threads that have not ended although they were cancelled.
        grace: Seconds that the threads had to finish before they were cancelled.
    """
    if not stuck:
        return first
    names = ", ".join(thread.name for thread in stuck)
    late = ControllerRuntimeError(f"still running after a grace of {grace:g} s, though cancelled: {names}")
    if first is None:
        failure: BaseException = late
    else:
        failure = first
        failure.add_note(str(late))
    for thread in stuck:
        failure.add_note(f"{thread.name} stands at\n{thread.stack()}")
    return failure

# SPDX-License-Identifier: Apache-2.0
"""The ways in which a call to an outside service may go, as data."""

from __future__ import annotations

import enum

import attrs


class Fault(enum.Enum):
    """A fault of one call."""

    REFUSED = "refused"
    REQUEST_LOST = "request lost"
    ANSWER_LOST = "answer lost"
    LATE = "late"
    TWICE = "done twice"
    PAST = "answered from the past"


PATIENCE = 5.0
"""Virtual seconds after which a call without an answer ends, which is the default of httpx."""

LATE = 20.0
"""Virtual seconds by which a late call is late. It is longer than usual time-outs, so that one of the program ends the
call, which is carried out all the same."""


@attrs.frozen
class Course:
    """The way in which a call goes.

    Attributes:
        late: Seconds until it is carried out.
        times: How often it is carried out.
        wait: Seconds until its caller gives up.
        error: The error that the caller gets: the name of an attribute of `Declared`, or empty if it gets the answer.
        from_past: Whether it is answered as if the last change had not been made.
        ends: Whether the program ends here, so that nothing comes back.
    """

    late: float = 0.0
    times: int = 1
    wait: float = 0.0
    error: str = ""
    from_past: bool = False
    ends: bool = False


AS_USUAL = Course()
ENDS_BEFORE = Course(times=0, ends=True)
ENDS_AFTER = Course(ends=True)

COURSES = {
    Fault.REFUSED: Course(times=0, error="refused"),
    Fault.REQUEST_LOST: Course(times=0, wait=PATIENCE, error="timed_out"),
    Fault.ANSWER_LOST: Course(wait=PATIENCE, error="timed_out"),
    Fault.LATE: Course(late=LATE),
    Fault.TWICE: Course(times=2),
    Fault.PAST: Course(from_past=True),
}

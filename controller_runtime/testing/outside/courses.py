# SPDX-License-Identifier: Apache-2.0
"""The ways in which a call to an outside service may succeed or fail, as data."""

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
"""Virtual seconds after which a call without an answer times out; the default of httpx."""

LATE = 20.0
"""Virtual seconds after which a late call is carried out. They are more than usual time-outs, so that the program gives
up the call, which takes effect all the same.
"""


@attrs.frozen
class Course:
    """The way in which a call to an outside service goes.

    Attributes:
        late: Virtual seconds until the call is carried out.
        times: The number of times that it is carried out.
        wait: Virtual seconds that the caller waits after that for the answer, or until it times out.
        error: The name of the attribute of `Declared` that makes the caller's error; empty if it gets the answer.
        from_past: True if the call is answered with the state before the last change.
        ends: True if the program is killed during the call, and gets no answer.
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

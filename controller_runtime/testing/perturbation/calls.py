# SPDX-License-Identifier: Apache-2.0
"""The observer of calls to outside services in one run: it records them, and applies the fault of the plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from controller_runtime.testing.outside.calls import Call, Observer, Watched
from controller_runtime.testing.outside.courses import Course
from controller_runtime.testing.outside.snapshots import Changed
from controller_runtime.testing.perturbation.record import MANAGER, OTHER, STORY, Act, Called, Run, Told
from controller_runtime.testing.perturbation.recorder import Recorder
from controller_runtime.testing.perturbation.server import ManagersServer
from controller_runtime.testing.perturbation.striking import Striker
from controller_runtime.testing.perturbation.waits import OwnWaits


class Calls(Observer):
    """Observes the outside services of one run.

    Args:
        run: The record.
        recorder: Records the changes.
        seen: Counts the calls, among the manager's writes.
        striker: Applies the fault.
        waits: Tells which calls the framework itself makes.

    Threads: those of a simulation, which run one at a time.
    """

    def __init__(self, run: Run, recorder: Recorder, seen: ManagersServer, striker: Striker, waits: OwnWaits) -> None:
        self._run, self._recorder, self._seen = run, recorder, seen
        self._striker, self._waits = striker, waits
        self._is_again = False

    def added(self, line: Watched) -> None:
        self._recorder.lines.append(line)

    def begins(self, call: Call) -> tuple[int, Course]:
        self._seen.requests += 1
        number = self._seen.count("call", call.text)
        self._run.calls.append(Called(number, call, self._run.steps))
        return number, self._striker.course(number)

    def changed(self, line: Watched, number: int, found: Sequence[Changed]) -> None:
        is_story = self._recorder.is_in_test and not self._waits.is_own
        others = (STORY, self._run.steps) if is_story else (OTHER, 0)
        for each in found:
            self._recorder.outside(line.name, each, (MANAGER, number) if number else others)

    def acted(self, line: Watched, method: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        if not self._waits.is_own and not self._is_again:
            self._run.story.append(Told(Act(line.name, method, args, dict(kwargs))))

    def moved(self, line: Watched, found: Sequence[Changed]) -> None:
        self._run.is_retellable = False
        for each in found:
            self._recorder.outside(line.name, each, (OTHER, 0))

    def end_program(self) -> None:
        self._striker.end_program()

    def act_again(self, act: Act) -> None:
        """Repeat a call of the test that changed an outside service in the unperturbed run, without recording it as a
        new step.
        """
        line = next(each for each in self._recorder.lines if each.name == act.outside)
        self._is_again = True
        try:
            line.calling(act.method, getattr(line.fake, act.method))(*act.args, **act.kwargs)
        finally:
            self._is_again = False

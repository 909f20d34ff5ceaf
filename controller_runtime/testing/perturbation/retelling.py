# SPDX-License-Identifier: Apache-2.0
"""Tells a story without its test: the rest of it, or a shorter one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from apimachinery.http import HTTPRequest, HTTPResponse, Watch
from controller_runtime.testing.perturbation.record import STORY, Run, Told
from controller_runtime.testing.perturbation.server import ManagersServer
from controller_runtime.testing.perturbation.telling import unconditional
from controller_runtime.testing.simulation import Simulation
from embedded_apiserver import APIServer


class StoryLeft(BaseException):
    """Raised in the test, at a step whose outcome its asserts do not expect: the story goes on without the test."""


class Retelling(ABC):
    """The part of a session that tells stories; the base of `Session`, which sets the attributes. Threads: one."""

    run: Run
    calm: Run | None
    seen: ManagersServer
    is_void: bool
    _told: Sequence[Told] | None
    _server: APIServer
    _simulation: Simulation
    _is_waiting: bool
    _is_in_fixtures = False

    def enter_fixtures(self) -> None:
        """Note that the fixtures of a test come first; a story cannot be left in them."""
        self._is_in_fixtures = True

    def enter_test(self) -> None:
        """Note that the body of a test begins; what its fixtures have told is not told again."""
        self._is_in_fixtures = False
        if self.run.prelude is not None:
            self.run.prelude = len(self.run.story)

    def starts(self) -> None:
        """Note that the manager starts, from which on a story can be told again."""
        if self.run.prelude is None:
            self.run.prelude = len(self.run.story)

    def leave_story(self) -> None:
        """Tell the rest of the calm run's story, or the story that was given, after the test was left."""
        if (story := self._told) is not None:
            self._told = None
            try:
                self._retell(story)
            except StoryLeft:
                pass
            else:
                return
        assert self.calm is not None, "only a perturbed run leaves the test"
        for told in self.calm.story[len(self.run.story) :]:
            if told.request is not None:
                self.run.story.append(told)
                if not self._tell_again(unconditional(told.request)):
                    self.is_void = True  # the story cannot go on without what the manager did not do
                    return
                self._settle()
            elif self.seen.gate is None or self.seen.gate.is_open:
                self._wait(told.seconds)
        if self.seen.gate is not None and not self.seen.gate.is_open:
            self.is_void = True

    def _retell(self, story: Sequence[Told]) -> None:
        """Tell a story with the waits of the test, at which a plan may strike."""
        for told in story:
            if told.request is None:
                self._simulation.advance(told.seconds) if told.seconds else self._simulation.settle()
                continue
            self.run.story.append(told)
            if not self._tell_again(unconditional(told.request)):
                self.is_void = True
                return

    def _leave_if_told(self) -> None:
        if self._told is not None and self.run.prelude is not None and not self._is_in_fixtures:
            raise StoryLeft

    def _tell_again(self, request: HTTPRequest) -> bool:
        """Send a step of the calm run's story, and return whether the server accepts it."""
        self._is_waiting = True
        try:
            answer = self._act_as((STORY, self.run.steps), lambda: self._server.handle(request))
        finally:
            self._is_waiting = False
        return isinstance(answer, HTTPResponse) and answer.status < 400

    @abstractmethod
    def _wait(self, seconds: float) -> None: ...

    @abstractmethod
    def _settle(self) -> None: ...

    @abstractmethod
    def _act_as(
        self, writer: tuple[str, int], carry_out: Callable[[], HTTPResponse | Watch]
    ) -> HTTPResponse | Watch: ...

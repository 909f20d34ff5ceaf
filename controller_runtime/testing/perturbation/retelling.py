# SPDX-License-Identifier: Apache-2.0
"""Repeats the recorded actions of a test without its code: the rest of them, or only some."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from apimachinery.decoding import decoder_of
from apimachinery.http import HTTPRequest, HTTPResponse
from controller_runtime.testing.perturbation.calls import Calls
from controller_runtime.testing.perturbation.record import STORY, Act, Run, Told
from controller_runtime.testing.perturbation.recorder import Recorder
from controller_runtime.testing.perturbation.striking import Striker
from controller_runtime.testing.perturbation.telling import unconditional
from controller_runtime.testing.perturbation.waits import OwnWaits
from embedded_apiserver import APIServer


class StoryLeft(BaseException):
    """Raised in the test where recorded actions continue without its code: its asserts do not expect the outcome of the
    step, or only some of its actions are played.
    """


class Retelling(NamedTuple):
    """Repeats recorded actions of a test, without running the test's code.

    Attributes:
        run: The record of the run.
        recorder: Records the steps.
        striker: Applies the fault.
        waits: Lets time pass.
        server: The server that gets the writes.
        calls: The observer of calls to outside services.
        is_calm: True in a run without a fault, which is void if the server refuses a step.
    """

    run: Run
    recorder: Recorder
    striker: Striker
    waits: OwnWaits
    server: APIServer
    calls: Calls
    is_calm: bool

    def shorter(self, story: Sequence[Told], wait: Callable[[float], object]) -> None:
        """Play actions with the waits of the test, at which a fault may happen.

        Args:
            story: The actions.
            wait: Called with the seconds of each wait; waits as the test does.

        Raises:
            StoryLeft: The remaining actions are to be played by `rest`.
        """
        for told in story:
            if told.step is None:
                wait(told.seconds)
            elif not self._step(told, told.step):
                return

    def rest(self, story: Sequence[Told], at_rest: Callable[[], object]) -> None:
        """Play the remaining actions after the test's code was left because a change is hidden.

        Time does not advance until the change after the hidden one has been made.

        Args:
            story: All actions of the test.
            at_rest: Called after each wait.
        """
        for told in story[len(self.run.story) :]:
            if told.step is not None:
                if not self._step(told, told.step):
                    return
                self.waits.settle()
                continue
            self.run.story.append(told)
            if not self.striker.is_withholding:
                self.waits.advance(told.seconds)
            at_rest()
        if self.striker.is_withholding:
            self.striker.cannot("the change that follows the missed one was not made")

    def _step(self, told: Told, what: HTTPRequest | Act) -> bool:
        """Carry out a step, and return whether the story can go on."""
        self.run.story.append(told)
        refusal = self._failure(what) if isinstance(what, Act) else self._refusal(unconditional(what))
        if not refusal:
            return True
        step = f"step {self.run.steps} cannot be done: {refusal}"
        if self.is_calm or self.striker.is_withholding:  # a program that has not seen a change cannot have acted on it
            self.striker.cannot(step)
        else:
            self.run.failures.append(step)
            self.run.is_whole = False
        return False

    def _refusal(self, request: HTTPRequest) -> str:
        """Send a step, and return why the server refuses it; empty if it does not."""
        with self.waits.own():
            answer = self.recorder.act_as((STORY, self.run.steps), lambda: self.server.handle(request))
        assert isinstance(answer, HTTPResponse), "a write is answered at once"
        return "" if answer.status < 400 else _message(answer)

    def _failure(self, act: Act) -> str:
        """Change an outside service as the test did, and return why it cannot be done; empty if it can."""
        try:
            self.calls.act_again(act)
        except Exception as error:  # noqa: BLE001  an act of the story ends here: its error is why it cannot be done
            return f"{act}: {type(error).__name__}: {error}"
        return ""


class _Status(msgspec.Struct):
    message: str = ""


_decode: Callable[[bytes], _Status] = decoder_of(_Status)


def _message(answer: HTTPResponse) -> str:
    try:
        return _decode(answer.body).message or f"status {answer.status}"
    except msgspec.MsgspecError:
        return f"status {answer.status}"

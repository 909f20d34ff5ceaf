# SPDX-License-Identifier: Apache-2.0
"""The part of `--perturb` that pytest calls; registered only when the option is given."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from controller_runtime.testing.perturbation import ambient
from controller_runtime.testing.perturbation.runner import Options, Runner, Summary, judge, report
from controller_runtime.testing.perturbation.sequence_explore import failing_sequences
from controller_runtime.testing.perturbation.sequence_plan import StateSequence
from controller_runtime.testing.perturbation.session import StoryLeft

MARKER = "unperturbed"


class PerturbPlugin:
    """Runs each test that has a cluster through its plans. Threads: one."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._summaries: list[Summary] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
        """Run a test, and then its plans."""
        if not isinstance(item, pytest.Function):
            return None
        if (marker := item.get_closest_marker(MARKER)) is not None:
            reason = marker.args[0] if marker.args else ""
            if not reason:
                raise pytest.UsageError(f"{item.nodeid}: @pytest.mark.{MARKER} needs a reason")
            self._summaries.append(Summary(item.nodeid, refusal=reason))
            return None
        runner = Runner(item, nextitem, self._options)
        runner.run()
        if runner.summary.refusal or runner.summary.possible:
            self._summaries.append(runner.summary)
        return True

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> Generator[None, object, object]:
        """Wait for the end of the story, and judge it."""
        session = ambient.session
        if session is None:
            return (yield)
        folder, budget = pyfuncitem.config.invocation_params.dir, self._options.budget
        try:
            outcome = yield
        except StoryLeft:
            outcome = True
            session.leave_story()
        except (Exception, pytest.fail.Exception) as failed:
            if session.plan is not None and session.fired:
                failed.add_note(report(session, pyfuncitem.nodeid, folder, ["the test's own check fails"]))
            raise
        session.finish()
        if isinstance(session.plan, StateSequence):
            if texts := [
                report(session, pyfuncitem.nodeid, folder, each) for each in failing_sequences(session, budget / 2)
            ]:
                pytest.fail("\n".join(texts), pytrace=False)
            return outcome
        if found := judge(session):
            pytest.fail(report(session, pyfuncitem.nodeid, folder, found), pytrace=False)
        return outcome

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print a line for each test that was perturbed, or could not be."""
        if self._summaries:
            terminalreporter.section("perturbations")
            for summary in self._summaries:
                terminalreporter.line(str(summary))

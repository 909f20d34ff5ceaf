# SPDX-License-Identifier: Apache-2.0
"""The part of `--perturb` that pytest calls; registered only when the option is given."""

from __future__ import annotations

import os
import traceback
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from controller_runtime.testing.panics import ReconcilesPanicked, first_of
from controller_runtime.testing.perturbation import ambient, items
from controller_runtime.testing.perturbation.options import Options
from controller_runtime.testing.perturbation.report import judge, report
from controller_runtime.testing.perturbation.retelling import StoryLeft
from controller_runtime.testing.perturbation.runner import Runner
from controller_runtime.testing.perturbation.sequence_explore import failing_sequences
from controller_runtime.testing.perturbation.sequence_plan import StateSequence
from controller_runtime.testing.perturbation.session import Session, never_rests
from controller_runtime.testing.perturbation.summary import Summary, to_lists, total
from controller_runtime.testing.simulation import Hang

MARKER = "unperturbed"
PACKAGE = f"{os.sep}controller_runtime{os.sep}"
_SENT = "controller_runtime_perturbations"


class PerturbPlugin:
    """Runs each test that has a cluster several times without a fault, and then with the fault of each plan.

    Args:
        options: The options of the command line.

    Threads: one.
    """

    def __init__(self, options: Options) -> None:
        self._options = options
        self._summaries: list[Summary] = []
        self._test = ""
        self._session: pytest.Session | None = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
        """Run a test, and again with each fault; return None, for pytest to run it, if it is not perturbed."""
        script = self._options.script
        if not isinstance(item, pytest.Function) or items.why_not(item):
            return None
        if script is not None and script.test != item.nodeid:
            return None
        if (marker := item.get_closest_marker(MARKER)) is not None:
            self._summaries.append(Summary(item.nodeid, refusal=_reason(marker, item.nodeid)))
            return None
        runner = Runner(item, nextitem, self._options)
        self._test = item.nodeid
        runner.run()
        if runner.summary.refusal or runner.summary.possible:
            self._summaries.append(runner.summary)
        return True

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> Generator[None, object, object]:
        """Run the test function, wait until nothing changes any more in the cluster, and judge the run."""
        session = ambient.session
        if session is None:
            return (yield)
        session.enter_test()
        outcome: object = True
        with _noting(session):
            try:
                outcome = yield
            except StoryLeft:
                session.leave_story()
        session.finish()
        if session.plan is None:
            if session.run.broken:
                pytest.fail("\n".join(session.run.broken), pytrace=False)
            return outcome
        if session.cluster is not None:
            with _noting(session):
                session.cluster.raise_panics()
        found: Iterable[Sequence[str]]
        if isinstance(session.plan, StateSequence):
            found = failing_sequences(session, self._options.budget / 2)
        else:
            found = [judge(session)]
        texts = [
            report(session, f"{pyfuncitem.name}-{number or ''}", self._test, self._options, each)
            for number, each in enumerate(found)
            if each
        ]
        if texts:
            pytest.fail("\n".join(texts), pytrace=False)
        return outcome

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count an additional run as a collected test, so that pytest does not report more tests than it collected."""
        nodeid = getattr(report, items.PERTURBED, "")
        if self._session is None or not nodeid or hasattr(self._session.config, "workerinput"):
            return
        items.rename(report, nodeid)
        if report.when == "setup":
            self._session.testscollected += 1

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Keep the pytest session."""
        self._session = session

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Send the summaries of a pytest-xdist worker to the controller."""
        output: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
        if output is not None:
            output[_SENT] = to_lists(self._summaries)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Receive the summaries of a pytest-xdist worker."""
        sent = getattr(node, "workeroutput", {}).get(_SENT, [])
        self._summaries += [Summary(**each) for each in sent]

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print a total, and before it a line for each test that failed, or was not perturbed or compared completely.

        With `-v`, each perturbed or refused test has a line.
        """
        if not self._summaries:
            return
        terminalreporter.section("perturbations")
        shows_all = terminalreporter.config.get_verbosity() > 0
        for summary in sorted(self._summaries, key=lambda each: each.nodeid):
            if shows_all or summary.matters:
                terminalreporter.line(str(summary))
        terminalreporter.line(total(self._summaries))


@contextmanager
def _noting(session: Session) -> Iterator[None]:
    """Take any failure of a perturbed run for a finding; one of an unperturbed run is the test's own."""
    try:
        yield
    except (Exception, pytest.fail.Exception) as failed:
        if session.plan is None:
            raise
        session.fail(_own(failed), is_check=isinstance(failed, AssertionError | pytest.fail.Exception))


def _own(failed: BaseException) -> str:
    """Return what ended a test, and where that stands."""
    if isinstance(failed, Hang):
        return never_rests(failed)
    if isinstance(failed, ReconcilesPanicked):
        return first_of(failed)
    at = [line for line in traceback.extract_tb(failed.__traceback__) if PACKAGE not in line.filename][-1:]
    where = "".join(f"{Path(line.filename).name}:{line.lineno}: " for line in at)
    kind = "" if isinstance(failed, AssertionError | pytest.fail.Exception) else f"{type(failed).__name__}: "
    return f"{where}{kind}{first_of(failed) or 'the test fails'}"


def _reason(marker: pytest.Mark, nodeid: str) -> str:
    reason = marker.args[0] if marker.args else marker.kwargs.get("reason", "")
    if not reason or not isinstance(reason, str):
        raise pytest.UsageError(f'{nodeid}: write why, as in @pytest.mark.{MARKER}("it waits for a real socket")')
    return reason

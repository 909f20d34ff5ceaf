# SPDX-License-Identifier: Apache-2.0
"""Runs one pytest item several times, each time with a new name and fresh fixtures."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Sequence
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

from controller_runtime.testing.perturbation import ambient
from controller_runtime.testing.perturbation.session import Session

PERTURBED = "perturbed_run"
"""The attribute that marks reports of additional runs, which pytest did not collect; its value is the run's nodeid."""


def why_not(item: pytest.Item) -> str:
    """Return the reason why a test can never have perturbed runs; empty if it can."""
    if not isinstance(item, pytest.Function):
        return "it is not a function"
    if getattr(item, "nofuncargs", False) or type(item).__name__ == "TestCaseFunction":
        return "it is a method of a unittest.TestCase"
    if inspect.iscoroutinefunction(item.function):
        return "it is a coroutine"
    return ""


def named(item: pytest.Function, what: str) -> pytest.Function:
    """Return a fresh item of the same test, whose name has the suffix `[what]`.

    The item is copied rather than made from its parent, because plug-ins may have added markers to it, or made it of
    their own class.
    """
    made = copy.copy(item)
    made.name = f"{item.name}[{what}]"
    private: Any = made
    rename(made, f"{item.nodeid}[{what}]")
    for cached in ("location", "_obj", "_instance"):
        made.__dict__.pop(cached, None)
    made.stash = pytest.Stash()
    made.user_properties = []
    private._report_sections = []
    private._initrequest()
    return made


def rename(thing: Any, nodeid: str) -> None:
    """Change the nodeid of an item or a report, in any supported version of pytest."""
    if hasattr(thing, "_id"):  # pytest 9.2 and later keep its parts
        thing._id = type(thing._id).parse(nodeid)
    elif hasattr(thing, "_nodeid"):
        thing._nodeid = nodeid
    else:
        thing.nodeid = nodeid


def run_once(item: pytest.Function, session: Session) -> list[pytest.TestReport]:
    """Run an item as a part of `session`, and return its reports, which have not been passed to pytest."""
    ambient.session = session
    session.enter_fixtures()
    try:
        # Another run of the test may follow, so fixtures of its module and its class are kept.
        return runtestprotocol(item, nextitem=named(item, "next"), log=False)
    finally:
        ambient.session = None


def publish(item: pytest.Function, collected: str, reports: Sequence[pytest.TestReport]) -> None:
    """Pass the reports of a run to pytest.

    Args:
        item: The item that ran.
        collected: The nodeid of the test that pytest collected.
        reports: The reports.
    """
    hook = item.ihook
    hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for report in reports:
        if item.nodeid != collected:
            setattr(report, PERTURBED, item.nodeid)
            if hasattr(item.config, "workerinput"):  # a worker of pytest-xdist knows the nodeids of its items alone
                rename(report, collected)
        hook.pytest_runtest_logreport(report=report)
    hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)


def tear_down(item: pytest.Function, nextitem: pytest.Item | None) -> None:
    """Tear down the fixtures that several runs of a test shared, unless the next test needs them; report errors.

    Args:
        item: The item.
        nextitem: The next item; None after the last.
    """
    state = item.session._setupstate
    call = pytest.CallInfo.from_call(lambda: state.teardown_exact(nextitem), when="teardown")
    if call.excinfo is not None:
        item.ihook.pytest_runtest_logreport(report=item.ihook.pytest_runtest_makereport(item=item, call=call))

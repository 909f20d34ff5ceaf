# SPDX-License-Identifier: Apache-2.0
"""Runs pytest on a folder inside this process, which costs a tenth of a second where a process costs a whole one."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

import attrs
import pytest

PLUGIN = "controller_runtime.testing.pytest_plugin"


@attrs.define
class Outcome:
    """The report of a run of pytest.

    Attributes:
        collected: The number of tests that there are, those that an option leaves out included.
        passed: The number of tests that passed.
        failures: The tests, fixtures and files that failed, each with its traceback.
    """

    collected: int = 0
    passed: int = 0
    failures: list[str] = attrs.field(factory=list)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Count the tests; pytest calls it."""
        self.collected = len(items)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count a phase of a test; pytest calls it."""
        self.passed += report.when == "call" and report.passed
        if report.failed:
            self.failures.append(f"{report.nodeid}\n{report.longreprtext}")

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note a file that cannot be imported; pytest calls it."""
        if report.failed:
            self.failures.append(f"{report.nodeid}\n{report.longreprtext}")


def run_inline(folder: Path, *options: str) -> Outcome:
    """Run the tests of a folder, whose modules are imported as for the first time, and forgotten afterwards.

    Args:
        folder: The folder; the working directory meanwhile. Its own configuration counts.
        *options: Further arguments of pytest.
    """
    outcome, path, modules = Outcome(), [*sys.path], {*sys.modules}
    names = {each.stem for each in folder.glob("*.py")}
    hidden = {name: sys.modules.pop(name) for name in names & modules}
    written, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    arguments = ["-p", PLUGIN, "-p", "no:cacheprovider", "-q", "-W", "error", "--rootdir", str(folder), *options]
    if not any(folder.glob("*.toml")):
        arguments += ["-c", os.devnull]
    try:
        with contextlib.chdir(folder):
            pytest.main([*arguments, str(folder)], plugins=[outcome])
    finally:
        sys.path[:], sys.dont_write_bytecode = path, written
        for name in names:
            sys.modules.pop(name, None)
        sys.modules.update(hidden)
    return outcome

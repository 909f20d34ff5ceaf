# SPDX-License-Identifier: Apache-2.0
"""Runs pytest on a folder inside this process, which costs a tenth of a second where a process costs a whole one."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

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


class Printed(NamedTuple):
    """The exit status of a run of pytest, and what it printed on standard output and on standard error."""

    status: int
    text: str
    errors: str


def run_inline(folder: Path, *options: str) -> Outcome:
    """Run the tests of a folder, whose modules are imported as for the first time, and forgotten afterwards.

    Args:
        folder: The folder; the working directory meanwhile. Its own configuration counts.
        *options: Further arguments of pytest.
    """
    outcome = Outcome()
    with _modules_of(folder):
        pytest.main([*_arguments(folder), "-q", "-W", "error", *options, str(folder)], plugins=[outcome])
    return outcome


def run_printed(folder: Path, capsys: pytest.CaptureFixture[str], *options: str) -> Printed:
    """Run the tests of a folder as `run_inline` does, and return what pytest prints; output is not captured inside."""
    capsys.readouterr()
    with _modules_of(folder):
        status = pytest.main([*_arguments(folder), "-s", "-p", "no:faulthandler", *options])
    return Printed(status, *capsys.readouterr())


def _arguments(folder: Path) -> list[str]:
    """Return the options that keep this project's own configuration and pytest's cache out of a run."""
    own = [] if any(folder.glob("*.toml")) else ["-c", os.devnull]
    return ["-p", PLUGIN, "-p", "no:cacheprovider", "--rootdir", str(folder), *own]


@contextlib.contextmanager
def _modules_of(folder: Path) -> Iterator[None]:
    """Work in a folder without the modules of its names that are imported, and without bytecode on the disk."""
    path, names = [*sys.path], {each.stem for each in folder.glob("*.py")}
    hidden = {name: sys.modules.pop(name) for name in names & {*sys.modules}}
    written, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        with contextlib.chdir(folder):
            yield
    finally:
        sys.path[:], sys.dont_write_bytecode = path, written
        for name in names:
            sys.modules.pop(name, None)
        sys.modules.update(hidden)

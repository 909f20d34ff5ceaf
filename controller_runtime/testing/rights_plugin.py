# SPDX-License-Identifier: Apache-2.0
"""The pytest options `--rbac-record` and `--rbac-check`; imported only if one of them is given.

With pytest-xdist each worker records its own tests and sends the record to the main process, which decides.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import attrs
import pytest

from apimachinery.errors import UsageError
from controller_runtime.rights.access import Access, granted_by, minimal
from controller_runtime.rights.comparison import compared
from controller_runtime.rights.file import read_objects, write
from controller_runtime.rights.recorder import Recorder
from controller_runtime.testing.markers import RIGHTS

_OUTPUT = "controller_runtime_rights"
_SUFFIXES = (".yaml", ".yml")


@attrs.define
class RightsRecord:
    """The accesses that the managers of a test run needed, and the numbers of tests that did not run or pass.

    Attributes:
        asked: The accesses of each program, each with the first test that needed it. The program of tests without the
            marker is the empty string.
        counts: The numbers of tests by `deselected`, `skipped` and `failed`.
    """

    asked: dict[str, dict[Access, str]] = attrs.field(factory=dict)
    counts: Counter[str] = attrs.field(factory=Counter)

    def add(self, program: str, accesses: Mapping[Access, str]) -> None:
        """Add accesses of a program, given with a test that needed each; a known access keeps its test."""
        known = self.asked.setdefault(program, {})
        for access, test in accesses.items():
            known.setdefault(access, test)

    def dumped(self) -> dict[str, Any]:
        """Return the record as plain values that pytest-xdist can send."""
        asked = {name: [[*access, test] for access, test in each.items()] for name, each in self.asked.items()}
        return {"asked": asked, "counts": dict(self.counts)}

    def load(self, dumped: Mapping[str, Any]) -> None:
        """Add the record of a worker, as returned by `dumped`."""
        for program, accesses in dumped["asked"].items():
            self.add(program, {Access(*access): test for *access, test in accesses})
        # Failures and skips are reported to the main process, which has counted them.
        self.counts["deselected"] = max(self.counts["deselected"], dumped["counts"].get("deselected", 0))


@attrs.frozen
class RightsVerdict:
    """The result of a test run with one of the options.

    Attributes:
        lines: The lines to show.
        is_failure: True if the test run fails.
    """

    lines: list[str]
    is_failure: bool


def files_of(record: RightsRecord, target: Path) -> dict[Path, dict[Access, str]]:
    """Return the accesses for each file: all in `target` if it is a file, or one file for each program with a name if
    it is a folder.
    """
    if is_file(target):
        together = RightsRecord()
        for accesses in record.asked.values():
            together.add("", accesses)
        return {target: together.asked.get("", {})}
    return {target / f"{name}.yaml": accesses for name, accesses in sorted(record.asked.items()) if name}


def is_file(target: Path) -> bool:
    """Return whether `target` stands for one file rather than for a folder of files."""
    return target.suffix in _SUFFIXES and not target.is_dir()


def recorded(record: RightsRecord, target: Path) -> RightsVerdict:
    """Write the files of roles, and return the result.

    Raises:
        UsageError: A file cannot be written.
    """
    files = {file: accesses for file, accesses in files_of(record, target).items() if accesses}
    if not files:
        return RightsVerdict([f"{target} is not written: {_nothing_asked(record, target)}"], is_failure=True)
    lines = []
    names = [name for name in record.asked if name]
    for file, accesses in files.items():
        has_changed = write(file, accesses, name=names[0] if is_file(target) and len(names) == 1 else "")
        lines.append(f"{file}: {len(minimal(accesses))} rights, {'written' if has_changed else 'unchanged'}")
    counts = [f"{number} {name}" for name, number in sorted(record.counts.items()) if number]
    if counts:
        lines.append(f"rights may be missing, for not all tests ran and passed: {', '.join(counts)}")
    return RightsVerdict(lines + _left_out(record, target), is_failure=False)


def checked(record: RightsRecord, target: Path, *, partial: str) -> RightsVerdict:
    """Compare the record with the roles in the files, and return the result.

    Args:
        record: The accesses that the managers needed.
        target: The file or folder.
        partial: The reason why unused permissions are not judged; empty if they are.

    Raises:
        UsageError: A file cannot be read.
    """
    files = files_of(record, target)
    if not any(files.values()) and not partial:
        return RightsVerdict([_nothing_asked(record, target)], is_failure=True)
    if not is_file(target):
        files |= {file: {} for suffix in _SUFFIXES for file in target.glob(f"*{suffix}") if file not in files}
    lines, unused = [], []
    for file, accesses in sorted(files.items()):
        differences = compared(minimal(accesses), granted_by(read_objects(file)) if file.exists() else ())
        lines += [f"{file} lacks: {access} (needed by {accesses[access]})" for access in differences.missing]
        unused += [f"{file} grants what no test used: {access}" for access in differences.unused]
    if unused and partial:
        notes = [f"rights that no test used are not judged ({len(unused)}), for {partial}"]
        return RightsVerdict(lines + notes + _left_out(record, target), is_failure=bool(lines))
    is_failure = bool(lines or unused)
    if unused and record.counts["skipped"]:
        unused.append(f"tests that were skipped may use them: {record.counts['skipped']}")
    lines = lines + unused if is_failure else [f"{target}: the tests use all of these rights and no others"]
    return RightsVerdict(lines + _left_out(record, target), is_failure)


def _nothing_asked(record: RightsRecord, target: Path) -> str:
    if not is_file(target) and any(record.asked.values()):
        return f'no test has the marker {RIGHTS}("NAME"), which says whose file in the folder it is for'
    return "no manager of these tests asked anything of an API server"


def _left_out(record: RightsRecord, target: Path) -> list[str]:
    tests = {*record.asked.get("", {}).values()}
    if is_file(target) or not tests:
        return []
    return [f"left out, for it has no marker {RIGHTS}: {test}" for test in sorted(tests)]


class RightsPlugin:
    """Records the accesses of managers in each test, and writes or checks the roles at the end of the test run."""

    def __init__(self, config: pytest.Config) -> None:
        record, check = config.getoption("--rbac-record"), config.getoption("--rbac-check")
        if record is not None and check is not None:
            raise pytest.UsageError("--rbac-record and --rbac-check exclude each other: record first, then check")
        if not (record or check):
            raise pytest.UsageError("--rbac-record and --rbac-check need the name of a file or folder")
        self._config = config
        self._is_record = bool(record)
        self._option = "--rbac-record" if record else "--rbac-check"
        self._target = Path(record or check)
        self._is_worker = hasattr(config, "workerinput")
        self._record = RightsRecord()
        self._recorder = Recorder()
        self._open = ExitStack()
        self._verdict: RightsVerdict | None = None
        if not self._is_worker:
            self._refuse_bad_target()

    def _refuse_bad_target(self) -> None:
        target = self._target
        if not self._is_record and not target.exists():
            raise pytest.UsageError(f"--rbac-check: there is no {target}; write it with --rbac-record {target}")
        if target.exists() and not target.is_dir() and target.suffix not in _SUFFIXES:
            raise pytest.UsageError(f"{self._option}: {target} is neither a folder nor named *.yaml")
        files = [target] if target.is_file() else [each for s in _SUFFIXES for each in target.glob(f"*{s}")]
        try:
            for file in files:
                read_objects(file)
        except UsageError as error:
            raise pytest.UsageError(f"{self._option}: {error}") from None

    def pytest_sessionstart(self) -> None:
        """Begin to record."""
        self._open.enter_context(self._recorder.recording())

    def pytest_unconfigure(self) -> None:
        """Stop recording."""
        self._open.close()

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        """Count the tests that do not run."""
        self._record.counts["deselected"] += len(items)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count the tests that did not pass."""
        if report.outcome != "passed" and not hasattr(report, "wasxfail"):
            self._record.counts[report.outcome] += 1

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Record the accesses of a test and its fixtures."""
        outcome = yield
        accesses = self._recorder.take()
        marker = item.get_closest_marker(RIGHTS)
        program = "" if marker is None else marker.args[0]
        if accesses and program is not None:
            self._record.add(program, dict.fromkeys(accesses, item.nodeid))
        return outcome

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Refuse markers that do not have exactly one valid file name, or None."""
        for item in items:
            marker = item.get_closest_marker(RIGHTS)
            if marker is not None and not _is_marker(marker):
                text = f'the marker {RIGHTS} of {item.nodeid} takes one name, as in {RIGHTS}("cabins")'
                raise pytest.UsageError(f"{text}, or None for a test whose managers are not recorded")

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Receive the record of a pytest-xdist worker."""
        if dumped := getattr(node, "workeroutput", {}).get(_OUTPUT):
            self._record.load(dumped)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Send the record to the main process; in the main process, decide."""
        if self._is_worker:
            self._config.workeroutput[_OUTPUT] = self._record.dumped()  # type: ignore[attr-defined]  # xdist's
        elif not self._config.option.collectonly and session.exitstatus in (0, 1):
            self._verdict = self._decide()
            if self._verdict.is_failure:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _decide(self) -> RightsVerdict:
        try:
            if self._is_record:
                return recorded(self._record, self._target)
            return checked(self._record, self._target, partial=self._why_partial())
        except UsageError as error:
            return RightsVerdict([str(error)], is_failure=True)

    def _why_partial(self) -> str:
        counts = self._record.counts
        if counts["failed"]:
            return "not all tests passed"
        if counts["deselected"]:
            return "some tests were deselected"
        named = [each for each in self._config.invocation_params.args if "::" in str(each) or str(each).endswith(".py")]
        return f"only a part of the tests was named: {named[0]}" if named else ""

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print the result."""
        if self._verdict is not None:
            terminalreporter.section(f"rights ({self._option})", red=self._verdict.is_failure)
            for line in self._verdict.lines:
                terminalreporter.write_line(line)


def _is_marker(marker: pytest.Mark) -> bool:
    if len(marker.args) != 1 or marker.kwargs:
        return False
    name = marker.args[0]
    return name is None or (isinstance(name, str) and bool(name) and "/" not in name and not name.startswith("."))

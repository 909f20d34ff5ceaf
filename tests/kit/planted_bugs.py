# SPDX-License-Identifier: Apache-2.0
"""Plants known bugs, one at a time, and prints which ones are found: `python tests/kit/planted_bugs.py [NAME…]`.

The bugs stand in `tests/planted/*.toml`, each with its file, the text to replace, what to put in its place, and
the smallest test files of which one test must fail. They are planted in a copy of the tree. Without names all are
tried, which takes minutes. Exit status 1: a bug survived, or the tests fail without any.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
NEEDED = (
    "apimachinery",
    "apiserver",
    "controller_runtime",
    "controllers",
    "examples",
    "benchmarks",
    "tests",
    "setup.cfg",
)

PASSED, FAILED = 0, 1
"""Exit statuses of pytest; any other one says nothing about a bug."""

PATIENCE = 60
"""Seconds after which a test that hangs counts as failed."""


class Bug(NamedTuple):
    """A planted bug.

    Attributes:
        name: Its name on the command line.
        what: The error in behavior that it causes.
        file: Where it is planted.
        old: The text that it replaces, found there exactly once.
        new: The text in place of the old one.
        tests: Arguments for pytest: those that must fail, at least one.
        also: Further replacements, each with `file`, `old` and `new`: the other guards against the same error.
    """

    name: str
    what: str
    file: str
    old: str
    new: str
    tests: list[str]
    also: Sequence[Mapping[str, str]] = ()

    @property
    def replacements(self) -> list[Bug]:
        """Each replacement as a bug of its own."""
        return [self._replace(also=()), *(self._replace(also=(), **dict(each)) for each in self.also)]

    def planted_in(self, text: str) -> str:
        """Return `text` with the bug.

        Raises:
            ValueError: The text to replace is not found exactly once.
        """
        if text.count(self.old) != 1:
            raise ValueError(f"{self.name}: its text is found {text.count(self.old)} times in {self.file}, not once")
        return text.replace(self.old, self.new)


def bugs(root: Path = ROOT) -> list[Bug]:
    """Return every bug, by file."""
    found = []
    for path in sorted((root / "tests" / "planted").glob("*.toml")):
        found += [Bug(name, **fields) for name, fields in tomllib.loads(path.read_text(encoding="utf-8")).items()]
    return found


def run_tests(tree: Path, tests: Iterable[str]) -> int:
    """Return the exit status of pytest in `tree`."""
    environment = {
        **os.environ,
        "PYTHONPATH": f"{tree}{os.pathsep}{tree / 'apiserver'}",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", f"--timeout={PATIENCE}", *tests]
    return subprocess.run(command, cwd=tree, env=environment, capture_output=True, check=False).returncode


def judge(tree: Path, chosen: list[Bug]) -> Iterator[tuple[Bug, str]]:
    """Yield each bug with its result: `caught`, `survived`, or why that is not known."""
    for bug in chosen:
        before = {each.file: (tree / each.file).read_text(encoding="utf-8") for each in bug.replacements}
        for each in bug.replacements:
            path = tree / each.file
            path.write_text(each.planted_in(path.read_text(encoding="utf-8")), encoding="utf-8")
        status = run_tests(tree, bug.tests)
        for file, text in before.items():
            (tree / file).write_text(text, encoding="utf-8")
        yield bug, {PASSED: "survived", FAILED: "caught"}.get(status, f"not known: pytest ended with {status}")


def copy_to(tree: Path) -> None:
    """Copy the files that the tests need."""
    for name in NEEDED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(ROOT / name, tree / name)


def main(names: list[str]) -> int:
    """Try the bugs of these names, or all, and print the result of each."""
    chosen = [bug for bug in bugs() if not names or bug.name in names]
    if unknown := set(names) - {bug.name for bug in chosen}:
        sys.exit(f"there is no bug named {', '.join(sorted(unknown))}")
    survivors = 0
    with tempfile.TemporaryDirectory(prefix="planted-") as folder:
        tree = Path(folder)
        copy_to(tree)
        if run_tests(tree, sorted({test for bug in chosen for test in bug.tests})) != PASSED:
            sys.exit("the tests fail without any bug")
        for bug, fate in judge(tree, chosen):
            sys.stdout.write(f"{bug.name:45} {fate}\n")
            sys.stdout.flush()
            survivors += fate != "caught"
    sys.stdout.write(f"{len(chosen) - survivors} of {len(chosen)} caught\n")
    return int(survivors > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

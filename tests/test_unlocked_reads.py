# SPDX-License-Identifier: Apache-2.0
"""A field that is changed under a lock, and read without it, says why at the line: there may be no GIL."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from kit.unlocked import unlocked_reads

ROOT = Path(__file__).parents[1]
PACKAGES = ("apimachinery", "apiserver", "controller_runtime", "controllers")

SHOWN = """
class Counted:
    def __init__(self, host):
        self._lock = host.lock("counted")
        self._count = 0
    def add(self):
        with self._lock:
            self._count += 1
            self._note()
    def _note(self):
        self._last = self._count
    @property

    def count(self):

        return self._count
    @property

    def said(self):

        return self._count  # one number
"""


def test_each_read_without_the_lock_has_its_reason_at_the_line() -> None:
    missing = [
        f"{path.relative_to(ROOT)}:{line} {what}"
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
        for what, line in unlocked_reads(path.read_text(encoding="utf-8"))
    ]
    assert not missing, "write at the line why it needs no lock, or take the lock"


def test_a_read_without_the_lock_and_without_a_reason_is_found() -> None:
    assert [what for what, _ in unlocked_reads(SHOWN)] == ["Counted.count _count"]


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this build of Python has a GIL")
def test_importing_everything_leaves_the_gil_off() -> None:
    code = (
        "import sys, pkgutil, importlib, controller_runtime\n"
        "for each in pkgutil.walk_packages(controller_runtime.__path__, 'controller_runtime.'):\n"
        "    if not each.name.endswith('__main__'): importlib.import_module(each.name)\n"
        "assert not sys._is_gil_enabled(), [each for each in sys.modules if '.' not in each]\n"
    )
    environment = {name: value for name, value in os.environ.items() if name != "PYTHON_GIL"}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")

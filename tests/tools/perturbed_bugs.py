# SPDX-License-Identifier: Apache-2.0
"""Writes which plans find the bugs of `tests/perturbation/bugs`; it takes a minute or two of CPU.

PYTHONPATH=.:tests python tests/tools/perturbed_bugs.py
"""

from __future__ import annotations

import logging
import time
from pathlib import Path

from perturbation.test_bugs import BUGS, FOLDER, tried

_HEAD = """# Which plans find which bugs

The 37 direct bugs that Sieve (OSDI'22) lists, each as a small operator with the bug and without it; see
`tests/perturbation/test_bugs.py`. This page is written by `tests/tools/perturbed_bugs.py`.

| bug | found by | the first thing that is told | plans that find it | plans run on the mended form | complaints of it |
| --- | --- | --- | --- | --- | --- |
"""


def page() -> str:
    """Try all bugs under all plans, and return the page."""
    rows, runs = [], 0
    began = time.process_time()
    for bug in BUGS.values():
        found, mended = tried(bug, bug.buggy), tried(bug, bug.mended)
        runs += found.run + mended.run
        first = next(each for each in found.findings if each.plan.pattern == bug.pattern)
        what = f"{first.complaints[0]}".replace("|", "")
        counts = f"{len(found.findings)} of {found.run} | {mended.run} | {len(mended.findings)}"
        rows.append(f"| {bug.source} | {bug.pattern}: {first.plan} | {what} | {counts} |\n")
    seconds = time.process_time() - began
    return f"{_HEAD}{''.join(rows)}\n{runs} perturbed runs took {seconds:.0f} s of CPU when this was written.\n"


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    Path(FOLDER, "README.md").write_text(page(), encoding="utf-8")

# SPDX-License-Identifier: Apache-2.0
"""The conformance page agrees with the tests."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TOOL = Path(__file__).parent / "tools" / "conformance.py"


def test_the_conformance_page_is_what_the_tests_generate() -> None:
    outcome = subprocess.run([sys.executable, TOOL, "--check"], capture_output=True, text=True, check=False)

    assert outcome.returncode == 0, outcome.stderr

# SPDX-License-Identifier: Apache-2.0
"""The pages that are generated from the tests agree with them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.once

TOOLS = Path(__file__).parent / "tools"


TOOLS_THAT_CHECK = (
    *("conformance.py", "diagrams.py", "differences.py", "flags_page.py"),
    *("kinds_page.py", "known_trouble.py", "metrics_page.py", "other_suites.py"),
)


@pytest.mark.parametrize("tool", TOOLS_THAT_CHECK)
def test_a_generated_page_is_what_the_tests_generate(tool: str) -> None:
    outcome = subprocess.run([sys.executable, TOOLS / tool, "--check"], capture_output=True, text=True, check=False)

    assert outcome.returncode == 0, outcome.stderr

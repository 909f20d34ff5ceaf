# SPDX-License-Identifier: Apache-2.0
"""kubectl prints the same on the embedded server as on a real one, but for the listed differences."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

COMPARE = Path(__file__).parent / "kubectl" / "compare.py"


@pytest.mark.long
@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
def test_kubectl_prints_what_it_prints_on_a_real_server() -> None:
    outcome = subprocess.run([sys.executable, COMPARE, "--show"], capture_output=True, text=True, check=False)

    assert outcome.returncode == 0, outcome.stdout

# SPDX-License-Identifier: Apache-2.0
"""The README shows code that runs, and the examples run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
BLOCK = re.compile(r"<!-- example: (\S+) -->\n```python\n(.*?)```\n", re.DOTALL)


def test_the_readme_shows_the_examples_as_they_are() -> None:
    shown = BLOCK.findall((ROOT / "README.md").read_text())

    assert [path for path, _ in shown] == ["examples/zone_labels.py", "tests/examples/test_zone_labels.py"]
    for path, text in shown:
        assert text.strip()
        assert text in (ROOT / path).read_text(), f"{path} has changed: show it as it is"


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_runs_alone_and_ends_well(example: Path, tmp_path: Path) -> None:
    environment = {k: v for k, v in os.environ.items() if k not in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST")}

    outcome = subprocess.run(
        [sys.executable, str(example)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )

    assert outcome.returncode == 0, outcome.stderr
    assert outcome.stdout.strip(), "an example shows something"
    assert "Traceback" not in outcome.stderr


def test_links_between_the_documents_lead_somewhere() -> None:
    for document in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", document.read_text()):
            assert (document.parent / target).exists(), f"{document.name} links to {target}"

# SPDX-License-Identifier: Apache-2.0
"""The guide's example: it fails, is recorded, replayed, made a test, repaired, and the test passes."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

import pytest
from kit.incidents.recording import recorded
from kit.processes.commands import run_command
from kit.source_package import ROOT

from controller_runtime.incidents.options import Incidents
from controller_runtime.program.command import run
from controller_runtime.program.origin import Origin

pytestmark = pytest.mark.usefixtures("log_as_before")


def test_the_example_of_the_guide(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program, test = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "incidents.md").read_text(), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    Path("sizes.py").write_text(program, encoding="utf-8")
    load = Origin.parse("sizes.py").load
    with recorded(load(), Incidents(folder=tmp_path / "incidents")) as recording:
        recording.create("empty")
    (path,) = (tmp_path / "incidents").iterdir()

    sys.modules.pop("sizes")
    ended = run_command(lambda: run(load(), argv=["replay", str(path), "--as-test"]), capsys)
    assert (ended.status, "verdict: same" in ended.stdout) == (0, True)
    (written,) = Path.cwd().glob("test_*.py")
    assert _without_names(written.read_text(encoding="utf-8").partition("\n\n")[2]) == _without_names(test)

    def tested() -> None:
        sys.modules.pop("sizes", None)
        runpy.run_path(str(written))[written.stem]()

    with pytest.raises(AssertionError):
        tested()
    Path("sizes.py").write_text(program.replace('found["data"]', '(found.get("data") or {})'), encoding="utf-8")
    tested()
    sys.modules.pop("sizes", None)


def _without_names(text: str) -> str:
    return re.sub(r"test_\w+|'sizes[^']*'|\"sizes[^\"]*\"", "NAME", text).strip()

# SPDX-License-Identifier: Apache-2.0
"""The tutorial of CronJob, followed step by step in this process: as many tests pass as it says.

Each step runs its own tests if a later one changes the program, and the last one runs all.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from kit.processes.inline_pytest import run_inline
from kit.tutorial import Block, blocks_of, commands_of, contents_of, write

pytestmark = pytest.mark.ends

ROOT = Path(__file__).parents[1]
BLOCKS = blocks_of((ROOT / "docs" / "cronjob-tutorial.md").read_text(encoding="utf-8"))
STEPS = [number for number, block in enumerate(BLOCKS) if block.language == "console"]


def followed(folder: Path, blocks: list[Block]) -> Path:
    for block in blocks:
        write(folder, block)
    return folder


def names_of_tests_in(blocks: list[Block]) -> list[str]:
    return re.findall(r"^def (test_\w+)", "\n".join(block.text for block in blocks), re.MULTILINE)


@pytest.mark.parametrize("index", range(len(STEPS)), ids=lambda index: str(index + 2))
def test_as_many_tests_pass_after_a_step_as_it_says(tmp_path: Path, index: int) -> None:
    step, after = STEPS[index], STEPS[index + 1 :]
    ((command, (shown,)),) = commands_of(BLOCKS[step])
    own = names_of_tests_in(BLOCKS[STEPS[index - 1] if index else 0 : step])
    is_changed_later = any(block.mark.endswith(": cronjob.py") for block in BLOCKS[step:])
    chosen = ["-k", " or ".join(own)] if is_changed_later else ["--collect-only"] if after else []

    outcome = run_inline(followed(tmp_path, BLOCKS[:step]), *chosen)

    assert not outcome.failures, "\n".join(outcome.failures)
    assert (command, shown) == ("pytest -q", f"{outcome.collected} passed")
    assert outcome.passed == outcome.collected or after


def test_the_example_is_the_file_that_the_tutorial_ends_with(tmp_path: Path) -> None:
    finished = followed(tmp_path, BLOCKS)

    for name in ("cronjob.py", "cronjob_webhooks.py"):
        assert contents_of(ROOT / "examples" / name) == contents_of(finished / name)

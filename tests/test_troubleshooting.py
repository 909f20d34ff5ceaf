# SPDX-License-Identifier: Apache-2.0
"""The messages that the troubleshooting guide explains are those of the code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import apimachinery
import controller_runtime
import embedded_apiserver

pytestmark = pytest.mark.once

GUIDE = (Path(__file__).parents[1] / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
CODE = [Path(each.__file__ or "").parent for each in (apimachinery, embedded_apiserver, controller_runtime)]
ENTRIES = re.split(r"^### ", GUIDE, flags=re.MULTILINE)[1:]
MESSAGES = [line for block in re.findall(r"```text\n(.*?)```", GUIDE, re.DOTALL) for line in block.splitlines()]


def templates_of(text: str) -> Iterator[str]:
    """Yields each text of a module, with `…` for the parts that are put in at run time."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.JoinedStr(values=values):
                yield "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in values)
            case ast.Constant(value=str(constant)):
                yield constant


@cache
def templates() -> list[str]:
    paths = [path for folder in CODE for path in sorted(folder.rglob("*.py"))]
    return [each for path in paths for each in templates_of(path.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("message", MESSAGES)
def test_each_message_is_one_of_the_code(message: str) -> None:
    assert any(message in template for template in templates())


def test_a_message_that_the_code_does_not_have_is_found() -> None:
    assert next(templates_of('raise ValueError(f"no {kind} at {x:g} s" " in time")')) == "no … at … s in time"
    assert not any("caches not in sync within … s" in template for template in templates())


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.splitlines()[0])
def test_each_entry_shows_its_messages_and_says_what_to_do(entry: str) -> None:
    _, block, advice = re.split(r"```(?:text)?\n", entry, maxsplit=2)

    assert block.strip()
    assert len(advice.split()) >= 15

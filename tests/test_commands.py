# SPDX-License-Identifier: Apache-2.0
"""Each command that a document prints is run by a test, or is listed with the reason why none runs it.

The commands of README and tutorial are also run as they are printed, by `tests/tools/as_printed.py`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    path
    for pattern in ("*.md", "docs/*.md", "config/**/*.md", "apiserver/*.md", "benchmarks/*.md", "controllers/*.md")
    for path in ROOT.glob(pattern)
    if path.name not in ("AGENTS.md", "CHANGELOG.md")
)
LISTED = tomllib.loads((ROOT / "tests" / "data" / "commands.toml").read_text(encoding="utf-8"))["command"]
PROGRAM = re.compile(
    r"(?:\S*python3?(?:\.\d+)?|pytest|kubectl|pip|\S+/pip|tox|git|podman|docker|curl|helm|mkdir|cd|controllers|embedded-apiserver)\s"
)


def commands_in(text: str) -> Iterator[str]:
    """Yield the commands of the blocks of a page that have no language or are of a console, without comments."""
    for language, block in re.findall(r"^```(\w*)\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        if language in ("", "console"):
            for line in re.sub(r" *\\\n *", " ", block).splitlines():
                command = line.removeprefix("$ ").partition("  #")[0].rstrip()
                if PROGRAM.match(f"{command} "):
                    yield command


PRINTED = {command for path in PAGES for command in commands_in(path.read_text(encoding="utf-8"))}


def entries_of(command: str) -> list[dict[str, object]]:
    """Return the entry whose beginning is the longest that the command has, in a list; none if no entry has one."""
    found = [(len(start), each) for each in LISTED for start in each["begins"] if f"{command} ".startswith(start)]
    return [each for length, each in found if length == max(length for length, _ in found)]


def test_every_command_of_a_document_is_run_by_a_test_or_listed_with_a_reason() -> None:
    assert len(PRINTED) > 80
    assert [command for command in sorted(PRINTED) if len(entries_of(command)) != 1] == []


def test_every_entry_is_of_a_command_that_is_printed() -> None:
    unused = [
        start
        for each in LISTED
        for start in each["begins"]
        if not any(f"{command} ".startswith(start) and each in entries_of(command) for command in PRINTED)
    ]

    assert unused == []


@pytest.mark.parametrize("entry", LISTED, ids=lambda entry: entry["begins"][0])
def test_an_entry_names_a_test_that_there_is_or_a_reason(entry: dict[str, str]) -> None:
    assert ("run_by" in entry) != ("not_run" in entry)
    assert (ROOT / entry.get("run_by", ".")).exists()


@pytest.mark.parametrize(
    ("block", "commands"),
    [
        ("```\ntox -e docs    # the site\n```\n", ["tox -e docs"]),
        ("```console\n$ pytest -q\n1 passed\n```\n", ["pytest -q"]),
        ("```\npip install a \\\n    b\n```\n", ["pip install a b"]),
        ("```python\npytest\n```\n", []),
    ],
)
def test_commands_are_read_from_blocks(block: str, commands: list[str]) -> None:
    assert [*commands_in(block)] == commands

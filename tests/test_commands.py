# SPDX-License-Identifier: Apache-2.0
"""Each command that a document prints is run by a test, or is listed with the reason why none runs it.

An entry names the tests that run its commands: with `follows` they run the blocks of these pages as they are printed;
otherwise their text has each option and subcommand. Options that no test gives are listed as `not_given`: of these
`tests/test_documents.py` tests only that they exist. Values, such as names and numbers, may be others in a test.
"""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from controller_runtime import __main__ as programs
from controllers.command import cli

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


def subcommands_of(command: click.Command) -> Iterator[str]:
    """Yield the names of all commands below one."""
    if not isinstance(command, click.Group):
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        yield name
        if each := command.get_command(context, name):
            yield from subcommands_of(each)


SUBCOMMANDS = {*subcommands_of(programs.cli), *subcommands_of(cli.cli)}
PRINTED = {
    page.relative_to(ROOT).as_posix(): {*commands_in(text)}
    for page in PAGES
    if (text := page.read_text(encoding="utf-8"))
}
COMMANDS = {command for printed in PRINTED.values() for command in printed}


def words_of(command: str) -> set[str]:
    """Return the options and subcommands of a command, without its values and what follows `--` or a pipe."""
    words = shlex.split(re.split(r" -- |\|", command)[0])
    return {word.partition("=")[0] for word in words if re.match("--?[a-z]", word) or word in SUBCOMMANDS} - {"-m"}


def entries_of(command: str) -> list[dict[str, list[str]]]:
    """Return the entry whose beginning is the longest that the command has, in a list; none if no entry has one."""
    found = [(len(start), each) for each in LISTED for start in each["begins"] if f"{command} ".startswith(start)]
    return [each for length, each in found if length == max(length for length, _ in found)]


def test_every_command_of_a_document_is_run_by_a_test_or_listed_with_a_reason() -> None:
    assert len(COMMANDS) > 80
    assert [command for command in sorted(COMMANDS) if len(entries_of(command)) != 1] == []


def test_every_entry_is_of_a_command_that_is_printed() -> None:
    unused = [
        start
        for each in LISTED
        for start in each["begins"]
        if not any(f"{command} ".startswith(start) and each in entries_of(command) for command in COMMANDS)
    ]

    assert unused == []


@pytest.mark.parametrize("entry", LISTED, ids=lambda entry: entry["begins"][0])
def test_an_entry_has_a_reason_or_tests_that_have_the_words_of_its_commands(entry: dict[str, list[str]]) -> None:
    assert ("run_by" in entry) != ("not_run" in entry)
    texts = [(ROOT / path).read_text(encoding="utf-8") for path in entry.get("run_by", [])]
    own = {command for command in COMMANDS if entry in entries_of(command)}
    lacking = {word for command in own for word in words_of(command) if not any(word in text for text in texts)}

    if "follows" in entry:
        assert own <= {command for page in entry["follows"] for command in PRINTED[page]}
        assert [page for page in entry["follows"] if not any(Path(page).name in text for text in texts)] == []
    elif "run_by" in entry:
        assert lacking == {*entry.get("not_given", [])}


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


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("python -m controllers run --controllers=node-ttl --ring", {"run", "--controllers", "--ring"}),
        ("python -m controllers hollow-nodes kill hollow-00003", {"hollow-nodes", "kill"}),
        ("python -m controller_runtime.testing.perturb --story a.yaml -- python b.py --verbose", {"--story"}),
        ("python -m controller_runtime manifests a.py --ring | kubectl apply -f -", {"manifests", "--ring"}),
    ],
)
def test_words_of_a_command_are_its_options_and_subcommands(command: str, words: set[str]) -> None:
    assert words_of(command) == words

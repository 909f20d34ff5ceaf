# SPDX-License-Identifier: Apache-2.0
"""Each `pip install` in documents and messages works from a clone, and stands beside its form after the first release.

No index has the four distributions yet, and each requires others by exactly its version: a command that names too few
of their folders ends in an error of pip.
"""

from __future__ import annotations

import configparser
import re
import shlex
from pathlib import Path
from typing import NamedTuple

import pytest

from embedded_apiserver.testing import beside

ROOT = Path(__file__).parents[1]
RECORDS = ("CHANGELOG.md", "tried-on.md")
"""Pages whose commands are those that were run on a day."""
PAGES = sorted(
    path
    for pattern in ("*.md", "docs/*.md", "config/*.md", "apimachinery/*.md", "apiserver/*.md", "controllers/*.md")
    for path in ROOT.glob(pattern)
    if path.name not in RECORDS
)
FOLDERS = {"apimachinery": "apimachinery", "apiserver": "apiserver", "controllers": "controllers", "": "."}
CLONES = (".", "/src", "/path/to/the/clone", "/clone", "CLONE")
"""The clone, as the documents write it; beside another of these, `.` is a project of others."""
COMMAND = re.compile(r"pip install ((?:[^\s`#&;,)]|[ ](?!#)|(?<=\w),(?=\w))+)")


def setup_of(folder: str) -> configparser.ConfigParser:
    setup = configparser.ConfigParser()
    setup.read(ROOT / folder / "setup.cfg", encoding="utf-8")
    return setup


SETUPS = {folder: setup_of(place) for folder, place in FOLDERS.items()}
NAMES = {setup["metadata"]["name"]: folder for folder, setup in SETUPS.items()}


class Asked(NamedTuple):
    """The parts that a command installs: folders of the clone with their extras, and packages of others."""

    folders: dict[str, str]
    others: list[str]
    has_dependencies: bool

    def required(self, folder: str, extras: str) -> set[str]:
        """Return the folders that pip needs beside one, directly or indirectly."""
        setup = SETUPS[folder]
        texts = [setup["options"]["install_requires"]]
        texts += [setup["options.extras_require"][extra] for extra in extras.split(",") if extra]
        found = set()
        for line in "\n".join(texts).splitlines():
            match = re.fullmatch(r"\s*([\w-]+)(?:\[([\w,]+)\])?==.*", line)
            if match and match[1] in NAMES:
                found |= {NAMES[match[1]]} | self.required(NAMES[match[1]], match[2] or "")
        return found

    def missing(self) -> set[str]:
        """Return the folders that pip would look for on an index."""
        needed = {each for folder, extras in self.folders.items() for each in self.required(folder, extras)}
        return needed - {*self.folders} if self.has_dependencies else set()

    def released(self) -> str:
        """Return the command that installs the same from an index."""
        implied = {each for folder, extras in self.folders.items() for each in self.required(folder, extras)}
        names = [
            SETUPS[folder]["metadata"]["name"] + (f"[{extras}]" if extras else "")
            for folder, extras in self.folders.items()
            if folder not in implied or not self.has_dependencies
        ]
        return shlex.join(["pip", "install", *([] if self.has_dependencies else ["--no-deps"]), *names, *self.others])


def asked_in(text: str) -> list[Asked]:
    """Return what the commands of a text install that name folders of the clone; those with `-e` are developers'."""
    found = []
    for command in COMMAND.findall(text):
        words = shlex.split(command)
        asked = Asked({}, [], "--no-deps" not in words)
        is_elsewhere = any(word.startswith(tuple(f"{clone}/" for clone in CLONES[1:])) for word in words)
        for word in words:
            place, _, extras = word.rstrip("]").partition("[")
            clone, _, folder = place.rpartition("/")
            if place in CLONES and not (place == "." and is_elsewhere):
                asked.folders[""] = extras
            elif clone in CLONES and folder in FOLDERS:
                asked.folders[folder] = extras
            elif not word.startswith("-"):
                asked.others.append(word)
        if asked.folders and "-e" not in words:
            found.append(asked)
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_command_from_a_clone_names_all_that_it_needs(page: Path) -> None:
    commands = asked_in(page.read_text(encoding="utf-8"))

    assert [asked for asked in commands if asked.missing()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_command_from_a_clone_stands_beside_the_one_from_an_index(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    expected = {asked.released() for asked in asked_in(text)}

    assert {command for command in expected if command not in text} == set()


def test_the_message_about_workloads_has_both_commands() -> None:
    [asked] = asked_in(beside.REMEDY)

    assert asked.missing() == set()
    assert "pip install 'embedded-apiserver[workloads]'" in beside.REMEDY


@pytest.mark.parametrize(
    ("command", "missing", "released"),
    [
        ("/src", {"apimachinery"}, "controller-runtime"),
        ("./apimachinery .", set(), "controller-runtime"),
        ("'.[testing]' pytest", {"apimachinery", "apiserver"}, "'controller-runtime[testing]' pytest"),
        ("./controllers", {"", "apimachinery", "apiserver"}, "controller-runtime-controllers"),
        ("--no-deps ./apiserver", set(), "--no-deps embedded-apiserver"),
        ("CLONE/apimachinery CLONE/apiserver .", set(), "embedded-apiserver ."),
    ],
)
def test_what_a_command_lacks_is_seen(command: str, missing: set[str], released: str) -> None:
    [asked] = asked_in(f"`pip install {command}`")

    assert asked.missing() == missing
    assert asked.released() == f"pip install {released}"

# SPDX-License-Identifier: Apache-2.0
"""`python -m controller_runtime init`: the folder that it writes works as it is, and nothing is overwritten."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st
from kit.processes.inline_pytest import run_inline
from kit.processes.programs import clean_environment

from apimachinery.errors import ControllerRuntimeError, UsageError
from controller_runtime.core.library import Library
from controller_runtime.program.cli_init import init_command
from controller_runtime.program.scaffold import files as scaffold
from controller_runtime.program.scaffold.files import imported_names
from controller_runtime.program.scaffold.names import names_of

pytestmark = pytest.mark.ends

FILES = [
    *(".github/workflows/test.yaml", ".gitignore", "AGENTS.md", "Dockerfile", "README.md"),
    *("deploy/definitions.yaml", "deploy/deployment.yaml", "deploy/disruption_budget.yaml"),
    *("deploy/kustomization.yaml", "deploy/metrics_service.yaml", "deploy/namespace.yaml"),
    *("deploy/network_policy.yaml", "deploy/roles.yaml"),
    *("deploy/service_account.yaml", "guest_book.py", "pyproject.toml", "rights.yaml", "test_guest_book.py"),
]
ARCHIVE = "/w/controller_runtime-0.1.0-py3-none-any.whl"
SOURCES = [
    "/src/controller-runtime",
    ARCHIVE,
    "git+https://example.com/lib.git@abc",
    'controller-runtime>=0.1; python_version > "3.10"',
]


def init(*arguments: str) -> None:
    init_command.main([*arguments], prog_name="init", standalone_mode=False)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a new operator, whose library was installed from a clone."""
    monkeypatch.chdir(tmp_path)
    init("guest-book", "--requirement", "/src/controller-runtime")
    return tmp_path / "guest-book"


def files_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_the_tests_of_a_new_operator_pass_and_use_the_rights_that_it_has(folder: Path) -> None:
    assert files_in(folder) == FILES

    outcome = run_inline(folder, "--rbac-check", "rights.yaml")

    assert not outcome.failures, "\n".join(outcome.failures)
    assert outcome.passed == 2


def test_the_manifests_of_a_new_operator_are_those_of_its_code_and_its_import_leaves_nothing(tmp_path: Path) -> None:
    before = {*sys.modules}, [*sys.path]
    init("guest-book", "--dir", str(tmp_path), "--kind", "Story", "--group", "a.example.org")
    assert ("guest_book" in sys.modules, sys.path) == ("guest_book" in before[0], before[1])

    arguments = ["guest_book.py", "--rights", "rights.yaml", "--check", "deploy"]
    command = [sys.executable, "-B", "-m", "controller_runtime", "manifests", *arguments]
    done = subprocess.run(command, cwd=tmp_path, env=clean_environment(), capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("source", SOURCES)
def test_no_file_names_a_place_of_this_machine_and_all_can_be_read(
    tmp_path: Path, source: str, capsys: pytest.CaptureFixture[str]
) -> None:
    init("guest-book", "--dir", str(tmp_path), "--requirement", source)
    texts = {name: (tmp_path / name).read_text(encoding="utf-8") for name in FILES}

    assert not [
        name for name, text in texts.items() if "/src/controller" in text or "/w/" in text or str(tmp_path) in text
    ]
    project = tomllib.loads(texts["pyproject.toml"])["project"]
    is_by_name = source.startswith("controller-runtime")
    assert project["dependencies"][0] == (source if is_by_name else "controller-runtime")
    extras = "controller-runtime[testing,cli]"
    assert project["optional-dependencies"]["test"][0] == (
        source.replace("controller-runtime", extras) if is_by_name else extras
    )
    jobs = yaml.safe_load(texts[".github/workflows/test.yaml"])["jobs"]["test"]["steps"]
    commands = [step["run"] for step in jobs if "run" in step]
    checks = commands_in(texts["README.md"], "## Checks")
    assert commands == [f"pip install{'' if is_by_name else ' --find-links wheels'} -e '.[test]'", *checks]
    makes = [line for line in commands_in(texts["README.md"], "## Begin") if line.startswith("pip wheel")]
    assert len(makes) == (not is_by_name)
    assert ("pip wheel" in capsys.readouterr().out) == (not is_by_name)


def commands_in(text: str, heading: str) -> list[str]:
    """Return the lines of the first block of code below a heading."""
    return text[text.index(heading) :].split("```")[1].strip().splitlines()


def test_a_new_operator_runs_on_an_embedded_server(folder: Path) -> None:
    command = [sys.executable, "guest_book.py", "--embedded", "--duration", "1"]

    done = subprocess.run(command, cwd=folder, env=clean_environment(), capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert "definition installed definition=guestbooks.example.com" in done.stderr
    assert "controller started controller=guest-book" in done.stderr
    assert "WARNING" not in done.stderr


def test_the_project_names_its_module_its_test_and_the_library(folder: Path) -> None:
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))

    assert (project["project"]["name"], project["tool"]["setuptools"]["py-modules"]) == ("guest-book", ["guest_book"])
    assert project["tool"]["pytest"]["ini_options"]["testpaths"] == ["test_guest_book.py"]
    imported = {
        node.module.partition(".")[0] if isinstance(node, ast.ImportFrom) and node.module else "attrs"
        for node in ast.walk(ast.parse((folder / "guest_book.py").read_text(encoding="utf-8")))
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    required = {name.replace("-", "_") for name in project["project"]["dependencies"]}
    assert required == imported - sys.stdlib_module_names


def instructions_of(dockerfile: str) -> list[list[str]]:
    return [line.split() for line in dockerfile.splitlines() if line and not line.startswith("#")]


@pytest.mark.parametrize(
    ("requirement", "copied"),
    [
        ("/src/controller-runtime", ["wheels", "pyproject.toml", "guest_book.py"]),
        ("controller-runtime==0.1.0", ["pyproject.toml", "guest_book.py"]),
    ],
)
def test_the_image_has_two_stages_and_a_user_by_number(tmp_path: Path, requirement: str, copied: list[str]) -> None:
    init("guest-book", "--dir", str(tmp_path), "--requirement", requirement)
    text = (tmp_path / "Dockerfile").read_text(encoding="utf-8")
    steps = instructions_of(text)

    assert [step for step in steps if step[0] == "FROM"] == [
        ["FROM", "python:3.13-slim", "AS", "build"],
        ["FROM", "python:3.13-slim"],
    ]
    sources = [word for step in steps if step[0] == "COPY" and "--from=build" not in step for word in step[1:-1]]
    assert sources == copied
    assert ("--find-links /wheels" in text) == ("wheels" in copied) == ("on no index yet" in text)
    assert ["USER", "65532:65532"] in steps
    assert steps[-1] == ["ENTRYPOINT", '["/venv/bin/python",', '"-m",', '"guest_book"]']


@pytest.mark.parametrize("existing", ["Dockerfile", "deploy/roles.yaml", ".github/workflows/test.yaml"])
def test_nothing_is_written_where_one_of_the_files_exists(tmp_path: Path, existing: str) -> None:
    (tmp_path / existing).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / existing).write_text("mine")

    with pytest.raises(UsageError, match=rf"{re.escape(existing)} exists, and nothing was written"):
        init("guest-book", "--dir", str(tmp_path))

    assert [(name, (tmp_path / name).read_text()) for name in files_in(tmp_path)] == [(existing, "mine")]


@pytest.mark.parametrize("error", [OSError("no links here"), KeyboardInterrupt()], ids=["refused", "interrupted"])
def test_an_end_in_the_middle_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    link, made = os.link, list[Path]()

    def link_two(source: Path, target: Path) -> None:
        if len(made) == len(FILES) - 1:
            raise error
        link(source, target)
        made.append(target)

    monkeypatch.setattr(scaffold.os, "link", link_two)
    with pytest.raises((ControllerRuntimeError, click.Abort)):
        init("guest-book", "--dir", str(tmp_path))

    assert len(made) == len(FILES) - 1
    assert [*tmp_path.iterdir()] == []


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(ControllerRuntimeError, match="file/new: Not a directory"):
        init("guest-book", "--dir", str(tmp_path / "file" / "new"))


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("Guest_Book", "lower-case letters, digits and dashes, a letter first, such as guest-book"),
        ("9-lives", "a letter first, such as lives"),
        ("", "a letter first"),
        ("é", "a letter first"),
        ("-a", "a letter first, such as a"),
        ("a" * 64, "at most 63"),
        ("../up", "such as up"),
        ("class", "is a keyword of Python; choose another name, such as class-operator"),
        ("json", "would hide the module json of Python's library"),
        ("test", "would make a file test.py"),
        ("conftest", "which pytest imports"),
        ("setup", "which setuptools runs"),
        ("test-me", "which pytest takes for tests"),
        ("kubernetes", "would hide the installed package kubernetes"),
        ("controller-runtime", "would hide the installed package controller_runtime"),
        ("psutil", "would hide the installed package psutil"),
        ("manager", "kind 'Manager' is a name that the program needs itself; --kind names another"),
        ("exception", "kind 'Exception' is a name that the program needs itself"),
        ("none", "kind 'None' is a name that the program needs itself"),
    ],
)
def test_a_name_that_cannot_be_used_is_refused_in_a_line_that_says_what_can(name: str, why: str) -> None:
    with pytest.raises(UsageError, match=re.escape(why)) as refusal:
        names_of(name, None, "example.com", imported_names())

    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("kind", "group", "why"),
    [
        ("book", "example.com", "an upper-case letter first"),
        ("Guest-Book", "example.com", "letters and digits"),
        ("B" * 59, "example.com", "at most 58"),
        ("Book", "example", "a domain in lower case with a dot"),
        ("Book", "Example.com", "a domain in lower case with a dot"),
        ("Book", "books.k8s.io", "is reserved for Kubernetes"),
    ],
)
def test_a_kind_or_group_that_cannot_be_used_is_refused(kind: str, group: str, why: str) -> None:
    with pytest.raises(UsageError, match=re.escape(why)):
        names_of("guest-book", kind, group)


def test_the_kind_is_the_name_in_camel_case_and_the_module_has_underscores() -> None:
    names = names_of("a-guest-book2", None, "example.com")

    assert (names.kind, names.module) == ("AGuestBook2", "a_guest_book2")


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "a\nRUN evil", "./a\nRUN evil", "./\x7f", "other>=1", "controller-runtime>>1", "clone"),
        *("controller-runtime>=1 \\", 'controller-runtime"', "controller-runtime==1;", "controller-runtime[a>=1"),
    ],
)
def test_a_requirement_that_names_no_library_is_refused_in_one_line(tmp_path: Path, text: str) -> None:
    with pytest.raises(UsageError, match=r"--requirement .* names no controller-runtime: give the path") as refusal:
        init("guest-book", "--dir", str(tmp_path / "new"), "--requirement", text)

    assert "\n" not in str(refusal.value)
    assert not (tmp_path / "new").exists()


CHARACTERS = st.text(st.sampled_from("ab.<>=!~()\"'-#$ \\é😀"), max_size=8)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(place=CHARACTERS, marker=CHARACTERS)
@example(place='a"b\\', marker=' python_version > "3.10"')
def test_each_requirement_is_refused_or_makes_a_project_that_can_be_read(place: str, marker: str) -> None:
    names = names_of("guest-book", None, "example.com")
    for library in (Library(f"./{place}"), Library(f"https://{place}"), Library(f"controller-runtime>=1;{marker}")):
        if not (library.is_by_name or library.is_place):
            continue
        project = tomllib.loads(scaffold.files_for(names, library)["pyproject.toml"])["project"]
        assert project["dependencies"][0] == (library.source if library.is_by_name else "controller-runtime")

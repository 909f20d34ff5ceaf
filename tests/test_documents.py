# SPDX-License-Identifier: Apache-2.0
"""The README shows code that runs, and the examples run."""

from __future__ import annotations

import configparser
import importlib.metadata
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from kit import simulate

import controller_runtime
from controller_runtime import __main__ as programs
from controller_runtime.core.library import Library
from controller_runtime.program import cli_run
from controller_runtime.testing.perturbation.others.command import perturb
from controllers.command import cli
from embedded_apiserver import __main__ as apiserver

pytestmark = pytest.mark.ends

ROOT = Path(__file__).parents[1]
# `coordinated` is played by tests/examples/test_coordinated.py, with fewer replicas.
EXAMPLES = sorted(path for path in (ROOT / "examples").glob("*.py") if path.stem != "coordinated")
DOCUMENTS = sorted(
    [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").glob("*.md"),
        *(ROOT / "docs" / "decisions").glob("*.md"),
        *(ROOT / "config").rglob("*.md"),
        *(
            ROOT / folder / "README.md"
            for folder in ("apimachinery", "apiserver", "controllers", "examples", "benchmarks")
        ),
    ]
)
PLUGIN = "controller_runtime.testing.pytest_plugin"
BLOCK = re.compile(r"<!-- example: (\S+) -->\n```python\n(.*?)```\n", re.DOTALL)


def test_the_readme_shows_the_examples_as_they_are() -> None:
    shown = BLOCK.findall((ROOT / "README.md").read_text())

    assert [path for path, _ in shown] == ["examples/zone_labels.py", "tests/examples/test_zone_labels.py"]
    for path, text in shown:
        assert text.strip()
        assert text in (ROOT / path).read_text(), f"{path} has changed: show it as it is"


def test_the_readme_says_how_to_get_the_version_that_it_is_of() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")

    assert f"**Status**: {setup['metadata']['version']}, alpha:" in text
    assert "Development Status :: 3 - Alpha" in setup["metadata"]["classifiers"]
    [install] = re.findall(r"^pip install \./.*$", text, re.MULTILINE)
    assert shlex.split(install)[2:] == [*Library(".").requirements(controllers=True), "pytest", "tox"]


def test_the_commands_of_the_readme_stand_one_a_line() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    lines = [line for language, block in blocks if not language for line in block.splitlines()]

    assert lines[0].partition("  #")[0] == "git clone URL controller-runtime"
    assert [line for line in lines if "&&" in line or len(line) > 90] == []


@pytest.fixture
def installed(tmp_path: Path) -> dict[str, str]:
    """Returns an environment with the installed package and without this repository, as a wheel makes it.

    Where no wheel is installed, a folder is made as pip would: the package, and its entry points from `setup.cfg`.
    """
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "PYTHONPATH"))}
    place = Path(controller_runtime.__file__).parent
    if place.parent != ROOT and importlib.metadata.entry_points(group="pytest11", name=PLUGIN):
        return environment
    site = tmp_path / "site-packages"
    metadata = site / "controller_runtime-0.1.0.dist-info"
    metadata.mkdir(parents=True)
    (site / place.name).symlink_to(place, target_is_directory=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: controller-runtime\nVersion: 0.1.0\n")
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    groups = (f"[{group}]\n{lines}\n" for group, lines in setup["options.entry_points"].items())
    (metadata / "entry_points.txt").write_text("\n".join(groups))
    return {**environment, "PYTHONPATH": str(site)}


def test_the_code_of_the_readme_passes_where_the_package_alone_is_installed(
    installed: dict[str, str], tmp_path: Path
) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    for path, text in BLOCK.findall((ROOT / "README.md").read_text()):
        (folder / Path(path).name).write_text(text)

    outcome = subprocess.run(
        [sys.executable, "-P", "-m", "pytest", "-p", "no:cacheprovider", "-W", "error", "-v"],
        cwd=folder,
        env=installed,
        capture_output=True,
        text=True,
        check=False,
    )

    assert outcome.returncode == 0, outcome.stdout
    assert f"rootdir: {folder}" in outcome.stdout
    assert "1 passed" in outcome.stdout


# These run until they are stopped, and show their log.
PROGRAMS = (
    "examples/cabins.py",
    "examples/cronjob.py",
    "examples/cronjob_webhooks.py",
    "examples/database.py",
    "examples/failover.py",
    "examples/memcached.py",
    "examples/restarts.py",
    "examples/zone_labels.py",
)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_runs_alone_and_ends_well(example: Path, tmp_path: Path) -> None:
    environment = {k: v for k, v in os.environ.items() if k not in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST")}
    is_program = str(example.relative_to(ROOT)) in PROGRAMS

    outcome = subprocess.run(
        [sys.executable, str(example), *(("--duration", "1") if is_program else ())],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert outcome.returncode == 0, outcome.stderr
    assert (outcome.stderr if is_program else outcome.stdout).strip(), "an example shows something"
    assert "Traceback" not in outcome.stderr


def anchors_of(document: Path) -> set[str]:
    """Returns the anchors of the headings of a page, as code hosts make them."""
    headings = re.findall(r"^#+ (.+)$", re.sub(r"```.*?```", "", document.read_text(), flags=re.DOTALL), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_between_the_documents_lead_somewhere(document: Path) -> None:
    for target, _, anchor in re.findall(r"\]\((?!https?:)([^)#]*)(#([^)]+))?\)", document.read_text()):
        page = (document.parent / target).resolve() if target else document
        assert page.exists(), f"there is no {target}"
        assert not anchor or anchor in anchors_of(page), f"{target or 'this page'} has no heading {anchor}"


def test_the_first_page_of_the_site_leads_to_every_guide() -> None:
    linked = set(re.findall(r"\]\(([\w-]+\.md)\)", (ROOT / "docs" / "index.md").read_text()))

    assert linked == {path.name for path in (ROOT / "docs").glob("*.md")} - {"index.md"}


def test_the_readme_is_short_and_leads_to_the_first_page_of_the_site() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")

    assert len(text.splitlines()) <= 120
    assert "](docs/index.md)" in text


def test_the_examples_are_listed() -> None:
    listed = re.findall(r"^\| `python (examples/\w+\.py)`", (ROOT / "examples" / "README.md").read_text(), re.MULTILINE)

    assert sorted(listed) == sorted(f"examples/{path.name}" for path in (ROOT / "examples").glob("*.py"))


def test_the_map_of_the_architecture_has_every_room() -> None:
    """A room is a package, or a module beside packages; a group of the API is named in the text below the map."""
    told = (ROOT / "ARCHITECTURE.md").read_text().partition("\n## The way of one change")[0]
    folders = [ROOT / name for name in ("controller_runtime", "controllers", "apimachinery")]
    folders += [(server := ROOT / "apiserver" / "embedded_apiserver"), server / "groups"]
    packages = {init.parent.name for folder in folders for init in folder.glob("*/__init__.py")}
    modules = {path.stem for folder in folders[2:] for path in folder.glob("*.py") if path.stem != "__init__"}

    assert {room for room in packages | modules if not re.search(rf"(?<!\w){room}(?!\w)", told)} == set()


def test_the_architecture_has_ten_decisions_and_leads_to_the_pages_of_the_others() -> None:
    decisions = (ROOT / "ARCHITECTURE.md").read_text().partition("\n## Decisions")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (?!decision \||---)", decisions, re.MULTILINE)

    assert len(rows) == 10
    assert set(re.findall(r"\]\(docs/decisions/([\w-]+)\.md\)", decisions)) == {
        path.stem for path in (ROOT / "docs" / "decisions").glob("*.md")
    }


def commands_of(document: Path) -> Iterator[list[str]]:
    """Yields the commands of this project that a page names, as words; the parts in brackets are optional."""
    text = document.read_text().replace("\\\n", " ")
    for found in re.findall(r"(?:python|\.venv/bin/python) (?:-m [\w.]+|examples/\w+\.py)[^`\n#|&;]*", text):
        yield shlex.split(re.sub(r"[\[\]()…]", " ", found))[1:]


def options_of(command: click.Command, words: list[str]) -> set[str]:
    """The options of the command that the first of `words` name."""
    context = click.Context(command)
    if isinstance(command, click.Group) and words and (found := command.get_command(context, words[0])):
        return options_of(found, words[1:])
    assert not isinstance(command, click.Group) or not words or words[0].startswith("-"), f"there is no {words[0]}"
    return {"-h", "--help", *(name for parameter in command.params for name in parameter.opts)}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_commands_in_the_documents_are_those_there_are(document: Path) -> None:
    for words in commands_of(document):
        match words:
            case ["-m", "controllers", *rest]:
                known = options_of(cli.cli, rest)
            case ["-m", "controller_runtime", *rest]:
                known = options_of(programs.cli, rest)
            case [file, *rest] if file in PROGRAMS:
                known = options_of(cli_run.run_command, rest)
            case ["-m", "embedded_apiserver", *rest]:
                known = options_of(apiserver.command, rest)
            case ["-m", "kit.simulate", *rest]:
                known = options_of(simulate.main, rest)
            case ["-m", "controller_runtime.testing.perturb", *rest]:
                known = options_of(perturb, rest)
                rest = rest[: rest.index("--")] if "--" in rest else rest  # what follows is the operator's
            case ["-m", "benchmarks", *rest]:
                known = set(re.findall(r'"(--[a-z]+)"', (ROOT / "benchmarks" / "__main__.py").read_text()))
                suites = re.findall(
                    r'^    "(\w+)": \w+,$', (ROOT / "benchmarks" / "suites.py").read_text(), re.MULTILINE
                )
                assert set(rest[:1]) - {"NAME", "all"} <= {*suites, *known}
            case [file, *rest] if file.startswith("examples/"):
                known = set(re.findall(r'click\.option\("(--[a-z]+)"', (ROOT / file).read_text()))
            case [file, *rest]:
                known = set[str]()
                assert (ROOT / file).exists() or file == "-m", file
        asked = {word.partition("=")[0] for word in rest if word.startswith("-")}
        assert asked <= known or "pip" in rest or "venv" in rest, " ".join(words)

# SPDX-License-Identifier: Apache-2.0
"""The reference has every public name once. Its pages only list names; `tox -e docs` fills them from the docstrings."""

from __future__ import annotations

import importlib
import inspect
import re
from collections import Counter
from pathlib import Path

import attrs
import pytest

import controller_runtime
import controller_runtime.caches
import controller_runtime.conditions
import controller_runtime.errors
import controller_runtime.log
import controller_runtime.pods
import controller_runtime.rate_limiters
import controller_runtime.resources
import controller_runtime.testing
import controller_runtime.transports

ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / "docs" / "site"
PAGES = sorted((SITE / "reference").glob("*.rst"))
ENTRY = re.compile(r"^\.\. auto(class|data|exception|function):: (\S+)((?:\n   \S.*)*)$", re.MULTILINE)


@attrs.frozen
class Entry:
    """One entry of the reference.

    Attributes:
        kind: The word of its directive, such as `class`.
        name: The full name.
        options: The lines below the directive.
    """

    kind: str
    name: str
    options: str

    @property
    def value(self) -> object:
        module, _, name = self.name.rpartition(".")
        return getattr(importlib.import_module(module), name)


def entries_of(page: Path) -> list[Entry]:
    text = page.read_text(encoding="utf-8")
    module = re.search(r"^\.\. currentmodule:: (\S+)$", text, re.MULTILINE)
    prefix = f"{module[1]}." if module else ""
    return [Entry(kind, name if "." in name else prefix + name, options) for kind, name, options in ENTRY.findall(text)]


ENTRIES = [entry for page in PAGES for entry in entries_of(page)]


def kind_of(value: object) -> str:
    if isinstance(value, type):
        return "exception" if issubclass(value, BaseException) else "class"
    return "function" if inspect.isfunction(value) else "data"


@pytest.mark.parametrize(
    "package",
    [
        controller_runtime,
        controller_runtime.caches,
        controller_runtime.conditions,
        controller_runtime.errors,
        controller_runtime.log,
        controller_runtime.pods,
        controller_runtime.rate_limiters,
        controller_runtime.resources,
        controller_runtime.testing,
        controller_runtime.transports,
    ],
    ids=lambda each: each.__name__,
)
def test_every_public_name_is_in_the_reference_exactly_once(package: object) -> None:
    prefix = f"{package.__name__}."
    listed = Counter(
        entry.name.removeprefix(prefix) for entry in ENTRIES if entry.name.rpartition(".")[0] == prefix[:-1]
    )

    assert listed == Counter(package.__all__)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_an_entry_is_of_the_kind_that_its_directive_says(entry: Entry) -> None:
    # `Request` is another name of `ObjectKey`, which has an entry of its own.
    wanted = "data" if entry.name == "controller_runtime.Request" else kind_of(entry.value)

    assert entry.kind == wanted


@pytest.mark.parametrize("entry", [each for each in ENTRIES if each.kind == "class"], ids=lambda entry: entry.name)
def test_methods_that_a_class_inherits_from_one_without_an_entry_are_shown(entry: Entry) -> None:
    assert isinstance(entry.value, type)
    shown = {each.value for each in ENTRIES if each.kind == "class"}
    hidden = [
        f"{base.__name__}.{name}"
        for base in entry.value.__mro__[1:]
        if base not in shown and base.__module__.startswith("controller")
        for name in vars(base)
        if not name.startswith("_")
    ]

    assert not hidden or ":inherited-members:" in entry.options, hidden


def in_the_contents() -> list[str]:
    """Return the documents that the contents name; the pages of the reference are named by its first page."""
    lines = (SITE / "contents.md").read_text(encoding="utf-8")
    entries = re.findall(r"^(?:\w+ <)?/([\w./-]+)>?$", lines, re.MULTILINE)
    pages = re.findall(r"^   ([\w-]+)$", (SITE / "reference" / "index.rst").read_text(encoding="utf-8"), re.MULTILINE)
    return [*entries, *(f"docs/site/reference/{page}" for page in pages)]


def test_the_sidebar_has_five_groups() -> None:
    first = (SITE / "contents.md").read_text(encoding="utf-8").split("<!-- page: ")[1]

    assert re.findall(r":caption: (.+)", first) == ["Start", "Write", "Test", "Run", "Evidence"]


def test_every_document_is_in_the_contents_exactly_once() -> None:
    """Sphinx would warn of one that is missing, but not in the usual tests."""
    tree = in_the_contents()
    documents = [
        *ROOT.glob("*.md"),
        *(path for path in (ROOT / "docs").glob("*.md") if path.stem != "index"),
        *(ROOT / "docs" / "decisions").glob("*.md"),
        *(ROOT / "config").rglob("*.md"),
        *(
            ROOT / folder / "README.md"
            for folder in ("apimachinery", "apiserver", "benchmarks", "controllers", "examples")
        ),
        ROOT / "tests" / "perturbation" / "others" / "operators" / "README.md",
        *PAGES,
    ]

    assert Counter(tree) == Counter(path.relative_to(ROOT).with_suffix("").as_posix() for path in documents)


def test_a_link_from_a_page_of_the_site_to_a_document_leads_to_a_page_of_the_site() -> None:
    """Sphinx would fail, but `tox -e docs` takes half a minute, and this none."""
    tree = in_the_contents()
    pages = [ROOT / "docs" / "index.md", *(path for name in tree if (path := ROOT / f"{name}.md").exists())]
    for page in pages:
        for target in re.findall(r"\]\((?!https?:)([^)#]+\.md)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            found = (page.parent / target).resolve()
            assert found in pages, f"{page.relative_to(ROOT)} links {target}, which is not in docs/site/contents.md"

# SPDX-License-Identifier: Apache-2.0
"""A setup function is found by its module or its file, and imported again from there."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from apimachinery.errors import UsageError
from controller_runtime.manager.manager import Manager
from controller_runtime.program.command import script_name
from controller_runtime.program.origin import Origin, ProgramFailed, forgotten, modules_below
from controller_runtime.program.reload import Sources, changed_files

SETUP = "def setup(manager): return WORD\n"


def setup(manager: Manager) -> None:
    """Stand for a function at the top level of a module."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder from which modules can be imported; they are forgotten afterwards."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", sys.dont_write_bytecode)
    yield tmp_path
    for name in modules_below(tmp_path):
        del sys.modules[name]


def said(origin: Origin) -> object:
    return origin.load()(None)  # type: ignore[arg-type, func-returns-value]


@pytest.mark.parametrize(
    ("text", "module", "attribute"),
    [("huts", "huts", "setup"), ("huts:", "huts", "setup"), ("pkg.huts:make", "pkg.huts", "make")],
)
def test_a_text_names_a_module_and_a_function(text: str, module: str, attribute: str) -> None:
    assert Origin.parse(text) == Origin(module, attribute)


def test_a_file_may_be_called_as_a_module_that_is_imported_already(folder: Path) -> None:
    (folder / "json.py").write_text(f"WORD = 'mine'\n{SETUP}")

    assert said(Origin.parse(str(folder / "json.py"))) == "mine"
    assert "mine" not in vars(sys.modules["json"]).values()


def test_functions_that_cannot_be_found_again_have_no_origin() -> None:
    assert Origin.of(setup) == Origin(__name__, "setup")
    assert Origin.of(lambda manager: None) is None


def test_a_module_that_imports_what_is_missing_is_told_from_a_missing_module(folder: Path) -> None:
    (folder / "needy.py").write_text("import nowhere_to_be_found\n")

    with pytest.raises(ProgramFailed, match="cannot import needy: ModuleNotFoundError: No module named 'nowhere"):
        Origin("needy").load()
    with pytest.raises(UsageError, match="there is no module needier"):
        Origin("needier").load()


def test_what_an_import_breaks_is_as_it_was(folder: Path) -> None:
    (folder / "huts_a.py").write_text("import huts_b\n")
    (folder / "huts_b.py").write_text("")
    __import__("huts_a")
    before = {name: sys.modules[name] for name in ("huts_a", "huts_b")}

    def import_again() -> None:
        with forgotten(folder):
            assert not before.keys() & sys.modules.keys()
            __import__("huts_b")
            raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        import_again()

    assert all(sys.modules[name] is module for name, module in before.items())


def test_installed_packages_and_this_one_are_not_imported_again(tmp_path: Path) -> None:
    def module(name: str, *parts: str) -> ModuleType:
        made = ModuleType(name)
        made.__file__ = str(tmp_path.joinpath(*parts))
        return made

    modules = {
        "huts": module("huts", "huts.py"),
        "huts.parts": module("huts.parts", "huts", "parts.py"),
        "installed": module("installed", ".venv", "lib", "site-packages", "installed.py"),
        "controller_runtime.core": module("controller_runtime.core", "controller_runtime", "core.py"),
        "__main__": module("__main__", "huts.py"),
        "gone": None,
        "built_in": ModuleType("built_in"),
    }

    assert [*modules_below(tmp_path, modules)] == ["huts", "huts.parts"]


def test_an_edit_of_the_same_size_in_the_same_second_is_seen(folder: Path) -> None:
    (folder / "hut_words.py").write_text("WORD = 'one'\n")
    (folder / "hut.py").write_text(f"from hut_words import WORD\n{SETUP}")
    origin = Origin.parse("hut:setup")
    sys.dont_write_bytecode = False  # as in a program that imports its modules before it calls `run`
    assert said(origin) == "one"
    sources = Sources(origin)
    assert sources.changed() == []

    for word in ("two", "six", "ten"):
        (folder / "hut_words.py").write_text(f"WORD = {word!r}\n")
        changed = sources.changed()
        assert [path.name for path in changed] == ["hut_words.py"]
        assert sources.load(changed)(None) == word  # type: ignore[arg-type, func-returns-value]
    assert sources.changed() == []


@pytest.mark.parametrize("broken", ["WORD = \n", "WORD = nothing\n"])
def test_a_new_file_that_cannot_be_imported_is_followed_until_it_can(folder: Path, broken: str) -> None:
    """A file that fails is in no module, so the modules alone would not lead to it."""
    (folder / "barn.py").write_text(f"WORD = 'old'\n{SETUP}")
    origin = Origin.parse("barn:setup")
    assert said(origin) == "old"
    sources = Sources(origin)
    (folder / "barn_words.py").write_text(broken)
    (folder / "barn.py").write_text(f"from barn_words import WORD\n{SETUP}")
    with pytest.raises(ProgramFailed, match=r"Syntax|nothing"):
        sources.load(sources.changed())
    assert sources.changed() == []

    (folder / "barn_words.py").write_text("WORD = 'the new one'\n")
    changed = sources.changed()

    assert [path.name for path in changed] == ["barn_words.py"]
    assert sources.load(changed)(None) == "the new one"  # type: ignore[arg-type, func-returns-value]


def test_a_file_that_an_editor_replaces_is_not_changed_while_it_is_away() -> None:
    one, two = Path("one"), Path("two")

    assert changed_files({one: (1, 5), two: (1, 5)}, {two: (1, 5)}) == []
    assert changed_files({one: (1, 5), two: (1, 5)}, {one: (2, 5), two: (1, 6)}) == [one, two]


@pytest.mark.parametrize(
    ("path", "name"), [("/x/huts.py", "huts"), ("huts", "huts"), ("/x/huts/__main__.py", "huts"), ("", "program")]
)
def test_a_program_is_called_as_its_script(path: str, name: str) -> None:
    assert script_name(path) == name

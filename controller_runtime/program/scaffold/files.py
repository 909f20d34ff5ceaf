# SPDX-License-Identifier: Apache-2.0
"""The texts of a new operator's files, from the templates next to this module, and writing them.

No file names a place of this machine, so that a colleague and a CI can use them: a library that is on no index is
found in the folder `wheels`.
"""

from __future__ import annotations

import ast
import contextlib
import json
import os
import shlex
import tempfile
from collections.abc import Iterator, Mapping
from importlib import resources
from pathlib import Path
from string import Template

from apimachinery.errors import ControllerRuntimeError, UsageError
from controller_runtime.core.library import NAME, Library
from controller_runtime.crd.declaration import plural_of
from controller_runtime.program.scaffold.names import Names

PYTHON_IMAGE = "python:3.13-slim"

_PLACEHOLDER = "PlaceholderOfTheKind"

_UNPUBLISHED = (
    f"# {NAME} is on no index yet, so its wheels are in the folder `wheels`; README.md says how to make them.\n"
)
_NOTE = f"""\
{NAME} is on no index yet, so its wheels are made first, and again for each version of it{{clone}}.
Commit the folder `wheels`: the image and the CI need it, too.

"""
_CLONE = ". CLONE is the folder of a clone"


def _template(name: str) -> str:
    return resources.files(__package__).joinpath("templates", f"{name}.tmpl").read_text(encoding="utf-8")


def imported_names() -> set[str]:
    """Return the names that the operator's module imports or uses, which its kind must not have."""
    text = Template(_template("operator.py")).substitute(_values_of_names(Names("x", _PLACEHOLDER, "x.x")))
    module = ast.parse(text)
    imports = [node for node in ast.walk(module) if isinstance(node, ast.Import | ast.ImportFrom)]
    imported = {alias.asname or alias.name for node in imports for alias in node.names}
    used = {node.id for node in ast.walk(module) if isinstance(node, ast.Name)}
    return {name for name in imported | used if not name.startswith(_PLACEHOLDER)}


def files_for(names: Names, library: Library) -> dict[str, str]:
    """Return the texts of the operator's files by name, except those of `deploy_files`."""
    by_name, place = library.is_by_name, library.elsewhere("CLONE")
    values = {
        **_values_of_names(names),
        "plural": plural_of(names.kind),
        "requirement": _toml(library.source if by_name else NAME),
        "test_requirement": _toml(library.requirements("testing,cli")[0] if by_name else f"{NAME}[testing,cli]"),
        "image": PYTHON_IMAGE,
        "wheels_comment": "" if by_name else _UNPUBLISHED,
        "wheels_copy": "" if by_name else "COPY wheels /wheels\n",
        "wheels_option": "" if by_name else " --find-links /wheels",
        "find_links": "" if by_name else " --find-links wheels",
        "wheels_command": "" if by_name else f"{wheels_command(place)}\n",
        "wheels_note": "" if by_name else _NOTE.format(clone=_CLONE if library.is_local else ""),
    }
    templates = {
        f"{names.module}.py": "operator.py",
        f"test_{names.module}.py": "test.py",
        "pyproject.toml": "pyproject.toml",
        "Dockerfile": "Dockerfile",
        "README.md": "README.md",
        "AGENTS.md": "AGENTS.md",
        "rights.yaml": "rights.yaml",
        ".github/workflows/test.yaml": "test.yaml",
        ".gitignore": "gitignore",
    }
    return {file: Template(_template(name)).substitute(values) for file, name in templates.items()}


def wheels_command(library: Library) -> str:
    """Return the command that builds the wheels of the library and of what the operator's tests need."""
    places = [each.replace("[testing]", "") for each in library.requirements("testing")]
    return shlex.join(["pip", "wheel", "--no-deps", "--wheel-dir", "wheels", *places])


def _toml(text: str) -> str:
    """Return a printable text as a string of TOML, which escapes quotes and backslashes as JSON does."""
    return json.dumps(text, ensure_ascii=False)


def _values_of_names(names: Names) -> dict[str, str]:
    return {"name": names.name, "module": names.module, "kind": names.kind, "group": names.group}


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    """Write files into a folder, which is created if necessary, without overwriting any.

    Each file is written completely or not at all; if the process is killed, some of the files may be missing.

    Raises:
        UsageError: One of the files exists, so none was written.
        ControllerRuntimeError: The operating system refuses.
    """
    try:
        if existing := [name for name in files if os.path.lexists(folder / name)]:
            raise UsageError(f"{folder / existing[0]} exists, and nothing was written; name another folder with --dir")
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".init-", dir=folder) as made:
            for name, text in files.items():
                (Path(made) / name).parent.mkdir(parents=True, exist_ok=True)
                (Path(made) / name).write_text(text, encoding="utf-8")
            _link(Path(made), folder, files)
    except OSError as error:
        raise ControllerRuntimeError(f"{folder}: {error.strerror or error}") from error


def _link(made: Path, folder: Path, names: Mapping[str, str]) -> None:
    """Give complete files their names; a link never replaces a file that has come in between."""
    linked: list[Path] = []
    folders: list[Path] = []
    try:
        for name in names:
            missing = [folder / each for each in Path(name).parents if not (folder / each).is_dir()]
            for parent in reversed(missing):
                parent.mkdir()
                folders.append(parent)
            os.link(made / name, folder / name)
            linked.append(folder / name)
    except BaseException:  # also an interrupt: all files or none
        for path in linked:
            path.unlink(missing_ok=True)
        for path in reversed(folders):
            with contextlib.suppress(OSError):  # another file has come into it
                path.rmdir()
        raise


def commands_for(names: Names, folder: Path) -> Iterator[str]:
    """Yield the commands that a user would run next."""
    if folder != Path():
        yield f"cd {folder}"
    yield "pytest"
    yield f"python {names.module}.py --embedded"

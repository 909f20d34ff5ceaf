# SPDX-License-Identifier: Apache-2.0
"""The texts of a new operator's files, from the templates beside this module, and writing them."""

from __future__ import annotations

import ast
import os
import shlex
import tempfile
from collections.abc import Iterator, Mapping
from importlib import resources
from pathlib import Path
from string import Template

from apimachinery.errors import ControllerRuntimeError, UsageError
from controller_runtime.core.library import NAME, Library
from controller_runtime.program.scaffold.names import Names

PYTHON_IMAGE = "python:3.13-slim"

_PLACEHOLDER = "PlaceholderOfTheKind"

_UNPUBLISHED = """\
# {library} is on no index yet. Make the wheels of it first, and again for each version of it:
#     pip wheel --no-deps --wheel-dir wheels {source}
"""


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
    """Return the texts of the four files, by their names."""
    by_name, source = library.is_by_name, shlex.join(library.requirements())
    values = {
        **_values_of_names(names),
        "requirement": library.source if by_name else NAME,
        "install": library.command("testing,cli", "pytest"),
        "image": PYTHON_IMAGE,
        "wheels_comment": "" if by_name else _UNPUBLISHED.format(library=NAME, source=source),
        "wheels_copy": "" if by_name else "COPY wheels /wheels\n",
        "wheels_option": "" if by_name else " --find-links /wheels",
    }
    templates = {
        f"{names.module}.py": "operator.py",
        f"test_{names.module}.py": "test.py",
        "pyproject.toml": "pyproject.toml",
        "Dockerfile": "Dockerfile",
    }
    return {file: Template(_template(name)).substitute(values) for file, name in templates.items()}


def _values_of_names(names: Names) -> dict[str, str]:
    return {"name": names.name, "module": names.module, "kind": names.kind, "group": names.group}


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    """Write files into a folder, which is made if there is none, and overwrite nothing.

    Each file appears complete or not at all, also if the process is killed; then some of the files may be there.

    Raises:
        UsageError: One of the files exists, so none was written.
        ControllerRuntimeError: The system refuses.
    """
    try:
        if existing := [name for name in files if os.path.lexists(folder / name)]:
            raise UsageError(f"{folder / existing[0]} exists, and nothing was written; name another folder with --dir")
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".init-", dir=folder) as made:
            for name, text in files.items():
                (Path(made) / name).write_text(text, encoding="utf-8")
            _link(Path(made), folder, files)
    except OSError as error:
        raise ControllerRuntimeError(f"{folder}: {error.strerror or error}") from error


def _link(made: Path, folder: Path, names: Mapping[str, str]) -> None:
    """Give complete files their names; a link never replaces a file that has come in between."""
    linked: list[Path] = []
    try:
        for name in names:
            os.link(made / name, folder / name)
            linked.append(folder / name)
    except BaseException:  # also an interrupt: all four files or none
        for path in linked:
            path.unlink(missing_ok=True)
        raise


def commands_for(names: Names, folder: Path) -> Iterator[str]:
    """Yield the commands that a user would try next."""
    if folder != Path():
        yield f"cd {folder}"
    yield "pytest"
    yield f"python {names.module}.py --embedded"

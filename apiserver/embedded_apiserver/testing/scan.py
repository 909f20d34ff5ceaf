# SPDX-License-Identifier: Apache-2.0
"""Finds out whether tests use the server, by the text of their files, before pytest imports any of them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatch
from pathlib import Path

_USE = re.compile(rb"\bkubernetes_server|\bKubernetesServerMixin\b")
_NEVER = (".*", "__pycache__", "node_modules", "site-packages")
"""Folders that are never looked into, next to those of pytest's `norecursedirs`."""


def uses_server(paths: Iterable[Path], root: Path, pruned: Iterable[str]) -> bool:
    """Return whether a Python file in these paths contains the name of a fixture of the server, or of its mixin.

    Args:
        paths: The files and folders of the tests.
        root: The topmost folder in which a `conftest.py` above the tests is read as well.
        pruned: Patterns for the names of folders to skip.
    """
    return any(_names_it(path) for path in _files([*paths], root, (*_NEVER, *pruned)))


def _files(paths: list[Path], root: Path, pruned: tuple[str, ...]) -> Iterator[Path]:
    above = {folder for path in paths for folder in (path, *path.parents) if folder.is_relative_to(root)}
    yield from (folder / "conftest.py" for folder in above)
    for path in paths:
        if path.is_file():
            yield path
        for name, folders, files in os.walk(path):
            folders[:] = [each for each in folders if not any(fnmatch(each, one) for one in pruned)]
            yield from (Path(name, file) for file in files if file.endswith(".py"))


def _names_it(path: Path) -> bool:
    try:
        return _USE.search(path.read_bytes()) is not None
    except OSError:  # no such file, or one that may not be read, as pytest will say
        return False


def paths_of(arguments: list[str], folder: Path) -> list[Path]:
    """Return the files and folders in the command line arguments of pytest, without the parts that select tests in a
    file (`::test_a`). Relative paths begin at `folder`, in which pytest was started.
    """
    return [folder / each.partition("::")[0] for each in arguments]

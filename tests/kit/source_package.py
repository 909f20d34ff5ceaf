# SPDX-License-Identifier: Apache-2.0
"""Imports a package of the source tree that `import` would not find, or would take another folder for."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


def import_from_source(name: str) -> None:
    """Make a package of the source tree importable, unless it is already.

    The tree itself must not be in `sys.path`: its packages would hide the installed ones. A folder without modules,
    such as `tests/controllers`, does not count: Python finds it before a package that is installed as editable.
    """
    found = importlib.util.find_spec(name)
    if found is not None and found.origin is not None:
        return
    folder = ROOT / name
    spec = importlib.util.spec_from_file_location(
        name, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None
    assert spec.loader is not None
    sys.modules[name] = package = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(package)

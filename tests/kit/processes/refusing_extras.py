# SPDX-License-Identifier: Apache-2.0
"""Runs a program without the packages that extras install: `refusing_extras.py (FILE | MODULE) ARGUMENT…`."""

from __future__ import annotations

import importlib.abc
import runpy
import sys
from importlib.machinery import ModuleSpec

from controller_runtime.core.extras import EXTRAS


class Refusing(importlib.abc.MetaPathFinder):
    """Refuses the modules of `EXTRAS`, as an environment does in which they are not installed."""

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if fullname.partition(".")[0] in EXTRAS:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)
        return None


if __name__ == "__main__":
    del sys.argv[0]
    sys.meta_path.insert(0, Refusing())
    if sys.argv[0].endswith(".py"):
        runpy.run_path(sys.argv[0], run_name="__main__")
    else:
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)

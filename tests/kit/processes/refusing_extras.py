# SPDX-License-Identifier: Apache-2.0
"""Runs a program without the packages that extras install: `refusing_extras.py (FILE | MODULE) ARGUMENT…`."""

from __future__ import annotations

import runpy
import sys

from controller_runtime.core.extras import EXTRAS

if __name__ == "__main__":
    del sys.argv[0]
    # Not a finder of ours in `sys.meta_path`: pytest puts its own before it, which finds the modules of all plugins.
    for module in EXTRAS:
        sys.modules[module] = None  # type: ignore[assignment]  # an import of it raises ModuleNotFoundError
    if sys.argv[0].endswith(".py"):
        runpy.run_path(sys.argv[0], run_name="__main__")
    else:
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)

# SPDX-License-Identifier: Apache-2.0
"""The manifests of a new operator, made from its files by the command `manifests`."""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from controller_runtime.program.cli_manifests import manifests_command
from controller_runtime.program.origin import modules_below
from controller_runtime.program.scaffold.names import Names


def deploy_files(names: Names, files: Mapping[str, str]) -> dict[str, str]:
    """Return the texts of the files in the folder `deploy` of a new operator, by file name.

    Args:
        names: The names of the operator.
        files: The operator's other files; its module is imported temporarily.
    """
    with tempfile.TemporaryDirectory(prefix="init-") as folder:
        program, rights, made = (Path(folder) / name for name in (f"{names.module}.py", "rights.yaml", "deploy"))
        for path in (program, rights):
            path.write_text(files[path.name], encoding="utf-8")
        options = ["--rights", str(rights), "--name", names.name, "--image", names.name, "--kustomize", str(made)]
        with _forgotten(program):
            manifests_command.main([str(program), *options], prog_name="manifests", standalone_mode=False)
        return {f"deploy/{path.name}": path.read_text(encoding="utf-8") for path in sorted(made.iterdir())}


@contextlib.contextmanager
def _forgotten(program: Path) -> Iterator[None]:
    """Leave the path of the process, and the modules that come from the folder of `program`, as they were."""
    path, writes = [*sys.path], sys.dont_write_bytecode
    sys.dont_write_bytecode = True
    try:
        yield
    finally:
        sys.dont_write_bytecode = writes
        sys.path[:] = path
        for name in modules_below(program.parent.resolve()):
            del sys.modules[name]

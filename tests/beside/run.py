# SPDX-License-Identifier: Apache-2.0
"""Installs the four distributions beside other projects: `python tests/beside/run.py [NAME…]`.

`tox -e beside` runs README's test with all that environments.toml lists, each in an environment of its own, made in a
temporary folder. Each prints one line; the exit status is 1 if one of them does not resolve, `pip check` complains, the
modules cannot be imported together, or the test fails.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import tomllib
import venv
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
ENVIRONMENTS = Path(__file__).with_name("environments.toml")
SOURCES = ("apimachinery", "apiserver", ".", "controllers")
EXTRAS = "testing,cli,agent"
FIRST_TEST = ("examples/zone_labels.py", "tests/examples/test_zone_labels.py")
"""The two files that README shows."""
OFFICIAL_CLIENT = """
import importlib.metadata as metadata, re, sys
wanted = [each for each in metadata.requires(sys.argv[1]) or () if re.match(r"kubernetes\\b(?![-_.])(?!.*extra)", each)]
print(f"kubernetes {metadata.version('kubernetes')}, of which it says {', '.join(wanted) or 'nothing'}")
"""
PATIENCE = 1800.0
"""Seconds that one step may take; the largest environment has 150 packages."""


class Neighbor(NamedTuple):
    """A project beside which ours is installed.

    Attributes:
        requirement: The release that pip installs.
        module: The module that is imported together with our packages.
    """

    requirement: str
    module: str


class Failure(Exception):
    """A step that failed; the text has its command and the end of its output."""


def neighbors(names: Iterable[str] = ()) -> Mapping[str, Neighbor]:
    """Return the projects of these names, or all.

    Raises:
        SystemExit: There is none of that name.
    """
    listed = tomllib.loads(ENVIRONMENTS.read_text(encoding="utf-8"))
    if unknown := sorted({*names} - {*listed}):
        sys.exit(f"there is no environment {', '.join(unknown)}: there are {', '.join(listed)}")
    return {name: Neighbor(**fields) for name, fields in listed.items() if not names or name in names}


def did(*command: str | Path, cwd: Path) -> str:
    """Run a command to its end and return what it wrote.

    Raises:
        Failure: Its exit status was not 0, or it took too long.
    """
    words = [str(part) for part in command]
    try:
        done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, check=False, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        raise Failure(f"{' '.join(words)}: no end after {PATIENCE:.0f} s") from None
    if done.returncode:
        raise Failure(f"{' '.join(words)}:\n{(done.stdout + done.stderr)[-2000:]}")
    return done.stdout


def wheels_in(folder: Path) -> list[str]:
    """Build the wheels of the four distributions into a folder; return them as requirements of pip."""
    sources = [str(ROOT / source) for source in SOURCES]
    did(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", folder, *sources, cwd=folder)
    library = next(folder.glob("controller_runtime-*.whl"))
    others = [str(wheel) for wheel in sorted(folder.glob("*.whl")) if wheel != library]
    return [f"{library}[{EXTRAS}]", *others]


def tried(neighbor: Neighbor, wheels: list[str], folder: Path) -> str:
    """Install a project beside ours in a new environment; return the client's release and the last line of the test."""
    venv.create(folder / "venv", with_pip=True)
    python = folder / "venv" / "bin" / "python"
    did(python, "-m", "pip", "install", "--quiet", "--no-compile", *wheels, neighbor.requirement, "pytest", cwd=folder)
    did(python, "-m", "pip", "check", cwd=folder)
    did(python, "-c", f"import {neighbor.module}, apimachinery, controller_runtime, controllers", cwd=folder)
    own = folder / "empty"
    own.mkdir()
    for file in FIRST_TEST:
        (own / Path(file).name).write_bytes((ROOT / file).read_bytes())
    written = did(python, "-m", "pytest", "-p", "no:cacheprovider", Path(FIRST_TEST[1]).name, cwd=own)
    client = did(python, "-c", OFFICIAL_CLIENT, neighbor.requirement.partition("==")[0], cwd=own).strip()
    return f"{client}: {written.splitlines()[-1].strip('= ')}"


def main(names: list[str]) -> int:
    """Try the projects of these names, or all, and print the outcome of each."""
    for variable in ("PYTHONPATH", "KUBECONFIG"):
        os.environ.pop(variable, None)
    failed = 0
    chosen = neighbors(names)
    with tempfile.TemporaryDirectory(prefix="beside-") as temporary:
        (built := Path(temporary) / "wheels").mkdir()
        wheels = wheels_in(built)
        for name, neighbor in chosen.items():
            (folder := Path(temporary) / name).mkdir()
            try:
                outcome = f"ok: {neighbor.requirement}, {tried(neighbor, wheels, folder)}"
            except Failure as error:
                failed += 1
                outcome = f"failed: {neighbor.requirement}: {error}"
            sys.stdout.write(f"{outcome}\n")
            sys.stdout.flush()
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

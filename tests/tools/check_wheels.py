# SPDX-License-Identifier: Apache-2.0
"""`tox -e wheels`: builds the four distributions as for a release, and tries them in empty environments.

Each wheel is built from its sdist, so a file that an sdist lacks is missing in the wheel too. Nothing is imported from
this tree: the environments are in a temporary folder, and so is each working directory.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
EXTRAS = "testing,cli,agent"
FOLDERS = {"apimachinery": "apimachinery", "embedded_apiserver": "apiserver", "controllers": "controllers"}
"""The folder of each distribution but the library's, by its package."""


THE_OPERATOR_ALONE = """
import importlib.metadata
import controller_runtime
from controller_runtime import NODES, Client, Controller, Endpoints, LeaderElectionConfig, Manager
installed = {each.name for each in importlib.metadata.distributions()}
assert not installed & {"rich", "psutil", "google-re2", "cryptography", "embedded-apiserver"}, installed
import controllers
assert controllers.MINE, controllers.__file__
"""
THE_SERVER_ALONE = """
import importlib.metadata
import embedded_apiserver
assert all(getattr(embedded_apiserver, name) for name in embedded_apiserver.__all__)
installed = {each.name for each in importlib.metadata.distributions()}
assert not installed & {"kubernetes", "controller-runtime", "prometheus_client"}, installed
"""
EVERYTHING = """
from importlib.metadata import version
from importlib.resources import files
import apimachinery, controller_runtime, controllers, embedded_apiserver
assert controller_runtime.__version__ == version("controller-runtime-controllers")
for package in (apimachinery, controller_runtime, controllers, embedded_apiserver):
    assert files(package).joinpath("py.typed").is_file(), package
"""


def say(text: str) -> None:
    print(text, flush=True)  # noqa: T201 (a program)


def built(folder: Path) -> dict[str, Path]:
    """Build the distributions into `folder`; return their wheels and sdists by the package each is for."""
    found = {}
    for name, source in (("controller_runtime", ROOT), *((name, ROOT / folder) for name, folder in FOLDERS.items())):
        out = folder / name
        subprocess.run(
            [sys.executable, "-m", "build", "--outdir", str(out), str(source)],
            check=True,
            cwd=folder,
            stdout=subprocess.DEVNULL,
        )
        (found[f"{name} wheel"],) = out.glob("*.whl")
        (found[f"{name} sdist"],) = out.glob("*.tar.gz")
    return found


def tracked(package: str) -> set[str]:
    """The files of a package that its wheel has to contain, as the repository has them."""
    where = "apiserver" if package == "embedded_apiserver" else "."
    listed = subprocess.run(
        ["git", "ls-files", package], cwd=ROOT / where, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    return {*listed} - {f"{package}/{name}" for name in ("LICENSE", "README.md", "pyproject.toml", "setup.cfg")}


def check_contents(package: str, wheel: Path, sdist: Path) -> None:
    """Compare the files of a wheel and of an sdist with those of the repository."""
    inside = {*zipfile.ZipFile(wheel).namelist()}
    metadata = {name for name in inside if ".dist-info/" in name}
    assert inside - metadata == tracked(package), (inside - metadata) ^ tracked(package)
    assert any(name.endswith("licenses/LICENSE") for name in metadata), metadata
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"LICENSE", "README.md", "pyproject.toml", "setup.cfg", "PKG-INFO"} <= names, names
    assert not any(name.startswith(("tests", "docs", "benchmarks", "build")) for name in names), names
    say(f"ok: {wheel.name} and {sdist.name} contain what they should, {len(inside)} and {len(names)} files")


@contextmanager
def environment(folder: Path, name: str, *requirements: str) -> Iterator[Path]:
    """An environment in which only `requirements` are installed; the value is its folder of programs."""
    venv.create(folder / name, with_pip=True)
    programs = folder / name / "bin"
    subprocess.run([programs / "python", "-m", "pip", "install", "--quiet", *requirements], check=True, cwd=folder)
    subprocess.run([programs / "python", "-m", "pip", "check"], check=True, cwd=folder, stdout=subprocess.DEVNULL)
    yield programs
    say(f"ok: an environment with {' '.join(Path(each).name for each in requirements)}")


def run(*command: str | Path, cwd: Path) -> str:
    """Run a program to its end; return what it wrote."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command} ended with {done.returncode}:\n{done.stdout}"
    return done.stdout


def main() -> None:
    for variable in ("PYTHONPATH", "KUBECONFIG"):
        os.environ.pop(variable, None)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        found = built(folder)
        library, command = found["controller_runtime wheel"], found["controllers wheel"]
        for package in ("controller_runtime", *FOLDERS):
            check_contents(package, found[f"{package} wheel"], found[f"{package} sdist"])
        ground, server = found["apimachinery wheel"], found["embedded_apiserver wheel"]
        empty = folder / "empty"
        (empty / "controllers").mkdir(parents=True)
        (empty / "controllers" / "__init__.py").write_text("MINE = True\n")
        with environment(folder, "library", str(ground), str(library)) as programs:
            run(programs / "python", "-c", THE_OPERATOR_ALONE, cwd=empty)
        (empty / "controllers" / "__init__.py").unlink()
        (empty / "controllers").rmdir()
        with environment(folder, "server", str(ground), str(server)) as programs:
            run(programs / "embedded-apiserver", "--help", cwd=empty)
            run(programs / "python", "-c", THE_SERVER_ALONE, cwd=empty)
        with environment(
            folder, "all", str(ground), str(server), f"{library}[{EXTRAS}]", str(command), "pytest"
        ) as programs:
            run(programs / "python", "-c", EVERYTHING, cwd=empty)
            nodes = ("--hollow-nodes", "3", "--duration", "5")
            shown = run(programs / "python", "-m", "controllers", "run", "--embedded", *nodes, cwd=empty)
            assert "hollow nodes registered" in shown, shown
            assert "controllers" in run(programs / "controllers", "--version", cwd=empty)
            fixtures = run(programs / "pytest", "-p", "no:cacheprovider", "--fixtures", cwd=empty)
            assert all(f"\n{name} " in fixtures for name in ("cluster", "simulation", "real_cluster")), fixtures
            for example in ("examples/zone_labels.py", "tests/examples/test_zone_labels.py"):
                shutil.copy(ROOT / example, empty)
            assert "1 passed" in run(programs / "pytest", "-p", "no:cacheprovider", cwd=empty)


if __name__ == "__main__":
    main()

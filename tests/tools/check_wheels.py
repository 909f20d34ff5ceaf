# SPDX-License-Identifier: Apache-2.0
"""`tox -e wheels`: builds the four distributions as for a release, and tries them in empty environments.

Each wheel is built from its sdist, so a file that an sdist lacks is missing in the wheel too. Nothing is imported from
this tree: the environments are in a temporary folder, and so is each working directory. The sizes that the page
docs/stability.md names are compared with those found here.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
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
MOST_OF_THE_SERVER = 60_000_000
"""Bytes that an environment with the server alone may have, without bytecode and without pip."""
MEGABYTES = re.compile(r"^\| `([^`]+)`[^|]* \| ([0-9.]+) MB \| ([0-9.]+) MB \|$", re.MULTILINE)
"""A row of sizes in docs/stability.md: the requirement, its wheel, and an environment with it alone."""
PATIENCE = 120.0  # seconds that a program may take to start, or to end; all take a few


THE_OPERATOR_ALONE = """
import importlib.metadata
import controller_runtime
from controller_runtime import Client, Controller, Endpoints, LeaderElectionConfig, Manager
from controller_runtime.resources import NODES
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
A_NODE_GETS_ITS_LABEL = """
import sys, time
from controller_runtime import Client, ObjectKey, labels_of
from controller_runtime.resources import NODES
user = Client.from_kubeconfig(sys.argv[1])
user.create(NODES, {"metadata": {"name": "n", "annotations": {"example.com/zone": "a"}}})
until = time.monotonic() + 60
while labels_of(user.get(NODES, ObjectKey("n"))).get("example.com/zone") != "a":
    assert time.monotonic() < until, "no label after a minute"
    time.sleep(0.05)
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


def run(*command: str | Path, cwd: Path, status: int = 0) -> str:
    """Run a program to its end, which has to be this exit status; return what it wrote."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert done.returncode == status, f"{command} ended with {done.returncode}:\n{done.stdout}"
    return done.stdout


@contextmanager
def running(*command: str | Path, cwd: Path, ready: str) -> Iterator[None]:
    """Run a program beside the block, from its first line with `ready` on; Ctrl-C has to end it cleanly."""
    with subprocess.Popen(
        [str(part) for part in command], cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        written = []
        try:
            for line in process.stdout:
                written.append(line)
                if ready in line:
                    break
            else:
                raise AssertionError(f"{command} ended early:\n{''.join(written)}")
            yield
        finally:
            process.send_signal(signal.SIGINT)
            rest, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode in {0, 130}, f"{command} ended with {process.returncode}:\n{rest}"


def size(programs: Path) -> int:
    """Return the bytes of an environment's packages, without bytecode, pip and setuptools."""
    packages = sysconfig.get_path("purelib", "venv", {"base": str(programs.parent)})
    began = ("pip", "setuptools", "pkg_resources", "_distutils_hack", "distutils-precedence")
    files = (file for file in Path(packages).rglob("*") if file.is_file() and "__pycache__" not in file.parts)
    return sum(file.stat().st_size for file in files if not file.relative_to(packages).parts[0].startswith(began))


def check_sizes(found: dict[str, tuple[int, int]]) -> None:
    """Compare the bytes of each wheel and its environment with docs/stability.md, which may be wrong by a tenth."""
    page = (ROOT / "docs" / "stability.md").read_text(encoding="utf-8")
    told = {name: (float(wheel), float(packages)) for name, wheel, packages in MEGABYTES.findall(page)}
    wrong = []
    for name, measured in found.items():
        wheel, packages = (each / 1e6 for each in measured)
        say(f"{name}: a wheel of {wheel:.2f} MB, {packages:.1f} MB in an environment")
        pairs = zip((wheel, packages), told.get(name, (0.0, 0.0)), strict=True)
        if any(abs(a - b) > 0.1 * a for a, b in pairs):
            wrong.append(name)
    assert not wrong, f"docs/stability.md names other sizes of {wrong}"


def check_server(programs: Path, folder: Path, kubeconfig: Path) -> None:
    """Try the server, installed alone and running, with kubectl."""
    assert size(programs) <= MOST_OF_THE_SERVER, size(programs)
    run(programs / "python", "-c", THE_SERVER_ALONE, cwd=folder)
    if shutil.which("kubectl") is None:
        say("not tried: the server alone with kubectl, which is not on the path")
        return
    kubectl = ("kubectl", "--kubeconfig", kubeconfig, "--cache-dir", folder / "kubectl")
    assert "created" in run(*kubectl, "create", "namespace", "first", cwd=folder)
    assert "Active" in run(*kubectl, "get", "namespaces", "first", cwd=folder)
    assert "created" in run(*kubectl, "-n", "first", "create", "configmap", "c", "--from-literal=a=b", cwd=folder)
    assert "a:" in run(*kubectl, "-n", "first", "describe", "configmap", "c", cwd=folder)
    run(*kubectl, "-n", "first", "delete", "configmap", "c", cwd=folder)
    # The server has no controllers, so nothing ends a namespace, for which kubectl would wait.
    run(*kubectl, "delete", "namespace", "first", "--wait=false", cwd=folder)
    assert "Terminating" in run(*kubectl, "get", "namespaces", "first", cwd=folder)
    say("ok: kubectl creates, describes and deletes on the server alone")


def check_library(programs: Path, folder: Path, kubeconfig: Path) -> None:
    """Try the library, installed alone: a controller against a server of another environment, and without a server."""
    shutil.copy(ROOT / "examples" / "zone_labels.py", folder)
    program = (programs / "python", "zone_labels.py")
    with running(*program, "--kubeconfig", kubeconfig, cwd=folder, ready="controller started"):
        run(programs / "python", "-c", A_NODE_GETS_ITS_LABEL, kubeconfig, cwd=folder)
    refused = run(*program, "--embedded", cwd=folder, status=2)
    assert re.search(r"needs embedded-apiserver: pip install .*\[testing\]", refused.splitlines()[-1]), refused
    say("ok: the library alone runs a controller elsewhere, and says what --embedded needs")


def check_readme(programs: Path, folder: Path) -> None:
    """Try the README's commands for a program of one's own, with the extra `testing` alone."""
    own = folder / "my-operator"
    run(programs / "python", "-m", "controller_runtime", "init", "my-operator", "--dir", own, cwd=folder)
    assert "passed" in run(programs / "pytest", "-p", "no:cacheprovider", cwd=own)
    with running(programs / "python", "my_operator.py", "--embedded", cwd=own, ready="controller started"):
        pass
    for example in ("examples/zone_labels.py", "tests/examples/test_zone_labels.py"):
        shutil.copy(ROOT / example, folder)
    assert "1 passed" in run(programs / "pytest", "-p", "no:cacheprovider", "test_zone_labels.py", cwd=folder)
    say("ok: the README's commands with the extra testing alone")


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
        sizes = {}

        def measured(requirement: str, wheel: Path, programs: Path) -> None:
            sizes[requirement] = (wheel.stat().st_size, size(programs))

        empty = folder / "empty"
        (empty / "controllers").mkdir(parents=True)
        (empty / "controllers" / "__init__.py").write_text("MINE = True\n")
        with (
            environment(folder, "library", str(ground), str(library)) as of_library,
            environment(folder, "server", str(ground), str(server)) as of_server,
        ):
            measured("controller-runtime", library, of_library)
            measured("embedded-apiserver", server, of_server)
            run(of_library / "python", "-c", THE_OPERATOR_ALONE, cwd=empty)
            kubeconfig = folder / "kubeconfig"
            serve = (of_server / "embedded-apiserver", "--kubeconfig-out", kubeconfig)
            with running(*serve, cwd=empty, ready="https://"):
                check_server(of_server, empty, kubeconfig)
                check_library(of_library, empty, kubeconfig)
        shutil.rmtree(empty / "controllers")
        with environment(folder, "ground", str(ground)) as programs:
            measured("controller-runtime-apimachinery", ground, programs)
        with environment(folder, "testing", str(ground), str(server), f"{library}[testing]") as programs:
            measured("controller-runtime[testing]", library, programs)
            run(programs / "python", "-m", "pip", "install", "--quiet", "pytest", cwd=empty)
            check_readme(programs, empty)
        everything = (str(ground), str(server), f"{library}[{EXTRAS}]", str(command))
        with environment(folder, "all", *everything) as programs:
            measured("controller-runtime-controllers", command, programs)
            run(programs / "python", "-c", EVERYTHING, cwd=empty)
            nodes = ("--hollow-nodes", "3", "--duration", "5")
            shown = run(programs / "python", "-m", "controllers", "run", "--embedded", *nodes, cwd=empty)
            assert "hollow nodes registered" in shown, shown
            assert "controllers" in run(programs / "controllers", "--version", cwd=empty)
            run(programs / "python", "-m", "pip", "install", "--quiet", "pytest", cwd=empty)
            fixtures = run(programs / "pytest", "-p", "no:cacheprovider", "--fixtures", cwd=empty)
            assert all(f"\n{name} " in fixtures for name in ("cluster", "simulation", "real_cluster")), fixtures
        check_sizes(sizes)


if __name__ == "__main__":
    main()

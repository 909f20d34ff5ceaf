# SPDX-License-Identifier: Apache-2.0
"""The four distributions of this repository: what each requires and contains, and what works without the extras."""

from __future__ import annotations

import ast
import configparser
import importlib
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path

import pytest
from kit.official import since
from kit.source_package import import_from_source

import apimachinery
import controller_runtime
import controllers
import embedded_apiserver
from apimachinery.system import SystemHost
from controller_runtime.core.extras import EXTRAS, remedy
from controller_runtime.core.library import FOR_CONTROLLERS
from controller_runtime.testing import APIServerProcess

ROOT = Path(__file__).parents[1]
WITHOUT_EXTRAS = Path(__file__).parent / "kit" / "processes" / "refusing_extras.py"
LIBRARY, COMMAND = "controller-runtime", "controller-runtime-controllers"
GROUND, SERVER = "controller-runtime-apimachinery", "embedded-apiserver"
PACKAGES = {LIBRARY: controller_runtime, COMMAND: controllers, GROUND: apimachinery, SERVER: embedded_apiserver}


def configuration(path: str) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None)
    parser.read(ROOT / path)
    return parser


SETUP, CONTROLLERS, TOX = configuration("setup.cfg"), configuration("controllers/setup.cfg"), configuration("tox.ini")
SETUPS = {
    LIBRARY: SETUP,
    COMMAND: CONTROLLERS,
    GROUND: configuration("apimachinery/setup.cfg"),
    SERVER: configuration("apiserver/setup.cfg"),
}
FOLDERS = {LIBRARY: ".", COMMAND: "controllers", GROUND: "apimachinery", SERVER: "apiserver"}


def lines_of(text: str) -> list[str]:
    """The lines of a value that are neither empty nor comments."""
    return [line.strip() for line in text.splitlines() if line.strip() and not line.strip().startswith("#")]


def test_each_package_of_the_controllers_is_listed() -> None:
    folders = sorted(path.parent.relative_to(ROOT) for path in (ROOT / "controllers").rglob("__init__.py"))

    assert lines_of(CONTROLLERS["options"]["packages"]) == [".".join(folder.parts) for folder in folders]


@pytest.mark.parametrize("name", SETUPS)
def test_each_distribution_has_the_version_licence_and_python_of_all(name: str) -> None:
    setup = SETUPS[name]

    assert setup["metadata"]["name"] == name
    assert setup["metadata"]["version"] == SETUP["metadata"]["version"]
    assert setup["options"]["python_requires"] == SETUP["options"]["python_requires"]
    assert (ROOT / FOLDERS[name] / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_each_distribution_requires_exactly_its_own_version_of_another() -> None:
    version = SETUP["metadata"]["version"]
    required = {
        name: {line for line in all_requirements(setup) if re.split("[<>=\\[]", line)[0] in SETUPS}
        for name, setup in SETUPS.items()
    }

    assert required == {
        GROUND: set(),
        SERVER: {f"{GROUND}=={version}", f"{COMMAND}=={version}"},
        LIBRARY: {f"{GROUND}=={version}", f"{SERVER}=={version}"},
        COMMAND: {f"{LIBRARY}[{FOR_CONTROLLERS}]=={version}"},
    }
    assert lines_of(SETUP["options.extras_require"]["testing"]) == [f"{SERVER}=={version}"]
    assert lines_of(SETUPS[SERVER]["options.extras_require"]["workloads"]) == [f"{COMMAND}=={version}"]


def test_the_guide_names_what_each_distribution_requires() -> None:
    page = (ROOT / "docs" / "stability.md").read_text(encoding="utf-8")
    table = page.partition("\n| distribution |")[2].partition("\n\n")[0]
    for name, setup in SETUPS.items():
        [said] = re.findall(rf"^\| `{name}` \| .* \| (.*) \|$", table, re.MULTILINE)
        named = {*re.findall(r"`([^`]+)`", said)}
        required = [line for line in lines_of(setup["options"]["install_requires"]) if not line.startswith(LIBRARY)]
        required += [GROUND] * (name in (SERVER, LIBRARY))
        bare = {re.split("[<>=\\[]", line)[0] for line in required}
        if name == LIBRARY:  # six of them are in the row of the extras
            assert (bare - {GROUND, "kubernetes"}, named) == (bare & EVERYDAY, {GROUND, "kubernetes"})
            assert f"{len(EVERYDAY)} small packages".replace("6", "six") in said
        elif name == COMMAND:
            assert named == bare | {*FOR_CONTROLLERS.split(",")}
        else:
            assert named == bare


EVERYDAY = {"attrs", "cachetools", "click", "msgspec", "prometheus_client", "PyYAML"}
MODULES = {
    "PyYAML": "yaml",
    "google-re2": "re2",
    "opentelemetry-api": "opentelemetry",
    GROUND: "apimachinery",
    LIBRARY: "controller_runtime",
}
"""The module of a requirement whose name differs."""


def all_requirements(setup: configparser.ConfigParser) -> list[str]:
    """The requirements of a distribution, those of its extras included."""
    extras = setup["options.extras_require"].values() if setup.has_section("options.extras_require") else ()
    return [line for text in (setup["options"]["install_requires"], *extras) for line in lines_of(text)]


def modules_of(requirements: Iterable[str]) -> set[str]:
    names = {re.split("[<>=\\[]", requirement)[0] for requirement in requirements}
    return {MODULES.get(name, name.replace("-", "_")) for name in names}


def imported_by(package: str) -> set[str]:
    """The modules of others that the sources of a package import anywhere."""
    found: set[str] = set()
    for path in Path(importlib.import_module(package).__file__ or "").parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                found.add(node.module or "")
    return {name.partition(".")[0] for name in found} - sys.stdlib_module_names - {package}


@pytest.mark.skipif(not (ROOT / "controller_runtime").exists(), reason="needs the sources")
def test_each_package_that_is_imported_is_required_by_the_distribution_that_imports_it() -> None:
    extras = SETUP["options.extras_require"]
    library = modules_of(lines_of(SETUP["options"]["install_requires"]))
    given = library | {name for extra in ("testing", "cli", "agent") for name in modules_of(lines_of(extras[extra]))}

    assert imported_by("apimachinery") <= modules_of(all_requirements(SETUPS[GROUND]))
    # its plugin is imported by pytest alone
    assert imported_by("embedded_apiserver") <= modules_of(all_requirements(SETUPS[SERVER])) | {"pytest"}
    assert imported_by("controller_runtime") <= modules_of(all_requirements(SETUP)) | {"_pytest"}
    assert imported_by("controllers") <= given | modules_of(all_requirements(CONTROLLERS))


@pytest.mark.skipif(not (ROOT / "apimachinery" / "setup.cfg").exists(), reason="needs the sources")
def test_the_shared_ground_has_what_both_need_and_nothing_else() -> None:
    def needed(package: str) -> set[str]:
        found = set[str]()
        for path in Path(importlib.import_module(package).__file__ or "").parent.rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "apimachinery":
                    module = node.module or ""
                    found |= {module} if "." in module else {f"{module}.{alias.name}" for alias in node.names}
        return found

    modules = {f"apimachinery.{path.stem}" for path in (ROOT / "apimachinery").glob("*.py")} - {"apimachinery.__init__"}
    assert needed("embedded_apiserver") | needed("apimachinery") == modules


FACES = (
    "embedded_apiserver",
    "embedded_apiserver.perturbation",
    "embedded_apiserver.programs",
    "embedded_apiserver.webhooks",
)


@pytest.mark.skipif(not (ROOT / "apiserver" / "setup.cfg").exists(), reason="needs the sources")
def test_the_server_is_reached_through_its_face_alone() -> None:
    beside = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.module}"
        for package in ("controller_runtime", "controllers", "examples")
        for path in sorted((ROOT / package).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom)
        and (node.module or "").partition(".")[0] == "embedded_apiserver"
        and (node.module not in FACES or not {each.name for each in node.names} <= public(node.module or ""))
    ]
    assert not beside


def public(module: str) -> set[str]:
    return set(importlib.import_module(module).__all__)


def test_the_extras_that_errors_name_are_those_of_the_package() -> None:
    offered = {
        (re.split("[<>=]", requirement)[0], extra)
        for extra, text in SETUP["options.extras_require"].items()
        for requirement in lines_of(text)
        if extra != "tests"
    }

    assert offered == {(package, extra) for package, *extras in EXTRAS.values() for extra in extras}


def test_the_floors_are_tested_as_they_are_declared() -> None:
    """A pin in tox.ini is the declared floor, exactly or with any last number."""
    tests = {*lines_of(SETUP["options.extras_require"]["tests"]), *lines_of(CONTROLLERS["options"]["install_requires"])}
    required = {line for setup in SETUPS.values() for line in all_requirements(setup) if "==" not in line} - tests

    pinned = [line.replace(".*", "").replace("==", ">=") for line in lines_of(TOX["testenv:floors"]["deps"])]

    assert {re.sub(r"(\.0)+$", "", line) for line in pinned} == required


def test_each_supported_python_has_an_environment_of_tox() -> None:
    prefix = "Programming Language :: Python :: 3."
    named = [
        line.removeprefix(prefix) for line in lines_of(SETUP["metadata"]["classifiers"]) if line.startswith(prefix)
    ]

    # The oldest Python is tested with the oldest dependencies, the others with the newest.
    tested = [TOX["testenv:floors"]["base_python"], *re.findall(r"py3\d+\b", TOX["tox"]["env_list"])]
    assert [f"py3{minor}" for minor in named] == tested
    assert [line for line in lines_of(CONTROLLERS["metadata"]["classifiers"]) if line.startswith(prefix)] == [
        f"{prefix}{minor}" for minor in named
    ]


def test_the_plain_run_has_the_environments_that_every_change_must_pass() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("\nOther commands")[0]
    later = {"py314"}  # the text names the first of those that run all

    assert {*re.findall(r"`tox -e (\w+)`", text)} == {*TOX["tox"]["env_list"].split(", ")} - later
    assert "docs" in TOX["tox"]["env_list"].split(", ")  # a build that is not in the plain run fails unseen


def test_a_folder_of_tests_is_not_taken_for_the_package_of_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`pytest`, unlike `python -m pytest`, has `tests` on the path and not the repository."""
    (tmp_path / "controllers").mkdir()
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.delitem(sys.modules, "controllers")

    import_from_source("controllers")

    assert sys.modules["controllers"].__file__ == str(ROOT / "controllers" / "__init__.py")


def test_each_package_comes_from_the_wheel_of_its_own_distribution(tmp_path: Path) -> None:
    if "TOX_ENV_NAME" not in os.environ and Path(controllers.__file__).is_relative_to(ROOT):
        pytest.skip("the wheels are not installed: tox installs them")
    names = [module.__name__ for module in PACKAGES.values()]
    program = "".join(f"import {name}; print({name}.__file__)\n" for name in names)

    done = subprocess.run(
        [sys.executable, "-I", "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )

    owners = importlib.metadata.packages_distributions()
    assert [owners[name] for name in names] == [[distribution] for distribution in PACKAGES]
    for place, name in zip(done.stdout.split(), PACKAGES, strict=True):
        files = importlib.metadata.files(name)
        assert files is not None
        assert Path(place) in [Path(str(file.locate())) for file in files]
        assert not [file for file in files if "tests" in file.parts]


def run_without_extras(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a program in a process in which the packages of the extras cannot be imported."""
    environment = {
        **os.environ,
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # the plugin of a distribution that is not installed has no entry point
        "PYTHONPATH": os.pathsep.join(str(Path(each.__file__ or "").parents[1]) for each in PACKAGES.values()),
    }
    return subprocess.run(
        [sys.executable, "-P", str(WITHOUT_EXTRAS), *arguments],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


# Releases of the official client before 35 import google-auth, which imports cryptography.
IMPORTS_NO_EXTRA = since(35, "no need of google-auth")


@IMPORTS_NO_EXTRA
def test_an_operator_on_a_cluster_needs_no_extra(tmp_path: Path) -> None:
    with APIServerProcess(SystemHost()) as server:
        done = run_without_extras(
            str(ROOT / "tests" / "kit" / "processes" / "bare_operator.py"), str(server.kubeconfig), cwd=tmp_path
        )

    assert done.returncode == 0, done.stderr
    assert float(done.stdout.rpartition(" ")[2]) >= 2


@IMPORTS_NO_EXTRA
def test_a_test_on_the_embedded_cluster_says_what_to_install(tmp_path: Path) -> None:
    shutil.copy(ROOT / "examples" / "zone_labels.py", tmp_path)
    shutil.copy(ROOT / "tests" / "examples" / "test_zone_labels.py", tmp_path)

    plugin = "controller_runtime.testing.pytest_plugin"
    done = run_without_extras(
        "pytest", "-q", "-p", plugin, "-p", "no:cacheprovider", "-c", os.devnull, ".", cwd=tmp_path
    )

    assert done.returncode != 0
    assert f"EmbeddedCluster needs embedded-apiserver: {remedy('testing')}" in done.stdout


def test_a_program_with_embedded_says_in_one_line_what_to_install(tmp_path: Path) -> None:
    program = tmp_path / "without_the_server.py"
    example = str(ROOT / "examples" / "zone_labels.py")
    program.write_text(
        "import runpy, sys\nsys.modules['embedded_apiserver'] = None\n"
        f"runpy.run_path({example!r}, run_name='__main__')\n"
    )

    done = subprocess.run(
        [sys.executable, str(program), "--embedded"], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    line = f"the embedded API server needs embedded-apiserver: {remedy('testing')}"
    assert done.returncode == 2, done.stderr
    assert line in done.stderr.splitlines()[-1]


def test_a_pattern_beyond_the_subset_is_refused_without_re2_with_what_to_install(tmp_path: Path) -> None:
    program = tmp_path / "define.py"
    program.write_text(DEFINE)

    done = subprocess.run([sys.executable, str(program)], cwd=tmp_path, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    is_free = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))  # for which google-re2 has no wheel
    remedy = "build it for this Python" if is_free else "pip install google-re2"
    assert f"needs google-re2: {remedy}" in done.stdout


DEFINE = r"""
import sys
sys.modules["re2"] = None
from controller_runtime import SystemHost
from controller_runtime.errors import ServerError
from controller_runtime.testing import EmbeddedCluster

schema = {"type": "object", "properties": {"spec": {"type": "string", "pattern": r"^\ba+$"}}}
version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
names = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
user = EmbeddedCluster(SystemHost()).user
try:
    user.create(user.resource("customresourcedefinitions"), {"metadata": {"name": "things.example.com"}, "spec": spec})
except ServerError as error:
    print(error)
"""

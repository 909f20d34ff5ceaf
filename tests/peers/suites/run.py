# SPDX-License-Identifier: Apache-2.0
"""Runs the suites of other clients: `python tests/peers/suites/run.py [NAME…]`; `tox -e peers` runs all.

They run against an embedded server with a node, on which each pod runs as soon as it is created; or, with
`--kubeconfig FILE`, against another cluster, which should be a new one. The sources are cloned, at the releases in
suites.toml; `PEERS_SOURCES` names a directory with copies of them, by the suites' names, where there is no network.

The exit status is 1 if a test fails that exceptions.toml does not list, or passes although it is listed.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any
from xml.etree import ElementTree

import click

from controller_runtime import SystemHost
from controller_runtime.testing import APIServerProcess

HERE = Path(__file__).parent
SHIMS, TESTS = HERE / "shims", HERE.parents[1]
LONGEST = 1800
"""Seconds after which a suite is ended."""


def suites() -> list[dict[str, Any]]:
    """Return the suites."""
    return list(tomllib.loads((HERE / "suites.toml").read_text())["suite"])


def exceptions(suite: str) -> dict[str, str]:
    """Return the tests of a suite that fail, with the reasons; a name may end with `*`."""
    listed = tomllib.loads((HERE / "exceptions.toml").read_text()).get(suite, {})
    return {test: group["reason"] for group in listed.get("group", ()) for test in group["tests"]}


@contextlib.contextmanager
def served(has_node: bool = True) -> Iterator[Path]:
    """Serve a cluster inside the block, with a node on which pods run at once, and yield its kubeconfig."""
    with APIServerProcess(SystemHost(), program=("controllers", "apiserver")) as server:
        if not has_node:
            yield server.kubeconfig
            return
        path = os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])
        command = [sys.executable, "-m", "kit.pods_run", str(server.kubeconfig)]
        with subprocess.Popen(command, env={**os.environ, "PYTHONPATH": path}) as pods:
            try:
                yield server.kubeconfig
            finally:
                pods.terminate()


def fetched(suite: Mapping[str, Any], folder: Path) -> Path:
    """Return a folder with the files of a suite."""
    source = Path(os.environ["PEERS_SOURCES"]) / suite["name"] if "PEERS_SOURCES" in os.environ else None
    if source is None:
        source = folder / "clone"
        command = [
            "git",
            "clone",
            "--quiet",
            "--depth",
            "1",
            "--branch",
            suite["tag"],
            suite["repository"],
            str(source),
        ]
        subprocess.run(command, check=True)
    for name in suite["take"]:
        target = folder / "suite" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (source / name).is_dir():
            shutil.copytree(source / name, target, symlinks=True)
        else:
            shutil.copy(source / name, target)
    return folder / "suite"


def outcomes(report: Path) -> dict[str, str]:
    """Return what became of each test, from pytest's report."""
    found = {}
    for case in ElementTree.parse(report).iter("testcase"):
        states = [state for state in ("failure", "error", "skipped") if case.find(state) is not None]
        found[f"{case.get('classname')}::{case.get('name')}"] = states[0] if states else "passed"
    return found


def run(suite: Mapping[str, Any], kubeconfig: Path, logs: Path | None) -> dict[str, str]:
    """Run a suite, and return what became of each test."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        log: IO[str] | int = subprocess.DEVNULL
        if logs is not None:
            logs.mkdir(parents=True, exist_ok=True)
            log = stack.enter_context((logs / f"{suite['name']}.txt").open("w"))
        at, report = fetched(suite, folder), folder / "report.xml"
        options = ["-W", "ignore", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "addopts="]
        command = [sys.executable, *options, "--tb=short", f"--junitxml={report}", *suite["arguments"]]
        environment = {**os.environ, "KUBECONFIG": str(kubeconfig), "PYTHONPATH": str(SHIMS)}
        with contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run(command, cwd=at, env=environment, check=False, timeout=LONGEST, stdout=log)
        return outcomes(report) if report.exists() else {}


def judged(found: Mapping[str, str], expected: Sequence[str]) -> list[str]:
    """Return the lines about tests whose outcome is not as listed."""
    lines = [] if found else ["no test ran"]
    for test, state in found.items():
        is_listed = any(test == one or (one.endswith("*") and test.startswith(one[:-1])) for one in expected)
        if state in ("failure", "error") and not is_listed:
            lines.append(f"{state}: {test}")
        elif state == "passed" and test in expected:
            lines.append(f"passed, although it is listed as an exception: {test}")
    return lines


@click.command()
@click.argument("names", nargs=-1)
@click.option(
    "--kubeconfig", type=click.Path(path_type=Path, exists=True), help="A cluster in place of the embedded one."
)
@click.option("--logs", type=click.Path(path_type=Path), help="A folder for what each suite prints.")
def main(names: tuple[str, ...], kubeconfig: Path | None, logs: Path | None) -> None:
    """Run the suites of these names, or all."""
    failed = False
    with contextlib.ExitStack() as stack:
        target = kubeconfig.absolute() if kubeconfig is not None else stack.enter_context(served())
        for suite in suites():
            if names and suite["name"] not in names:
                continue
            found = run(suite, target, logs)
            counts = Counter(found.values())
            lines = judged(found, list(exceptions(suite["name"])))
            failed = failed or bool(lines)
            told = ", ".join(f"{counts[state]} {state}" for state in sorted(counts))
            click.echo(f"{suite['name']} {suite['tag']}: {told}" + "".join(f"\n  {line}" for line in lines))
    sys.exit(int(failed))


if __name__ == "__main__":
    main()

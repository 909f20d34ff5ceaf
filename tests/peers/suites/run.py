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
from kit.processes.containers import images

import embedded_apiserver

HERE = Path(__file__).parent
SHIMS, TESTS = HERE / "shims", HERE.parents[1]
LONGEST = 1800
"""Seconds after which a suite is ended."""
_FAILED = ("failure", "error")


def suites() -> list[dict[str, Any]]:
    """Return the suites."""
    return list(tomllib.loads((HERE / "suites.toml").read_text())["suite"])


def exceptions(suite: str, *, real: bool = False) -> dict[str, str]:
    """Return the tests of a suite that fail, with the reasons; a name may end with `*`.

    Args:
        suite: The name of the suite.
        real: Those of a real server, in place of the embedded one.
    """
    listed = tomllib.loads((HERE / "exceptions.toml").read_text()).get(suite, {})
    groups = [group for group in listed.get("group", ()) if (group["real"] if real else group.get("here", True))]
    return {test: group["reason"] for group in groups for test in group["tests"]}


@contextlib.contextmanager
def served(has_node: bool = True) -> Iterator[Path]:
    """Serve a cluster inside the block, with a node on which pods run at once, and yield its kubeconfig.

    The commands of their containers run on this machine, as `kit.processes.containers` says.
    """
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(embedded_apiserver.run(environment=False, cluster_objects=True))
        if not has_node:
            yield server.kubeconfig
            return
        server.garbage_collection()
        server.programs.update(images(Path(stack.enter_context(tempfile.TemporaryDirectory()))))
        path = os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])
        command = [sys.executable, "-m", "kit.processes.pods_run", str(server.kubeconfig)]
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


def run(suite: Mapping[str, Any], kubeconfig: Path, logs: Path | None, expected: Sequence[str]) -> dict[str, str]:
    """Run a suite, and return what became of each test.

    If a test fails that is not expected to, those that failed are run again, since other clients' tests wait for fixed
    times that are short for a busy machine.
    """
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        at = fetched(suite, folder)
        log: IO[str] | int = subprocess.DEVNULL
        if logs is not None:
            logs.mkdir(parents=True, exist_ok=True)
            log = stack.enter_context((logs / f"{suite['name']}.txt").open("w"))
        options = ["-W", "ignore", "-m", "pytest", "-q", "-o", f"cache_dir={folder / 'cache'}", "-o", "addopts="]
        command = [sys.executable, *options, "--tb=short", *suite["arguments"]]
        environment = {**os.environ, "KUBECONFIG": str(kubeconfig), "PYTHONPATH": str(SHIMS)}

        def once(*more: str) -> dict[str, str]:
            report = folder / "report.xml"
            report.unlink(missing_ok=True)
            whole = [*command, f"--junitxml={report}", *more]
            with contextlib.suppress(subprocess.TimeoutExpired):
                subprocess.run(whole, cwd=at, env=environment, check=False, timeout=LONGEST, stdout=log)
            return outcomes(report) if report.exists() else {}

        found = once()
        unexpected = [test for test, state in found.items() if state in _FAILED and not _is_listed(test, expected)]
        again = once("--last-failed") if unexpected else {}
        return found | {test: "passed the second time" for test in unexpected if again.get(test) == "passed"}


def judged(found: Mapping[str, str], expected: Sequence[str]) -> list[str]:
    """Return the lines about tests whose outcome is not as listed."""
    lines = [] if found else ["no test ran"]
    for test, state in found.items():
        if state in _FAILED and not _is_listed(test, expected):
            lines.append(f"{state}: {test}")
        elif state == "passed" and test in expected:
            lines.append(f"passed, although it is listed as an exception: {test}")
    return lines


def _is_listed(test: str, expected: Sequence[str]) -> bool:
    return any(test == one or (one.endswith("*") and test.startswith(one[:-1])) for one in expected)


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
            expected = list(exceptions(suite["name"], real=kubeconfig is not None))
            found = run(suite, target, logs, expected)
            counts = Counter(found.values())
            lines = judged(found, expected)
            failed = failed or bool(lines)
            told = ", ".join(f"{counts[state]} {state}" for state in sorted(counts))
            click.echo(f"{suite['name']} {suite['tag']}: {told}" + "".join(f"\n  {line}" for line in lines))
    sys.exit(int(failed))


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""Runs the suites of controller-runtime for Go: `python tests/peers/suites/go.py [--kubeconfig FILE]`.

It needs a Go toolchain and the modules; without a toolchain it says so and ends with 0. `PEERS_SOURCES` names a
directory with a copy of the sources as `controller-runtime-go`. `--binaries DIR` runs test programs that were built
before, such as `DIR/client.test`. Each suite has a server of its own, with what every cluster has and without nodes.

The exit status is 1 if no spec of a suite ran, or one fails that exceptions.toml does not list, or passes although it
is listed.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

import click
from run import exceptions, judged, served

REPOSITORY, TAG = "https://github.com/kubernetes-sigs/controller-runtime", "v0.24.1"
PACKAGES = ("client", "cache", "controller", "manager")
NAME = "controller-runtime-go"
LONGEST = 900
"""Seconds after which a suite is ended."""
Ran: TypeAlias = tuple[str, dict[str, str]]
"""The counts of a suite, and what became of the specs that failed or are listed."""
_COUNTS = re.compile(r"Ran (\d+) of \d+ Specs.*?(\d+) Passed.*?(\d+) Failed", re.DOTALL)
_FAILED = re.compile(r"^\s*\[(?:FAIL|PANICKED!|TIMEDOUT)\] (.*)$", re.MULTILINE)
_ANSI = re.compile(r"\x1b\[[0-9;]*m")


def sources(folder: Path) -> Path:
    """Return a folder with the sources."""
    if "PEERS_SOURCES" in os.environ:
        return Path(os.environ["PEERS_SOURCES"]) / NAME
    subprocess.run(["git", "clone", "-q", "--depth", "1", "--branch", TAG, REPOSITORY, str(folder)], check=True)
    return folder


def run(package: str, source: Path, binaries: Path | None, kubeconfig: Path, expected: Sequence[str]) -> Ran:
    """Run the suite of a package."""
    at = source / "pkg" / package
    command = ["go", "test", "-count=1", "."] if binaries is None else [str(binaries.absolute() / f"{package}.test")]
    options = ["-args"] if binaries is None else []
    environment = {**os.environ, "KUBECONFIG": str(kubeconfig), "USE_EXISTING_CLUSTER": "true"}
    command += [*options, "--ginkgo.no-color"]
    with tempfile.TemporaryFile("w+") as log:
        with contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run(command, cwd=at, env=environment, stdout=log, stderr=log, check=False, timeout=LONGEST)
        log.seek(0)
        printed = _ANSI.sub("", log.read())
    counts = _COUNTS.search(printed)
    if counts is None:
        return f"no specs ran: {printed.strip()[-300:]}", {}
    passed = {spec: "passed" for spec in expected if spec.startswith(f"{package}::")}
    failed = {f"{package}::{spec}": "failure" for spec in _FAILED.findall(printed)}
    return f"{counts[2]} passed, {counts[3]} failed", {"ran": "", **passed, **failed}


@click.command()
@click.argument("packages", nargs=-1)
@click.option(
    "--kubeconfig", type=click.Path(path_type=Path, exists=True), help="A cluster in place of the embedded one."
)
@click.option("--binaries", type=click.Path(path_type=Path, exists=True), help="Test programs that were built before.")
def main(packages: tuple[str, ...], kubeconfig: Path | None, binaries: Path | None) -> None:
    """Run the suites of these packages, or all."""
    if binaries is None and shutil.which("go") is None:
        click.echo("controller-runtime for Go: skipped, there is no Go toolchain")
        return
    failed, expected = False, list(exceptions(NAME, real=kubeconfig is not None))
    with contextlib.ExitStack() as stack:
        source = sources(Path(stack.enter_context(tempfile.TemporaryDirectory())) / NAME)
        for package in packages or PACKAGES:
            with contextlib.ExitStack() as of_one:
                target = kubeconfig.absolute() if kubeconfig else of_one.enter_context(served(has_node=False))
                counts, found = run(package, source, binaries, target, expected)
            lines = judged(found, expected)
            failed = failed or bool(lines)
            click.echo(f"pkg/{package}: {counts}" + "".join(f"\n  {line}" for line in lines))
    sys.exit(int(failed))


if __name__ == "__main__":
    main()

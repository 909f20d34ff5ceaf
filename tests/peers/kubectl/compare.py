# SPDX-License-Identifier: Apache-2.0
"""Commands of kubectl on the embedded server, compared with what they print on a real one.

`python tests/peers/kubectl/compare.py` plays commands.txt and prints what differs from the record;
`--kubeconfig FILE --record` plays them on a real server of 1.36 (new, without controllers and without the plugin
`ServiceAccount`) and records what they print.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from controller_runtime import SystemHost
from controller_runtime.testing import APIServerProcess

HERE = Path(__file__).parent
RECORD = HERE / "kubectl-1.36.json.gz"
SERVER = ("--cluster-objects", "--disable-admission-plugins=ServiceAccount")
LONGEST = 30
"""Seconds after which a command is ended."""

# The values that differ from run to run, and their replacements.
_VARYING = (
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "TIME"),
    (r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}", "TIME"),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \+0000 UTC", "TIME"),
    (r"(Resource Version:) +\d+", r"\1 VERSION"),
    (r"debugger-\w{5}", "debugger-NAME"),
    (r"^eyJ[\w.-]+", "TOKEN"),
    (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "UID"),
    (r"(resourceVersion\"?: ?\"?)\d+", r"\1VERSION"),
    (r"https://127\.0\.0\.1:\d+", "SERVER"),
    (r"(Endpoints:|TargetPort:|targetPort:)( +)\S+", r"\1\2PORT"),
    (r"(?<![\w.:/-])(\d+d)?(\d+h)?(\d+m)?\d+m?s( ago)?(?![\w-])", "AGE"),
    (r"10\.0\.\d+\.\d+", "ADDRESS"),
    (r"\b3\d{4}\b", "NODEPORT"),
    (r"^[EWI]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ ", "LOG "),
    (r"/tmp/[^\s\"]+", "FILE"),
    (r"[ \t]+", " "),
)


def commands() -> list[str]:
    """Return the commands, in their order."""
    lines = (HERE / "commands.txt").read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def differences() -> dict[str, str]:
    """Return the commands that are known to print something else, with the reasons."""
    groups = tomllib.loads((HERE / "differences.toml").read_text()).get("group", ())
    return {command: group["reason"] for group in groups for command in group["commands"]}


def play(kubeconfig: Path) -> list[dict[str, Any]]:
    """Run all commands; return what each printed, without what varies."""
    return [{"command": command, **_played(command, kubeconfig)} for command in commands()]


def _played(command: str, kubeconfig: Path) -> dict[str, Any]:
    line, _, given = command.partition(" < ")
    words = line.split(" ") if "[" in line or "{" in line or "* *" in line else shlex.split(line)
    if "--schedule=0" in words:  # the one value with blanks
        place = words.index("--schedule=0")
        words[place:] = [" ".join(words[place:])]
    try:
        outcome = subprocess.run(
            ["kubectl", "--kubeconfig", str(kubeconfig), *words],
            input=given,
            capture_output=True,
            text=True,
            check=False,
            timeout=LONGEST,
            cwd=HERE,
        )
    except subprocess.TimeoutExpired:
        return {"status": "ended", "printed": []}
    printed = f"{outcome.stdout}\n{outcome.stderr}".strip().splitlines()
    return {"status": outcome.returncode, "printed": _comparable(printed)}


def _comparable(printed: list[str]) -> list[str]:
    """Return lines without what varies, and without those that a busy machine makes kubectl log."""
    return [_without_varying(line) for line in printed if "client-side throttling" not in line]


def _without_varying(line: str) -> str:
    for pattern, instead in _VARYING:
        line = re.sub(pattern, instead, line)
    return line.rstrip()


def differing(played: list[dict[str, Any]]) -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """Return the commands whose outcome is not as recorded, each with the recorded one and this one."""
    recorded = json.loads(gzip.decompress(RECORD.read_bytes()))
    assert [one["command"] for one in recorded] == commands(), "commands.txt has changed: record it again"
    for one in recorded:
        one["printed"] = _comparable(one["printed"])
    return {one["command"]: (real, one) for real, one in zip(recorded, played, strict=True) if real != one}


@contextlib.contextmanager
def served() -> Iterator[Path]:
    """Serve an embedded server inside the block that is comparable with the recorded one, and yield its kubeconfig."""
    with APIServerProcess(SystemHost(), *SERVER) as server:
        yield server.kubeconfig


@click.command()
@click.option("--kubeconfig", type=click.Path(path_type=Path, exists=True), help="Another server than an embedded one.")
@click.option("--record", is_flag=True, help="Write what the commands print to the record.")
@click.option("--show", is_flag=True, help="Print both outcomes of each command that differs.")
def main(kubeconfig: Path | None, record: bool, show: bool) -> None:
    """Play the commands."""
    with contextlib.ExitStack() as stack:
        played = play(kubeconfig.absolute() if kubeconfig else stack.enter_context(served()))
    if record:
        RECORD.write_bytes(gzip.compress(json.dumps(played, indent=0).encode(), 9, mtime=0))
        return
    known, found = differences(), differing(played)
    for command, (real, ours) in found.items():
        click.echo(f"{'known' if command in known else 'NEW'}: {command}")
        if show:
            for name, one in (("real", real), ("ours", ours)):
                click.echo("\n".join([f"  {name}: {one['status']}", *(f"    {line}" for line in one["printed"])]))
    click.echo(f"{len(played) - len(found)} of {len(played)} commands print the same, {len(found)} differ")
    sys.exit(int(found.keys() != known.keys()))


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""How a run obtained its figures: commit, machine, versions, load."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from importlib import metadata
from pathlib import Path

from apimachinery.http import HTTPRequest
from apimachinery.system import SystemHost
from benchmarks.figures import About
from controller_runtime.client.client import Client

_PEERS = ("kubernetes", "lightkube", "kr8s", "kopf", "msgspec")


def about(host: SystemHost, before: float, kubeconfig: Path | None, runs: int) -> About:
    """Return it at the end of a run, whose load at the begin was `before`."""
    arguments = ["FILE" if _is_path(word) else word for word in sys.argv[1:]]
    return About(
        when=host.now().date().isoformat(),
        commit=_commit(),
        command=" ".join(("python -m benchmarks", *arguments)),
        python=platform.python_version(),
        machine=f"{os.cpu_count()} cores of {_processor()}",
        packages=", ".join(f"{name} {version}" for name in _PEERS if (version := _version(name))),
        server="" if kubeconfig is None else f"Kubernetes {_release(host, kubeconfig)}",
        load=(before, os.getloadavg()[0]),
        runs=runs,
    )


def _is_path(word: str) -> bool:
    return "/" in word


def _commit() -> str:
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    return ended.stdout.strip() or "unknown"


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.partition(": ")[2] for line in lines if line.startswith("model name")), platform.machine())


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _release(host: SystemHost, kubeconfig: Path) -> str:
    client = Client.from_kubeconfig(kubeconfig)
    try:
        answer = client.transport.request(HTTPRequest("GET", "/version"), host.monotonic() + 10.0)
        return str(json.loads(answer.body)["gitVersion"]).removeprefix("v")
    finally:
        client.transport.close()

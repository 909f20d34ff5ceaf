# SPDX-License-Identifier: Apache-2.0
"""The Containerfile: it installs the server from a clone, and its entry point starts it as its documents say.

A container tool is not needed here: the instructions are read, and the entry point's options run in this process's
environment, without a right to write anywhere but in one folder.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from configparser import ConfigParser
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def instructions() -> list[tuple[str, str]]:
    """Return the instructions of the Containerfile: their names and what follows."""
    lines = (ROOT / "apiserver" / "Containerfile").read_text(encoding="utf-8").splitlines()
    return [(line.split(" ", 1)[0], line.split(" ", 1)[1]) for line in lines if line and not line.startswith("#")]


def values(name: str) -> list[str]:
    return [text for each, text in instructions() if each == name]


def test_it_installs_the_server_and_each_distribution_of_the_clone_that_the_server_requires() -> None:
    copied = {text.split()[0]: text.split()[1] for text in values("COPY") if not text.startswith("--from")}
    read = ConfigParser()
    names = set()
    for folder in copied:
        read.read(ROOT / folder / "setup.cfg", encoding="utf-8")
        names.add(read["metadata"]["name"])
    required = {line.split("==")[0] for line in read["options"]["install_requires"].splitlines() if "==" in line}

    assert read["metadata"]["name"] == "embedded-apiserver"
    assert required < names
    assert values("RUN")[1].split()[-len(copied) :] == list(copied.values())


def test_it_does_not_run_as_root() -> None:
    assert values("USER") == ["65532:65532"]


def test_its_entry_point_serves_and_writes_into_its_folder_alone(tmp_path: Path) -> None:
    command, *options = json.loads(values("ENTRYPOINT")[0])
    (tmp_path / "kube").mkdir()
    (tmp_path / "sealed").mkdir(mode=0o555)
    there = [text.replace("/kube", str(tmp_path / "kube")).replace("8443", "0") for text in options]
    environment = dict(text.split("=") for text in values("ENV")[0].split())
    environment["TMPDIR"] = str(tmp_path / "kube")

    process = subprocess.Popen(
        [sys.executable, "-m", "embedded_apiserver", "--exit-with-parent", *there],
        cwd=tmp_path / "sealed",
        env=environment | {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    said = process.stdout.readline().decode()
    process.communicate(timeout=100)

    assert command.endswith("/bin/embedded-apiserver")
    assert said.startswith("ready url=https://127.0.0.1:")
    assert [path.name for path in (tmp_path / "kube").iterdir()] == ["config"]
    assert not list((tmp_path / "sealed").iterdir())

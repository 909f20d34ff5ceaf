# SPDX-License-Identifier: Apache-2.0
"""The observer measures this machine as the tools of the system do, and reads files with known contents."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from apimachinery.system import SystemHost
from controllers.agent.machine import Machine
from controllers.agent.observer import MachineObserver
from controllers.agent.resolver import Resolver

LINUX = pytest.mark.skipif(platform.system() != "Linux", reason="the numbers are held against Linux' own")


def files(root: Path, contents: Mapping[str, str]) -> MachineObserver:
    """Return an observer of files with these contents, by their path."""
    for path, text in contents.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return MachineObserver(files=root)


def told(*command: str) -> list[str]:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


@pytest.fixture(scope="module")
def here() -> Machine:
    return MachineObserver(resolve=Resolver(SystemHost(), "localhost").addresses).observe()


@LINUX
def test_processors_memory_and_disk_are_those_of_the_machines_own_tools(here: Machine) -> None:
    meminfo = dict(re.findall(r"^(\w+):\s+(\d+) kB", Path("/proc/meminfo").read_text(), re.MULTILINE))
    size, inodes = told("df", "-B1", "--output=size,itotal", "/")[-2:]

    assert here.cores in (int(told("nproc", "--all")[0]), os.sysconf("SC_NPROCESSORS_ONLN"))  # all, or those online
    assert here.memory == int(meminfo["MemTotal"]) * 1024
    assert here.swap == int(meminfo["SwapTotal"]) * 1024
    assert here.disk == int(size)
    assert (here.inodes or 0) == int(inodes.replace("-", "0"))
    assert 0 < (here.memory_available or 0) <= here.memory
    assert 0 < (here.disk_available or 0) <= here.disk


@LINUX
def test_names_and_ids_are_those_of_the_machines_own_tools(here: Machine) -> None:
    assert here.kernel == told("uname", "-r")[0]
    assert here.system == told("uname", "-s")[0].lower()
    assert here.boot_id == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert here.tasks_limit == min(
        int(Path("/proc/sys/kernel/pid_max").read_text()), int(Path("/proc/sys/kernel/threads-max").read_text())
    )
    assert 0 < (here.tasks or 0) < here.tasks_limit
    assert {"127.0.0.1"} <= {*here.local} | {*here.resolved}


def test_files_are_read_as_they_are(tmp_path: Path) -> None:
    contents = {
        "proc/loadavg": "0.00 0.01 0.05 1/345 999\n",
        "proc/sys/kernel/pid_max": "4194304\n",
        "proc/sys/kernel/threads-max": "1000\n",
        "proc/meminfo": "MemTotal:       8 kB\nSwapTotal:       1024 kB\n",
        "etc/machine-id": "abc\n",
        "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages": "3\n",
    }

    machine = files(tmp_path, contents).observe()

    assert (machine.tasks, machine.tasks_limit) == (345, 1000)
    assert machine.machine_id == machine.system_uuid == "abc"
    assert machine.swap == 1024**2
    assert machine.huge_pages == {2048 * 1024: 3 * 2048 * 1024}


def test_the_hardware_has_a_name_of_its_own_where_it_may_be_read(tmp_path: Path) -> None:
    contents = {"proc/device-tree/vm,uuid": "d-e-f\0", "var/lib/dbus/machine-id": "abc\n"}

    machine = files(tmp_path, contents).observe()

    assert (machine.machine_id, machine.system_uuid) == ("abc", "d-e-f")


@pytest.mark.parametrize(
    ("path", "text", "image"),
    [
        pytest.param("etc/os-release", "PRETTY_NAME=Plain\n", "Plain", id="without quotes"),
        pytest.param("usr/lib/os-release", "PRETTY_NAME='Fallback 2'\n", "Fallback 2", id="in its other place"),
        pytest.param("etc/os-release", "NAME=x\n", "Linux", id="without a name for people"),
        pytest.param("etc/nothing", "", None, id="not there"),
    ],
)
def test_the_name_of_the_system_is_read(tmp_path: Path, path: str, text: str, image: str | None) -> None:
    assert files(tmp_path, {path: text}).observe().os_image == image


def test_without_the_kernels_files_what_they_tell_is_not_known(tmp_path: Path) -> None:
    machine = MachineObserver(files=tmp_path / "none", folder=str(tmp_path / "none")).observe()

    assert {"tasks", "tasks limit", "swap", "huge pages", "os image", "machine id", "system uuid", "boot id", "disk",
            "disk available", "inodes", "inodes available"} == {*machine.unknown()}  # fmt: skip
    assert machine.resolved == ()
    assert machine.cores
    assert machine.memory


def test_what_is_no_number_is_not_known(tmp_path: Path) -> None:
    machine = files(tmp_path, {"proc/loadavg": "nonsense", "proc/meminfo": "SwapTotal: many kB"}).observe()

    assert (machine.tasks, machine.swap) == (None, None)

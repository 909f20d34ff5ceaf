# SPDX-License-Identifier: Apache-2.0
"""Measures the machine that this process runs on, by psutil and the files of the kernel.

Nothing here asks which system it is: where a file or a call does not exist, its attribute is None.
"""

from __future__ import annotations

import os
import platform
import re
import socket
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from controllers.agent.machine import ARCHITECTURES, Machine

T = TypeVar("T")

_PRETTY_NAME = re.compile(r"""^PRETTY_NAME=(["']?)(.*)\1\s*$""", re.MULTILINE)
_HUGE_PAGES = re.compile(r"hugepages-(\d+)kB")
_ELSEWHERE = ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1"))
"""Addresses reserved for documentation, which only a default route leads to."""
_ANY_PORT = 9


class MachineObserver:
    """Measures the machine on which this process runs.

    Args:
        folder: A folder on the file system whose space is measured.
        resolve: Returns the addresses to which the node's name resolves; called by each `observe`.
        files: The root folder of the kernel's and system's files; in tests another folder.

    Threads: any.
    """

    def __init__(
        self, *, folder: str = "/", resolve: Callable[[], Sequence[str]] = tuple, files: Path = Path("/")
    ) -> None:
        self._folder = folder
        self._resolve = resolve
        self._files = files

    def observe(self) -> Machine:
        """Measure the machine, and return the result; attributes that cannot be measured are None."""
        import psutil  # imported here, because it takes 4 MiB that only an agent needs

        disk = _or_none(lambda: os.statvfs(self._folder))
        memory = _or_none(psutil.virtual_memory)
        tasks = self._integers("proc/loadavg", r"/(\d+)")
        limits = [*self._integers("proc/sys/kernel/pid_max"), *self._integers("proc/sys/kernel/threads-max")]
        swap = self._integers("proc/meminfo", r"^SwapTotal:\s+(\d+) kB")
        machine_id = self._first("etc/machine-id", "var/lib/dbus/machine-id")
        return Machine(
            system=platform.system().lower(),
            architecture=ARCHITECTURES.get(platform.machine(), platform.machine()),
            cores=_or_none(psutil.cpu_count),
            memory=memory.total if memory else None,
            memory_available=memory.available if memory else None,
            swap=swap[0] * 1024 if swap else None,
            disk=disk.f_blocks * disk.f_frsize if disk else None,
            disk_available=disk.f_bavail * disk.f_frsize if disk else None,
            inodes=(disk.f_files or None) if disk else None,
            inodes_available=disk.f_ffree if disk and disk.f_files else None,
            tasks=tasks[0] if tasks else None,
            tasks_limit=min(limits) if limits else None,
            huge_pages=_or_none(self._huge_pages),
            kernel=platform.release() or None,
            os_image=self._os_image(),
            machine_id=machine_id,
            system_uuid=self._first(
                "sys/class/dmi/id/product_uuid", "proc/device-tree/system-id", "proc/device-tree/vm,uuid"
            )
            or machine_id,
            boot_id=self._first("proc/sys/kernel/random/boot_id"),
            resolved=self._resolve(),
            local=_or_none(lambda: [a.address for each in psutil.net_if_addrs().values() for a in each]) or (),
            routed=[address for elsewhere in _ELSEWHERE if (address := _or_none(partial(_source, *elsewhere)))],
        )

    def _text(self, path: str) -> str:
        """Return the content of a file; empty if it cannot be read."""
        return _or_none(lambda: (self._files / path).read_text(encoding="utf-8", errors="replace").strip("\0\n ")) or ""

    def _first(self, *paths: str) -> str | None:
        """Return the content of the first of the files that is not empty; None if all are."""
        return next((text for path in paths if (text := self._text(path))), None)

    def _integers(self, path: str, pattern: str = r"^(\d+)$") -> list[int]:
        """Return the integers that `pattern` finds in a file; empty if it cannot be read."""
        return [int(number) for number in re.findall(pattern, self._text(path), re.MULTILINE)]

    def _huge_pages(self) -> dict[int, int]:
        pages = {}
        for folder in sorted((self._files / "sys/kernel/mm/hugepages").iterdir()):
            if match := _HUGE_PAGES.fullmatch(folder.name):
                size = int(match[1]) * 1024
                pages[size] = size * int((folder / "nr_hugepages").read_text(encoding="ascii"))
        return pages

    def _os_image(self) -> str | None:
        text = self._first("etc/os-release", "usr/lib/os-release")
        if text is None:
            return None
        match = _PRETTY_NAME.search(text)
        return match[2] if match else "Linux"


def _source(family: socket.AddressFamily, to: str) -> str:
    """Return the source address that this machine would use towards `to`. Connecting by UDP sends nothing."""
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.connect((to, _ANY_PORT))
        return str(probe.getsockname()[0])


def _or_none(ask: Callable[[], T]) -> T | None:
    """Return what `ask` returns; None if this system does not report it."""
    try:
        return ask()
    except (OSError, ValueError, NotImplementedError):  # no such file, format, or call on this system
        return None

# SPDX-License-Identifier: Apache-2.0
"""A machine as a value: what a node agent measured at one moment. `controllers.agent.observer` measures it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import attrs

from apimachinery.errors import ControllerRuntimeError

ARCHITECTURES: Mapping[str, str] = {
    "x86_64": "amd64",
    "AMD64": "amd64",
    "aarch64": "arm64",
    "armv6l": "arm",
    "armv7l": "arm",
    "i386": "386",
    "i686": "386",
}
"""Names of architectures in Go, which the API uses, by the kernel's name; those that are equal are left out."""


class NotObserved(ControllerRuntimeError):
    """Raised if a part of the status could not be measured; that part of the status is not changed."""


@attrs.frozen(kw_only=True)
class Machine:
    """Measurements of a machine at one moment. An attribute is None if it could not be measured.

    Attributes:
        system: Operating system by its name in Go, such as `linux`.
        architecture: Architecture by its name in Go, such as `amd64`.
        cores: Number of logical processors that are online.
        memory: Total memory in bytes.
        memory_available: Bytes that programs could allocate without swapping.
        swap: Total swap in bytes.
        disk: Size of the measured file system in bytes.
        disk_available: Bytes of it that unprivileged users may write.
        inodes: Number of inodes of that file system; None also if it has no fixed number of them.
        inodes_available: Number of inodes that are free.
        tasks: Number of processes and threads that exist.
        tasks_limit: The most processes and threads that can exist.
        huge_pages: Bytes set aside for huge pages, by the size of a page in bytes.
        kernel: Release of the kernel.
        os_image: Name of the operating system, for people.
        machine_id: Identifies the installation.
        system_uuid: Identifies the hardware.
        boot_id: Changes with each boot.
        resolved: Addresses to which the node's name resolves, in the resolver's order.
        local: Addresses of this machine's interfaces.
        routed: Source addresses towards other networks: one for each family that has a default route.
    """

    system: str
    architecture: str
    cores: int | None = None
    memory: int | None = None
    memory_available: int | None = None
    swap: int | None = None
    disk: int | None = None
    disk_available: int | None = None
    inodes: int | None = None
    inodes_available: int | None = None
    tasks: int | None = None
    tasks_limit: int | None = None
    huge_pages: Mapping[int, int] | None = None
    kernel: str | None = None
    os_image: str | None = None
    machine_id: str | None = None
    system_uuid: str | None = None
    boot_id: str | None = None
    resolved: Sequence[str] = ()
    local: Sequence[str] = ()
    routed: Sequence[str] = ()

    def unknown(self) -> list[str]:
        """Return the names of the attributes that are None, with spaces instead of underscores."""
        return [name.replace("_", " ") for name, value in attrs.asdict(self, recurse=False).items() if value is None]


class Observer(Protocol):
    """Measures a machine."""

    def observe(self) -> Machine:
        """Measure the machine, and return the result.

        An attribute that cannot be measured is None. The call may block as long as a disk or a resolver does.
        """

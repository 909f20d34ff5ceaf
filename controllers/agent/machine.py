# SPDX-License-Identifier: Apache-2.0
"""What a node agent sees of its machine at one moment, as a value. How it is seen: `controllers.agent.observer`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import attrs

from controller_runtime.core.errors import ControllerRuntimeError

ARCHITECTURES: Mapping[str, str] = {
    "x86_64": "amd64",
    "AMD64": "amd64",
    "aarch64": "arm64",
    "armv6l": "arm",
    "armv7l": "arm",
    "i386": "386",
    "i686": "386",
}
"""Go's names, which the API uses, by the kernel's where the two differ."""


class NotObserved(ControllerRuntimeError):
    """A part of the status cannot be told; it stays as it was."""


@attrs.frozen(kw_only=True)
class Machine:
    """A machine. None is what could not be told, on this system or just now.

    Attributes:
        system: Operating system by Go's name, such as `linux`.
        architecture: By Go's name, such as `amd64`.
        cores: Logical processors that are online.
        memory: Bytes, all of it.
        memory_available: Bytes that programs could have without swapping.
        swap: Bytes, all of it.
        disk: Bytes of the agent's file system.
        disk_available: Bytes that are free to unprivileged users.
        inodes: Of the same file system; None also where it has no fixed number of them.
        inodes_available: Those that are free.
        tasks: Processes and threads that exist.
        tasks_limit: How many there can be.
        huge_pages: Bytes set aside, by the size of a page in bytes.
        kernel: Its release.
        os_image: The system's name, for people.
        machine_id: Stays with the installation.
        system_uuid: Stays with the hardware.
        boot_id: Changes with each boot.
        resolved: What the node's name resolves to, in the resolver's order.
        local: The addresses of this machine's interfaces.
        routed: Its address on the way to everywhere else: one for each family that has a default route.
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
        """What could not be told, by name."""
        return [name.replace("_", " ") for name, value in attrs.asdict(self, recurse=False).items() if value is None]


class Observer(Protocol):
    """Looks at a machine."""

    def observe(self) -> Machine:
        """The machine now. It never raises for what it cannot tell; it may take as long as a disk or a resolver."""

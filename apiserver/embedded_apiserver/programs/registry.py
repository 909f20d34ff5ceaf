# SPDX-License-Identifier: Apache-2.0
"""The programs of a server by the name of their container or image, and the logs of containers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from types import MappingProxyType
from typing import Any

import attrs

from apimachinery.errors import UsageError
from apimachinery.host import Host
from apimachinery.plain_functions import plain
from embedded_apiserver.groups.pods.all_containers import all_containers
from embedded_apiserver.groups.pods.kinds import POD
from embedded_apiserver.objects import part
from embedded_apiserver.programs.logs import Logs
from embedded_apiserver.programs.process import Process
from embedded_apiserver.storage.storage import Storage
from embedded_apiserver.storage.stored import key_of

Function = Callable[[Process], int | None]
"""Runs a process, and returns its exit status; None is 0."""


@attrs.frozen
class Program:
    """The functions of a program that runs in place of a container.

    Attributes:
        run: The function for the command of an exec.
        main: The function for an attach; None to use `run` with the container's own command.
        ports: The functions for connections to ports, by port number. The two directions are `stdin` and `stdout` of
            the process. Connections to other ports are refused.
    """

    run: Function
    main: Function | None = None
    ports: Mapping[int, Function] = MappingProxyType({})

    def __attrs_post_init__(self) -> None:
        for what, function in (("run", self.run), ("main", self.main), *self.ports.items()):
            plain(f"{what} of a program", function)


class Programs(MutableMapping[str, Program]):
    """The programs by the name of a container or an image, such as `db`, `postgres:17` or `postgres`.

    The program for a container is found by the name of the container, then by its image with the tag, then without the
    tag. A new program applies to later commands.

    Args:
        host: The source of time and locks.
        storage: The objects, including the pods.

    Threads: any.
    """

    def __init__(self, host: Host, storage: Storage) -> None:
        self._storage = storage
        self.logs = Logs(host)
        # Replaced as a whole, so that any thread may read it.
        self._programs: Mapping[str, Program] = {}

    def __getitem__(self, name: str) -> Program:
        return self._programs[name]

    def __setitem__(self, name: str, program: Program | Function) -> None:
        if not isinstance(program, Program) and not callable(program):
            raise UsageError(f"the program of {name} is {program!r}: give a function of a Process, or a Program")
        self._programs = {**self._programs, name: program if isinstance(program, Program) else Program(program)}

    def __delitem__(self, name: str) -> None:
        left = dict(self._programs)
        del left[name]
        self._programs = left

    def __iter__(self) -> Iterator[str]:
        return iter(self._programs)

    def __len__(self) -> int:
        return len(self._programs)

    def of(self, container: Mapping[str, Any]) -> Program | None:
        """Return the program for a container; None if there is none."""
        image = str(container.get("image") or "")
        untagged = image.partition("@")[0]
        head, _, last = untagged.rpartition("/")
        untagged = f"{head}/" * bool(head) + last.partition(":")[0]
        for name in (container["name"], image, untagged):
            if (found := self._programs.get(name)) is not None:
                return found
        return None

    def log(self, pod: str, text: str, *, namespace: str = "default", container: str = "") -> None:
        """Append lines to the log of a container, with the current time.

        Args:
            pod: The name of the pod.
            text: The lines.
            namespace: The namespace of the pod.
            container: The name of the container; empty for the pod's first one.

        Raises:
            UsageError: The pod does not exist, or does not have that container.
        """
        found = self._storage.get(POD.resource, key_of(namespace, pod))
        if found is None:
            raise UsageError(f"there is no pod {namespace}/{pod}: create it before its log")
        stored = found.decode()
        spec = part(stored, "spec")
        names = [one["name"] for one in all_containers(spec)]
        wanted = container or spec["containers"][0]["name"]
        if wanted not in names:
            raise UsageError(f"pod {namespace}/{pod} has no container {wanted!r}: there is {', '.join(names)}")
        self.logs.write(stored, wanted, text)

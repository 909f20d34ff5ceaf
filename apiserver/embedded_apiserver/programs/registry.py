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
    """The functions of one program.

    Attributes:
        run: Carries out the command of an exec.
        main: Serves a client that attaches itself to the container; None for `run`, with the container's own command.
        ports: Serve the connections to ports, by port: `stdin` and `stdout` of the process are the two directions. A
            connection to another port is refused.
    """

    run: Function
    main: Function | None = None
    ports: Mapping[int, Function] = MappingProxyType({})

    def __attrs_post_init__(self) -> None:
        for what, function in (("run", self.run), ("main", self.main), *self.ports.items()):
            plain(f"{what} of a program", function)


class Programs(MutableMapping[str, Program]):
    """The programs by container or image, such as `db`, `postgres:17` or `postgres`.

    The name of the container counts first, then its image, with and without the tag. A program that is set later holds
    for later commands.

    Args:
        host: The clock and the lock.
        storage: Has the pods.

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
        """Return the program of a container, or None."""
        image = str(container.get("image") or "")
        untagged = image.partition("@")[0]
        head, _, last = untagged.rpartition("/")
        untagged = f"{head}/" * bool(head) + last.partition(":")[0]
        for name in (container["name"], image, untagged):
            if (found := self._programs.get(name)) is not None:
                return found
        return None

    def log(self, pod: str, text: str, *, namespace: str = "default", container: str = "") -> None:
        """Write lines to the log of a container, with the present time.

        Args:
            pod: The name of the pod.
            text: The lines.
            namespace: The pod's namespace.
            container: The container; empty for the pod's first one.

        Raises:
            UsageError: There is no such pod, or it has no such container.
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

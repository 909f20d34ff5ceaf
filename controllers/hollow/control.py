# SPDX-License-Identifier: Apache-2.0
"""Commands to running hollow nodes, by a Unix socket in a folder that only the user can enter.

A command is one line of JSON, and so is its answer.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import stat
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs

from apimachinery.errors import ControllerRuntimeError, UsageError
from apimachinery.log import get_logger
from apimachinery.stop import Stop
from controller_runtime.api.resources import NODES
from controller_runtime.manager.lifecycle import Runnable
from controller_runtime.manager.manager import Manager
from controllers.hollow.nodes import HollowNodes
from controllers.hollow.pod_maker import PodMaker
from controllers.hollow.pods import HollowPods
from controllers.hollow.selection import Selection

log = get_logger(__name__)

TIMEOUT = 5.0
"""Seconds for which one side waits for the other."""
_LINE_LIMIT = 1 << 20  # bytes; thousands of names fit


def control_folder() -> Path:
    """Return the folder of the control sockets, which only the user can access; create it if it does not exist.

    Raises:
        UsageError: The path is not a folder, or other users can access it.
    """
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    folder = Path(runtime) / "controllers" if os.access(runtime, os.W_OK) else None
    folder = folder or Path(tempfile.gettempdir()) / f"controllers-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise UsageError(f"{folder} is not a folder of yours alone (mode 0700): remove it, or give --control a path")
    return folder


class HollowControl:
    """Listens for commands on a socket, and executes them on `nodes`; a runnable, and a context manager that removes
    the socket.

    Args:
        nodes: The nodes to kill, pause and revive.
        path: Path of the socket; None for one named after this process in `control_folder`.

    Raises:
        UsageError: No socket can be created at `path`.

    Threads: `run` on its own thread.
    """

    name = "hollow-nodes/control"

    def __init__(self, nodes: HollowNodes, path: Path | None = None) -> None:
        self._commands: Mapping[str, Callable[[Selection], list[str]]] = {
            "kill": nodes.kill,
            "pause": nodes.pause,
            "revive": nodes.revive,
        }
        self.path = control_folder() / f"hollow-nodes-{os.getpid()}.sock" if path is None else path.absolute()
        self._listener = socket.socket(socket.AF_UNIX)
        try:
            _remove_if_dead(self.path)
            self._listener.bind(str(self.path))
            self.path.chmod(0o600)
            self._listener.listen()
        except OSError as error:
            self._listener.close()
            raise UsageError(
                f"cannot create the control socket {self.path} ({error}): give another path by --control"
            ) from error

    def run(self, stop: Stop) -> None:
        """Execute commands, one at a time, until `stop` is set."""
        # Closing the socket would not end an `accept` that waits; a shutdown does.
        forget = stop.on_set(lambda: self._listener.shutdown(socket.SHUT_RDWR))
        while not stop.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:  # the stop shut the socket down, or the process has too many files open
                stop.wait(1.0)  # so that the latter does not keep a processor busy
                continue
            with connection, contextlib.suppress(OSError):  # the other side may have closed the connection
                connection.settimeout(TIMEOUT)
                connection.sendall(_line(self._carry_out(_read_line(connection))))
        forget()

    def _carry_out(self, line: bytes) -> dict[str, Any]:
        """Carry out the command in `line`, and return its answer: the names of the nodes it changed, or an error."""
        try:
            asked = json.loads(line)
            which = Selection(
                asked.get("names", ()), asked.get("zone", ""), asked.get("random", 0), asked.get("rack", "")
            )
            return {"nodes": self._commands[asked["do"]](which)}
        except ControllerRuntimeError as error:
            return {"error": str(error)}
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            return {"error": f"not a command: {error}"}

    def __enter__(self) -> HollowControl:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()
        self.path.unlink(missing_ok=True)


def add_hollow_nodes(
    manager: Manager,
    count: int,
    stack: contextlib.ExitStack,
    *,
    pods: int = 0,
    toleration_seconds: int | None = None,
    workers: int | None = None,
    path: Path | None = None,
    kubelet: Callable[[Manager, Callable[[str], bool]], Runnable] = HollowPods,
) -> None:
    """Add hollow nodes to `manager`, with a kubelet for pods that are bound to them, and a control socket.

    Args:
        manager: The manager, on whose cluster the nodes are registered.
        count: Number of nodes.
        stack: Gets the cleanup of the control socket.
        pods: Number of pods to create on them.
        toleration_seconds: Seconds for which these pods stay on a node that is not ready or not reachable; None for the
            API server's default.
        workers: The most requests at the same time; None for the default of `HollowNodes`.
        path: Path of the control socket; None for one named after this process.
        kubelet: Makes the runnable that simulates pods, from the manager and a function that returns whether a node's
            kubelet runs.
    """
    options = {} if workers is None else {"workers": workers}
    nodes = HollowNodes(manager.host, manager.client, count, nodes=manager.informer(NODES), **options)
    control = stack.enter_context(HollowControl(nodes, path))
    manager.add(nodes)
    manager.add(kubelet(manager, nodes.is_running))
    if pods:
        manager.add(PodMaker(manager.host, manager.client, pods, count, toleration_seconds=toleration_seconds))
    manager.add(control)
    log.info("hollow nodes can be killed, paused and revived", control=control.path)


def command(do: str, which: Selection, path: Path | None = None) -> list[str]:
    """Kill, pause or revive hollow nodes of another process; return the names of those that changed.

    Args:
        do: `kill`, `pause` or `revive`.
        which: The nodes.
        path: Control socket of the other process; None to find it, if only one process of this user has one.

    Raises:
        UsageError: There is no such process or more than one, or there is no such node.
        ControllerRuntimeError: The process does not answer.
    """
    asked = {"do": do, **attrs.asdict(which)}
    with _connected(path) as connection:
        try:
            connection.sendall(_line(asked))
            answer = json.loads(_read_line(connection))
        except (OSError, ValueError) as error:
            raise ControllerRuntimeError(f"the hollow nodes do not answer ({error})") from error
    if "error" in answer:
        raise UsageError(str(answer["error"]))
    return list(answer["nodes"])


@contextlib.contextmanager
def _connected(path: Path | None) -> Iterator[socket.socket]:
    """Connect to the socket at `path`, or to the only live one in `control_folder`.

    Raises:
        UsageError: No process listens, or more than one does.
    """
    found = [path] if path is not None else sorted(control_folder().glob("hollow-nodes-*.sock"))
    with contextlib.ExitStack() as stack:
        live = []
        for each in found:
            connection = stack.enter_context(socket.socket(socket.AF_UNIX))
            connection.settimeout(TIMEOUT)
            with contextlib.suppress(OSError):
                connection.connect(str(each))
                live.append((each, connection))
        if not live:
            where = f"at {path}" if path else "here"
            raise UsageError(f"no hollow nodes run {where}: start some with `controllers hollow-nodes --count N`")
        if len(live) > 1:
            paths = ", ".join(str(each) for each, _ in live)
            raise UsageError(f"several processes run hollow nodes: name one with --control, one of {paths}")
        yield live[0][1]


def _remove_if_dead(path: Path) -> None:
    """Remove the socket at `path` if no process listens on it any more, as after a crash."""
    with socket.socket(socket.AF_UNIX) as probe, contextlib.suppress(FileNotFoundError):
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()


def _line(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value).encode() + b"\n"


def _read_line(connection: socket.socket) -> bytes:
    """Read one line, newline included.

    Raises:
        OSError: The other side closed the connection or sent nothing for `TIMEOUT` seconds, or the line is too long.
    """
    line = b""
    while not line.endswith(b"\n"):
        more = connection.recv(65536)
        if not more or len(line) > _LINE_LIMIT:
            raise OSError("cut off")
        line += more
    return line

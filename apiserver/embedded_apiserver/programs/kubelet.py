# SPDX-License-Identifier: Apache-2.0
"""A simulated kubelet: it runs the programs of containers for clients that connect, and ends them with their pods."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from apimachinery.host import Host
from apimachinery.http import HTTPRequest, HTTPResponse, Upgraded, Watch
from apimachinery.log import get_logger
from apimachinery.plain_functions import called
from embedded_apiserver.groups.pods.all_containers import all_containers
from embedded_apiserver.groups.pods.kinds import POD
from embedded_apiserver.objects import Object, part
from embedded_apiserver.options import Query, is_true, query_of
from embedded_apiserver.programs import commands, ports, tunnel
from embedded_apiserver.programs.asked import agreed, log_query, offered, ports_of
from embedded_apiserver.programs.environment import environment_of
from embedded_apiserver.programs.link import Link
from embedded_apiserver.programs.process import Inlet, Killed, Life, Output, Process
from embedded_apiserver.programs.registry import Function, Program, Programs
from embedded_apiserver.status import bad_request, untyped
from embedded_apiserver.storage.settling import Settling
from embedded_apiserver.storage.storage import Cursor, Storage

log = get_logger(__name__)

_ENDED = ("Succeeded", "Failed")
_BATCH = 256
_BUG = 1
"""The exit status of a program that raises."""


class Kubelet:
    """A simulated kubelet: it serves logs of containers with a program or a log, and exec and ports of those with one.

    Args:
        host: The host that runs the programs, each on its own thread.
        storage: The objects, including the pods.

    Attributes:
        programs: The programs by container or image.

    Threads: any.
    """

    def __init__(self, host: Host, storage: Storage) -> None:
        self.programs = Programs(host, storage)
        self._host, self._storage = host, storage
        # Guards the processes that run, by the uid of their pod, and the cursor.
        self._lock = host.lock("kubelet")
        self._lives: dict[str, dict[Life, None]] = {}
        self._cursor: Cursor | None = None
        self._is_closed = False
        self._settling = Settling(host, "ends of pods", self._note_ends)

    def log(
        self, pod: Object, container: str, query: Query, on_ready: Callable[[], None] | None
    ) -> HTTPResponse | Watch | None:
        """Return the log of a container; None if it has neither a program nor a log.

        Raises:
            StatusError: 400, the previous log was requested, and there is none.
        """
        asked = log_query(query, self._host.now())
        logs, has_program = self.programs.logs, self.programs.of(_named(pod, container)) is not None
        if asked.previous and not logs.has(pod, container, previous=True):
            if not has_program and not logs.has(pod, container):
                return None
            name = pod["metadata"]["name"]
            raise bad_request(f'previous terminated container "{container}" in pod "{name}" not found')
        if not has_program and not logs.has(pod, container):
            return None
        ends = asked.previous or part(pod, "status").get("phase") in _ENDED
        if asked.follow and on_ready is not None and not ends:
            self._watch_pods()
            return logs.follow(pod, container, asked, on_ready)
        return HTTPResponse(200, {"content-type": "text/plain; charset=utf-8"}, logs.read(pod, container, asked))

    def command(
        self, pod: Object, container: str, request: HTTPRequest, on_ready: Callable[[], None] | None, *, attach: bool
    ) -> Upgraded | None:
        """Start the command of an exec or attach and return its connection; None if the container has no program.

        Raises:
            StatusError: The container is not running, or the request is invalid.
        """
        spec = _named(pod, container)
        program = self.programs.of(spec)
        if program is None:
            return None
        _check_running(pod, container)
        streams = _streams(request)
        if not any(streams[:3]):
            raise bad_request("you must specify at least 1 of stdin, stdout, stderr")
        protocol, told = agreed(request, commands.PROTOCOLS, on_ready)
        link = commands.CommandLink(self._host, protocol, streams, told)
        args = tuple(value for name, value in request.query if name == "command")
        if attach:
            args = (*(spec.get("command") or ()), *(spec.get("args") or ()))
        stdout, stderr = link.output(is_error=False), link.output(is_error=True)
        process = self._process(pod, container, link, link.life, link.inlet, stdout, stderr)
        process.args, process.is_attached, process.tty = args, attach, streams.tty
        link.resized = partial(setattr, process, "size")
        self._start(pod, (program.main or program.run) if attach else program.run, process, link.life, link.exited)
        return link

    def refused(self, request: HTTPRequest, on_ready: Callable[[], None], why: str) -> Upgraded | None:
        """Return a connection that reports the error `why` for a command that no kubelet runs.

        None if the client does not offer v5: with v5, a real API server accepts the connection before it connects to
        the kubelet; with older subprotocols it does not.
        """
        if commands.PROTOCOLS[0] not in offered(request):
            return None
        link = commands.CommandLink(self._host, commands.PROTOCOLS[0], _streams(request), on_ready)
        link.failed(f"error sending request: {why}")
        return link

    def ports(self, pod: Object, request: HTTPRequest, on_ready: Callable[[], None] | None) -> Upgraded | None:
        """Return a connection that carries a client's data to ports that programs of the pod's containers serve.

        Returns:
            The connection; None if no container of the pod has a program.

        Raises:
            StatusError: The pod is not running, or the request is invalid.
        """
        found = [(one["name"], self.programs.of(one)) for one in all_containers(part(pod, "spec"))]
        programs = [(name, program) for name, program in found if program is not None]
        if not programs:
            return None
        if part(pod, "status").get("phase") != "Running":
            raise untyped(f"unable to forward port because pod is not running. Current status={_phase(pod)}")
        protocol, told = agreed(request, (tunnel.PROTOCOL, *ports.PROTOCOLS), on_ready)
        if protocol == tunnel.PROTOCOL:
            return tunnel.Tunnel(self._host, told, partial(self._connect, pod, programs))
        wanted = [number for name, text in request.query if name == "ports" for number in ports_of(text)]
        if not wanted:
            raise bad_request('query parameter "port" is required')
        link = ports.PortLink(self._host, protocol, wanted, told)
        for index, port in enumerate(wanted):
            life, inlet = link.ends[index]
            ended = partial(link.ended, index)
            self._connect(pod, programs, link, port, life, inlet, link.putter(index), ended)
        return link

    def close(self) -> None:
        """End all processes and logs. Idempotent."""
        with self._lock:
            self._is_closed = True
            lives = [life for each in self._lives.values() for life in each]
            cursor, self._cursor = self._cursor, None
        if cursor is not None:
            cursor.close()
        for life in lives:
            life.kill()
        for uid in self.programs.logs.pods:
            self.programs.logs.end(uid, forget=False)

    def _connect(
        self,
        pod: Object,
        programs: Sequence[tuple[str, Program]],
        link: Link,
        port: int,
        life: Life,
        inlet: Inlet,
        put: Callable[[bytes], None],
        ended: Callable[[str], None],
    ) -> None:
        """Run the function of a port, and call `ended` with its error, empty for none."""
        name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]
        place = f"error forwarding port {port} to pod {name}, uid {uid}"
        for container, program in programs:
            if (function := program.ports.get(port)) is not None:
                stdout = Output(put, life)
                process = self._process(pod, container, link, life, inlet, stdout, stdout)
                process.port = port
                self._start(
                    pod, function, process, life, lambda code: ended(f"{place}: exit status {code}" if code else "")
                )
                return
        ended(f"{place}: failed to connect to localhost:{port}: connection refused")

    def _process(
        self, pod: Object, container: str, link: Link, life: Life, inlet: Inlet, stdout: Output, stderr: Output
    ) -> Process:
        env = environment_of(self._storage, pod, _named(pod, container))
        write = partial(self.programs.logs.write, pod, container)
        stdin = io.BufferedReader(inlet)
        return Process(
            (), env, pod, container, None, False, False, stdin, stdout, stderr, self._host, life, link, write
        )

    def _start(
        self, pod: Object, function: Function, process: Process, life: Life, ended: Callable[[int], None]
    ) -> None:
        uid, name = pod["metadata"]["uid"], pod["metadata"]["name"]
        self._watch_pods()
        with self._lock:
            is_late = self._is_closed
            self._lives.setdefault(uid, {})[life] = None
        if is_late:
            life.kill()

        def run() -> None:
            code = _carried_out(function, process)
            with self._lock:
                lives = self._lives.get(uid, {})
                lives.pop(life, None)
                if not lives:
                    self._lives.pop(uid, None)
            ended(code if life.status is None else life.status)

        self._host.spawn(f"program {name}/{process.container}", run, daemon=True)

    def _watch_pods(self) -> None:
        """Begin to note the ends of pods."""
        with self._lock:
            if self._cursor is None and not self._is_closed:
                self._cursor = self._storage.follow(POD.resource, self._storage.version, self._settling.settle)
        self._settling.settle()  # a cursor announces changes only to a reader that has taken all

    def _note_ends(self) -> None:
        """End the processes and the logs of pods that are gone or have ended."""
        cursor = self._cursor  # one reference, so whole without the lock
        while cursor is not None and (batch := cursor.take(_BATCH)) is not None and batch.changes:
            for change in batch.changes:
                shown = change.new or change.old
                if shown is not None and self._has_any:
                    pod = shown.decode()
                    if change.new is None or _phase(pod) in _ENDED:
                        self._end(pod["metadata"]["uid"], is_gone=change.new is None)

    @property
    def _has_any(self) -> bool:
        with self._lock:
            return bool(self._lives) or bool(self.programs.logs.pods)

    def _end(self, uid: str, *, is_gone: bool) -> None:
        with self._lock:
            lives = [*self._lives.get(uid, ())]
        for life in lives:
            life.kill()
        self.programs.logs.end(uid, forget=is_gone)


def _carried_out(function: Function, process: Process) -> int:
    """Call the function of a program, and return its exit status; a bug in it is logged, and told as its error."""
    try:
        result = called("program", function, process)
        if result is not None and not isinstance(result, int):
            raise TypeError(f"a program returns its exit status, not {result!r}")
        return int(result or 0)
    except Killed:
        return _BUG
    except Exception as error:  # the thread of a program ends here
        log.exception("program failed", container=process.container, args=process.args)
        try:
            process.stderr.write(f"{type(error).__name__}: {error}\n")
        except Killed:
            return _BUG
        return _BUG


def _named(pod: Object, container: str) -> Mapping[str, Any]:
    return next(one for one in all_containers(part(pod, "spec")) if one["name"] == container)


def _streams(request: HTTPRequest) -> commands.Streams:
    query = query_of(request.query)
    return commands.Streams(*(is_true(query.get(name)) for name in ("stdin", "stdout", "stderr", "tty")))


def _phase(pod: Object) -> str:
    return str(part(pod, "status").get("phase") or "Pending")


def _check_running(pod: Object, container: str) -> None:
    status = part(pod, "status")
    for name in ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"):
        for one in status.get(name) or ():
            if one.get("name") == container and not part(one, "state").get("running"):
                raise untyped(f'unable to upgrade connection: container not found ("{container}")')
    if _phase(pod) != "Running":
        raise untyped(f'unable to upgrade connection: container not found ("{container}")')

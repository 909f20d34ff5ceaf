# SPDX-License-Identifier: Apache-2.0
"""The services outside of the cluster in one run: their processes, the proxies in front of them, and their states."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Self

import attrs

from apimachinery.errors import UsageError
from apimachinery.host import Host
from controller_runtime.testing.outside.calls import Call
from controller_runtime.testing.outside.courses import AS_USUAL, Course
from controller_runtime.testing.outside.snapshots import Changed, Snapshot, changes, snapshot
from controller_runtime.testing.perturbation.others.operator_process import OperatorProcess
from controller_runtime.testing.perturbation.others.proxying import LOOPBACK, OutsideProxy, accepts, free_port
from controller_runtime.testing.perturbation.world import State, plainly
from embedded_apiserver.perturbation import Name

_STATE_TIMEOUT = 5.0
"""Seconds within which a service has to answer the request for its state."""
_PAUSE = 0.05
"""Seconds between two checks whether a service accepts connections."""
_FIELDS = ("name", "run", "protocol", "env", "state")
_EXAMPLE = "such as `- {name: broker, run: [python, broker.py, '{port}'], state: /topics}`"


@attrs.frozen
class Service:
    """A service outside of the cluster, as declared in a story, which is the file of the user's actions.

    Attributes:
        name: The name in reports. `{NAME}` in the operator's arguments is replaced by the address.
        run: The command that runs the service in the foreground; `{port}` in it is replaced by the port to listen on.
        speaks_http: True if the protocol is HTTP without TLS; otherwise the proxy passes on bytes.
        env: The environment variable of the operator that gets the address; empty for none.
        state: The path that answers a GET with the state, in JSON; empty for none.
    """

    name: str
    run: Sequence[str]
    speaks_http: bool = True
    env: str = ""
    state: str = ""

    @classmethod
    def read(cls, where: str, given: Any) -> Service:
        """Read a service from the file of the user's actions.

        Args:
            where: The place in the file, for messages.
            given: The decoded YAML.

        Raises:
            UsageError: `given` is not a service.
        """
        if not isinstance(given, dict) or not {"name", "run"} <= set(given):
            raise UsageError(f"{where}: a service needs `name` and `run`, {_EXAMPLE}")
        if unknown := sorted(set(given) - {*_FIELDS}):
            raise UsageError(f"{where}: {unknown[0]!r} is not a field of a service: there are {', '.join(_FIELDS)}")
        name, run, protocol = str(given["name"]), given["run"], given.get("protocol", "http")
        if not name.isidentifier() or name in ("kubeconfig", "port"):
            raise UsageError(f"{where}: `name` is one word of letters, digits and `_`, not {name!r}")
        if not isinstance(run, list) or not run or not any("{port}" in str(part) for part in run):
            raise UsageError(f"{where}: `run` is a list with a command that has `{{port}}` in it, {_EXAMPLE}")
        if protocol not in ("http", "tcp"):
            raise UsageError(f"{where}: `protocol` is http or tcp, not {protocol!r}")
        state = str(given.get("state", ""))
        if state and (protocol == "tcp" or not state.startswith("/")):
            raise UsageError(f"{where}: `state` is a path of a service that speaks HTTP, such as /topics")
        return cls(name, [*map(str, run)], protocol == "http", str(given.get("env", "")), state)


class Recorder:
    """Is notified of calls to outside services and their effects. This base class records nothing.

    Threads: any.
    """

    def called(self, call: Call) -> tuple[int, Course]:
        """Record a call of the operator; return its number, and how it goes."""
        return 0, AS_USUAL

    def changed(self, outside: str, found: Sequence[Changed], number: int) -> None:
        """Record changes of a service, made by the operator's call `number`; 0 stands for another cause."""


class Outsides:
    """The outside services of one run, which start and end with it; a context manager.

    Args:
        host: The host of the real machine.
        services: The services.
        patience: Seconds within which each of them has to start.
        pause: Waits for the given seconds.
        end_program: Kills the operator.

    Attributes:
        recorder: Notified of calls and changes.
        failures: The errors of the services themselves.

    Threads: one owner; the proxies have their own threads.
    """

    def __init__(
        self,
        host: Host,
        services: Sequence[Service],
        patience: float,
        pause: Callable[[float], object],
        end_program: Callable[[], None],
    ) -> None:
        self._host, self._services, self._patience, self._pause = host, services, patience, pause
        self.end_program = end_program
        self.recorder = Recorder()
        self.failures: list[str] = []
        self._stack = ExitStack()
        self._lines: list[_Line] = []

    def __enter__(self) -> Self:
        try:
            for each in self._services:
                process = self._stack.enter_context(OperatorProcess(self._host, each.run))
                line = _Line(self._host, each, free_port(), self)
                self._start(line, process)
                line.proxy = self._stack.enter_context(OutsideProxy(self._host, line.port, each.speaks_http, line))
                self._lines.append(line)
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stack.close()

    @property
    def places(self) -> Mapping[str, str]:
        """The addresses of the services, by name."""
        return {each.service.name: each.address for each in self._lines}

    @property
    def environment(self) -> Mapping[str, str]:
        """The environment variables that tell the operator the addresses of the services."""
        return {each.service.env: each.address for each in self._lines if each.service.env}

    @property
    def is_awaited(self) -> bool:
        """True while a call with a fault is under way, or a late one is still to be carried out, even if its caller has
        given up.
        """
        return any(each.astray for each in self._lines)

    def present(self) -> State:
        """Return the present values of the services, with the keys `Name(service, key)`: the name of the service, and
        the key of the value in it. Changes since the last call are recorded.

        Raises:
            UsageError: A service does not answer with its state.
        """
        for each in self._lines:
            each.notice(0)
        return {
            Name(each.service.name, key): [plainly(value)] for each in self._lines for key, value in each.last.items()
        }

    def _start(self, line: _Line, process: OperatorProcess) -> None:
        """Start a service and wait until it listens.

        Raises:
            UsageError: It does not; the message says what it printed.
        """
        service = line.service
        process.run([part.replace("{port}", str(line.port)) for part in service.run], {}, service.name)
        deadline = self._host.monotonic() + self._patience
        while not accepts(line.port, self._patience):
            look = process.look()
            is_late = self._host.monotonic() > deadline
            if not look.alive or is_late:
                why = f"does not listen on port {line.port} ({{port}})" if look.alive else "has ended by itself"
                lines = process.log.read_text(encoding="utf-8", errors="replace").splitlines()
                printed = [line for line in lines if not line.startswith("# start ")][-3:]
                raise UsageError(f"the service {service.name} {why}; it printed: {' | '.join(printed) or 'nothing'}")
            self._pause(_PAUSE)
        line.last = line.read()


class _Line:
    """One service: an observer of its proxy."""

    def __init__(self, host: Host, service: Service, port: int, outsides: Outsides) -> None:
        self.service, self.port, self._outsides = service, port, outsides
        self.proxy: OutsideProxy | None = None
        # Guards what follows: calls end on the thread of the proxy, and the trial looks.
        self._lock = host.lock(f"outside service {service.name}")
        self._courses: dict[int, Course] = {}
        self.last: Snapshot = {}

    @property
    def address(self) -> str:
        """The address that the operator uses."""
        assert self.proxy is not None, "it has started"
        return f"{'http://' if self.service.speaks_http else ''}{LOOPBACK}:{self.proxy.port}"

    @property
    def astray(self) -> int:
        """How many calls under way do not go as usual."""
        with self._lock:
            return sum(each != AS_USUAL for each in self._courses.values())

    def begins(self, text: str, reads: bool) -> tuple[int, Course]:
        name = self.service.name
        call = Call(name, f"{name} {text}", reads, is_opaque=not self.service.state)
        number, course = self._outsides.recorder.called(call)
        with self._lock:
            self._courses[number] = course
        if course.ends and not course.times:
            self._outsides.end_program()
        return number, course

    def answered(self, number: int) -> None:
        try:
            self.notice(number)
        except UsageError as error:
            self._fail(str(error))

    def ended(self, number: int) -> None:
        with self._lock:
            self._courses.pop(number, None)

    def end_program(self) -> None:
        self._outsides.end_program()

    def speaks_otherwise(self) -> None:
        self._fail(f"the service {self.service.name} is not asked in HTTP: say `protocol: tcp` in the story")

    def _fail(self, text: str) -> None:
        with self._lock:
            self._outsides.failures += [] if text in self._outsides.failures else [text]

    def notice(self, number: int) -> None:
        """Record what has changed by a call, or since the last one."""
        now = self.read()
        with self._lock:
            found = changes(self.last, now)
            self.last = now
        if found:
            self._outsides.recorder.changed(self.service.name, found, number)

    def read(self) -> Snapshot:
        """Return the present state.

        Raises:
            UsageError: The service does not say it.
        """
        if not self.service.state:
            return {}
        connection = http.client.HTTPConnection(LOOPBACK, self.port, timeout=_STATE_TIMEOUT)
        try:
            connection.request("GET", self.service.state)
            answer = connection.getresponse()
            body = answer.read()
            if answer.status != 200:
                raise ValueError(f"it answers {answer.status}")
            return snapshot(json.loads(body))
        except (OSError, http.client.HTTPException, ValueError) as error:
            why = "it takes longer than 5 s" if isinstance(error, TimeoutError) else error
            raise UsageError(
                f"the service {self.service.name} does not say its state: GET {self.service.state}: {why}"
            ) from error
        finally:
            connection.close()

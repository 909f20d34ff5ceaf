# SPDX-License-Identifier: Apache-2.0
"""The part of `Client` that enters pods: logs, commands, streams and ports. See `client.pods`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from apimachinery.objects import ObjectKey
from controller_runtime.client.pods.commands import MOST_BYTES, CommandResult, carry_out
from controller_runtime.client.pods.logs import Logs, log_query
from controller_runtime.client.pods.messages import Caller, Query
from controller_runtime.client.pods.ports import PortForward
from controller_runtime.client.pods.session import Session
from controller_runtime.client.waiting import ClientWaits

LONG = 3600.0
"""Seconds that a session or a forwarded connection may last, unless the caller says otherwise."""


class ClientEnters(ClientWaits):
    """The calls for pods, between `wait` and the writes of `Client`, its only subclass.

    A role needs `get` on `pods/log`, and `get` and `create` on `pods/exec`, `pods/attach` and `pods/portforward`.
    """

    def logs(
        self,
        key: ObjectKey,
        *,
        container: str = "",
        follow: bool = False,
        previous: bool = False,
        since: float | datetime | None = None,
        tail: int | None = None,
        most_bytes: int | None = None,
        timestamps: bool = False,
        within: float | None = None,
    ) -> Logs:
        """Return the lines of a container's log, to iterate over.

        Args:
            key: The pod.
            container: The container; empty if the pod has only one.
            follow: Go on with the lines that come, until the container ends.
            previous: The log before the last restart.
            since: Only lines of the last seconds, or since an aware time.
            tail: Only so many lines from the end.
            most_bytes: Only so many bytes, after which the last line may be cut.
            timestamps: Begin each line with its time.
            within: Seconds until the log must be over; None: those of a request, or no limit for one that is followed.

        Raises:
            NotFound: There is no such pod.
            BadRequest: The pod has no such container, several and none is named, or it has not begun.
            ConnectionLost: The server gave no answer; while lines are read, also if the log was cut.
        """
        query = log_query(
            container,
            follow=follow,
            previous=previous,
            since=since,
            tail=tail,
            most_bytes=most_bytes,
            timestamps=timestamps,
        )
        if within is None and not follow:
            within = self._timeout
        return Logs(self._caller(), self._caller().request(key, "log", query), within)

    def exec(
        self,
        key: ObjectKey,
        command: Sequence[str],
        *,
        container: str = "",
        stdin: bytes | str | None = None,
        within: float | None = None,
        most_bytes: int = MOST_BYTES,
    ) -> CommandResult:
        """Carry out a command in a container, and return its exit status and its output.

        The command is a list of arguments; there is no shell unless it begins one. An error leaves open whether the
        command has run, or still runs: a command that a reconciler sends should do no harm if it is sent again.

        Args:
            key: The pod.
            command: The program and its arguments.
            container: The container; empty if the pod has only one.
            stdin: The input, a str as UTF-8; None for none.
            within: Seconds until the command must have ended; None: those of a request.
            most_bytes: The most bytes of output.

        Raises:
            NotFound: There is no such pod.
            APIError: The server refused the request, or could not run the command.
            ConnectionLost: No exit status came in time, or the connection was cut.
            OutputTooLong: The command wrote more than `most_bytes`.
            UsageError: The transport needs `wsproto`, which is not installed.
            ValueError: The command is a str, or empty.
        """
        raw = stdin.encode() if isinstance(stdin, str) else stdin
        within = self._timeout if within is None else within
        session = self.open_exec(key, command, container=container, stdin=raw is not None, within=within)
        return carry_out(self.host, session, command, raw, most_bytes)

    def open_exec(
        self,
        key: ObjectKey,
        command: Sequence[str],
        *,
        container: str = "",
        stdin: bool = True,
        tty: bool = False,
        within: float = LONG,
    ) -> Session:
        """Begin a command in a container, and return its streams; close them, or use `with`.

        Args:
            key: The pod.
            command: The program and its arguments.
            container: The container; empty if the pod has only one.
            stdin: Whether the command has an input.
            tty: Whether it has a terminal, to which both outputs go.
            within: Seconds until the command must have ended.

        Raises:
            APIError: The server refused the request.
            ConnectionLost: The server gave no answer.
            ValueError: The command is a str, or empty.
        """
        if isinstance(command, str) or not command:
            raise ValueError(f"the command {command!r} must be a list of arguments, such as ['psql', '-c', 'select 1']")
        query = tuple(("command", each) for each in command)
        return self._session(key, "exec", query, container, stdin=stdin, tty=tty, within=within)

    def attach(
        self, key: ObjectKey, *, container: str = "", stdin: bool = False, tty: bool = False, within: float = LONG
    ) -> Session:
        """Attach to the process of a container, and return its streams; see `open_exec`."""
        return self._session(key, "attach", (), container, stdin=stdin, tty=tty, within=within)

    def port_forward(self, key: ObjectKey, port: int, *, within: float = LONG) -> PortForward:
        """Return a port of a pod: `connect` gives a connection to it, `listen` a port of this machine.

        Args:
            key: The pod.
            port: The port.
            within: Seconds that a connection may last.
        """
        caller = self._caller()
        return PortForward(caller, caller.request(key, "portforward", (("ports", str(port)),)), within)

    def _session(
        self, key: ObjectKey, part: str, query: Query, container: str, *, stdin: bool, tty: bool, within: float
    ) -> Session:
        flags = ("stdin", stdin), ("stdout", True), ("stderr", not tty), ("tty", tty)
        named = (("container", container),) if container else ()
        caller = self._caller()
        whole = (*query, *named, *((name, "true") for name, is_set in flags if is_set))
        return Session(caller, caller.request(key, part, whole), within)

    def _caller(self) -> Caller:
        return Caller(self.host, self.transport, self._agent, self._timeout)

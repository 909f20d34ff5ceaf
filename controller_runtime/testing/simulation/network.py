# SPDX-License-Identifier: Apache-2.0
"""The network between simulated hosts: timers deliver requests and answers, and threads of the server handle them.

So a request arrives whether or not its caller still waits, runs or leads. Only the thread that the scheduler lets run
executes code of this module, so there is no lock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from apimachinery.http import Handler, HTTPRequest, HTTPResponse, Watch
from controller_runtime.testing.simulation.links import Links, Way, gave_up
from controller_runtime.testing.simulation.network_messages import Arrival, Incoming, head_of
from controller_runtime.testing.simulation.network_server import ConnectionEnd, Mailbox, SimulatedServer
from controller_runtime.testing.simulation.simulation import SimulatedHost, Simulation
from controller_runtime.testing.simulation.system_faults import FaultKind, SystemFault, SystemFaults
from controller_runtime.testing.simulation.timeline import Timer, nanoseconds

_SOONEST = 0.001
"""The least seconds until a watch is read again: the server's clock may have rounded the wait down to zero."""


class SimulatedConnection:
    """One request on its way to the server, and its answer on the way back.

    Args:
        network: Delivers the messages.
        host: The client's host.
        request: The request.
        fault: The fault of this call; None if it has none.

    Attributes:
        mailbox: Receives everything that comes back.
        is_given_up: True if the client no longer waits, so that an answer is ignored.
    """

    def __init__(self, network: Network, host: SimulatedHost, request: HTTPRequest, fault: SystemFault | None) -> None:
        self.mailbox: Mailbox[Arrival] = Mailbox(host, f"{request.method} {request.path}")
        self.is_given_up = False
        self._network = network
        self._host = host
        self._request = request
        self._fault = fault
        self._server: SimulatedServer | None = None
        self._watch: Watch | None = None
        self._is_silent = False  # an item was lost; a later one would hide the gap, so none is delivered
        self._arrived_until = 0  # nanosecond of the last arrival; later items arrive after it, in order
        self._is_asked = self._is_pumping = False
        self._incoming = Incoming()
        self._is_closed = False
        self._is_forgotten = False  # the server has noticed that it was closed, perhaps before it acted
        self._alarm: Timer | None = None

    def send(self) -> None:
        """Send the request and return at once; timers deliver messages, and threads of the server handle them."""
        kind, seconds = (self._fault.kind, self._fault.seconds) if self._fault else (None, 0.0)
        if kind is FaultKind.REFUSE:
            self.mailbox.put(ConnectionEnd(cut=True))
        elif kind is not FaultKind.LOSE_REQUEST:
            self._pass(self._arrive, seconds if kind in (FaultKind.SLOW_REQUEST, FaultKind.FAIL) else 0.0)
        if kind is FaultKind.FAIL and self._fault is not None:
            answered_at = self._network.arrival(0.0)
            for item in (gave_up(self._fault), ConnectionEnd(cut=False)):
                self._network.at(answered_at, partial(self._deliver, item))

    def post(self, message: bytes) -> None:
        """Send a message on an upgraded connection, such as a WebSocket, and return at once."""
        self._pass(lambda: self._incoming.put(message, self._server, self._watch))

    def is_closed(self) -> bool:
        """Return whether the caller has closed this connection."""
        return self._is_closed

    def close(self) -> None:
        """Close this connection from the caller's side; the server notices later unless the link is cut. Idempotent."""
        if not self._is_closed:
            self._is_closed = True
            self.mailbox.put(ConnectionEnd(cut=False))
            self._pass(self._forget)

    def comes_from(self, host: SimulatedHost) -> bool:
        """Return whether `host` is the caller's host."""
        return self._host is host

    def break_off(self) -> None:
        """Break this connection from the server's side; the caller notices later, unless nothing reaches it."""
        self._reply(ConnectionEnd(cut=True))

    def _pass(self, action: Callable[[], None], late: float = 0.0) -> None:
        """Send a message that runs `action` at the server, unless the link is cut when it leaves or arrives."""
        if not self._network.is_cut(self._host, Way.OUT):
            arrival = max(self._network.arrival(late), self._arrived_until)
            self._arrived_until = arrival
            self._network.at(arrival, lambda: None if self._network.is_cut(self._host, Way.OUT) else action())

    def _arrive(self) -> None:
        self._server = self._network.server
        if self._server is None or self._server.host.crashed:
            self._deliver(ConnectionEnd(cut=True))
        else:
            self._network.open[self] = None
            self._server.inbox.put(self._act)

    def _act(self) -> None:
        """Handle the request, on a thread of the server."""
        assert self._server is not None, "the request has arrived at it"
        answer = self._server.handler.handle(self._request, self._ask)
        if isinstance(answer, HTTPResponse):
            self._reply(answer)
            self._reply(ConnectionEnd(cut=False))
        elif self._is_forgotten:
            answer.close()
        else:
            self._watch = answer
            self._reply(head_of(answer))
            self._ask()

    def _reply(self, item: Arrival) -> None:
        """Send an item back; once an item is lost, the rest of the connection is silent."""
        kind, seconds = (self._fault.kind, self._fault.seconds) if self._fault else (None, 0.0)
        if isinstance(item, ConnectionEnd):
            self._network.open.pop(self, None)
        if kind is FaultKind.FAIL:  # its caller was answered in the server's place
            return
        is_hushed = self._watch is not None and self._network.links.is_silent(self._host)
        if kind is FaultKind.LOSE_REPLY or is_hushed or self._is_silent or self._network.is_cut(self._host, Way.IN):
            self._is_silent = True
            return
        arrival = max(self._network.arrival(seconds if kind is FaultKind.SLOW_REPLY else 0.0), self._arrived_until)
        self._arrived_until = arrival
        self._network.at(arrival, partial(self._deliver, item))

    def _deliver(self, item: Arrival) -> None:
        if self._is_silent or self._network.is_cut(self._host, Way.IN):
            self._is_silent = True
            return
        if isinstance(item, HTTPResponse) and not self.is_given_up:
            self._network.answered(self._host, self._request, item)
        self.mailbox.put(item)

    # The server's end of a watch.

    def _ask(self) -> None:
        """Record that the watch may have lines, and have a thread take them; called by writers and by the alarm."""
        self._is_asked = True
        self._incoming.note_room()
        if self._server is not None and self._watch is not None and not self._is_pumping:
            self._is_pumping = True
            self._server.inbox.put(self._pump)

    def _pump(self) -> None:
        """Take the watch's lines, on a thread of the server; `_is_pumping` keeps others from doing so meanwhile."""
        watch = self._watch
        while watch is not None and self._is_asked:
            self._is_asked = False
            lines, is_over = watch.take()
            if lines:
                self._is_asked = True
                self._reply(lines)
            if is_over:
                self._reply(ConnectionEnd(cut=False))
                self._watch = watch = None
        self._is_pumping = False
        self._incoming.hand_on_soon(self._server, watch)
        if watch is not None:
            self._set_alarm(watch.next_wake())

    def _set_alarm(self, seconds: float | None) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        if seconds is not None:
            self._alarm = self._network.at(self._network.now + nanoseconds(max(seconds, _SOONEST)), self._ring)

    def _ring(self) -> None:
        if self._server is not None and not self._server.host.crashed:
            self._ask()

    def _forget(self) -> None:
        self._is_forgotten = True
        self._network.open.pop(self, None)
        if self._server is not None and self._watch is not None and not self._server.host.crashed:
            self._server.inbox.put(self._watch.close)
            self._watch = None


class Network:
    """Links between hosts and one server, whose latency and faults follow from the seed.

    Args:
        sim: The simulation.
        faults: The faults of calls.
        fired: Faults that happen are appended to it, except those of a brown-out's calls; in the end it is the script.
        latency: Seconds that a message takes, on average. If it is zero, messages arrive at the instant at which they
            are sent, and only the schedule decides what happens in between.
        until: Virtual seconds after which calls have no faults, except in brown-outs.

    Attributes:
        server: Answers requests; while it is None or its host has crashed, connections are refused.
        open: Connections that the server has not ended.
        links: The links of the hosts.
        on_begin: Called with the host and each request when it is sent.
        on_answer: Called with the host, the request and each answer when it arrives at a client that still waits.
    """

    def __init__(
        self,
        sim: Simulation,
        faults: SystemFaults,
        fired: list[SystemFault],
        *,
        latency: float = 0.001,
        until: float = 0.0,
    ) -> None:
        self.server: SimulatedServer | None = None
        self.open: dict[SimulatedConnection, None] = {}
        self.on_begin: list[Callable[[SimulatedHost, HTTPRequest], None]] = []
        self.on_answer: list[Callable[[SimulatedHost, HTTPRequest, HTTPResponse], None]] = []
        self._sim = sim
        self._timeline = sim.scheduler.timeline
        self._chance = sim.chance("network")
        self._faults = faults
        self._fired = fired
        self._latency = latency
        self._until = until
        self._calls: dict[str, int] = {}
        self.links = Links(self._timeline, sim.seed)

    @property
    def now(self) -> int:
        """The present time, in nanoseconds of the simulation."""
        return self._timeline.now

    def serve(self, host: SimulatedHost, handler: Handler) -> None:
        """Let `handler` answer from now on, on threads of `host`; connections to the previous server are broken."""
        for connection in list(self.open):
            connection.break_off()
        self.server = SimulatedServer(host, handler)

    def hang_up(self, host: SimulatedHost) -> None:
        """Close all connections of a host whose process has ended. Requests that it has sent are still carried out."""
        for connection in list(self.open):
            if connection.comes_from(host):
                connection.close()

    def cut(self, name: str, seconds: float, ways: Iterable[Way] = (Way.OUT, Way.IN)) -> None:
        """Let nothing pass between the host `name` and the server for `seconds`, even if it is restarted meanwhile.

        Args:
            name: The name of the host, without the number of its restarts.
            seconds: The duration, in virtual seconds.
            ways: The directions in which nothing passes.
        """
        self.links.cut(name, seconds, ways)

    def is_cut(self, host: SimulatedHost, way: Way) -> bool:
        """Return whether the link of `host` is cut in one direction at present."""
        return self.links.is_cut(host, way)

    def begin(self, host: SimulatedHost, request: HTTPRequest) -> SimulatedConnection:
        """Send a request, with the fault of this call if it has one, and return its connection."""
        host.scheduler.enter(host.machine)  # a crashed host sends nothing, not even from a `finally`
        number = self._calls.get(host.name, 0)
        self._calls[host.name] = number + 1
        for hook in self.on_begin:
            hook(host, request)
        fault = self._faults.of_call(host.name, number) if self._sim.time < self._until else None
        if fault is not None:
            self.note(fault)
        else:
            fault = self.links.fault_in_brown_out(host, number, request)  # follows from it, so no script needs it
        connection = SimulatedConnection(self, host, request, fault)
        connection.send()
        return connection

    def answered(self, host: SimulatedHost, request: HTTPRequest, response: HTTPResponse) -> None:
        """Call the functions of `on_answer` for an answer that arrives."""
        for hook in self.on_answer:
            hook(host, request, response)

    def note(self, fault: SystemFault) -> None:
        """Record that `fault` happens, in `fired` and in the trace."""
        self._fired.append(fault)
        self._sim.note(f"{fault.kind} {fault.host}")

    def arrival(self, late: float) -> int:
        """Return the nanosecond at which a message sent now arrives, if it takes `late` seconds longer than usual."""
        return self.now + nanoseconds(late + self._latency * (0.5 + self._chance.random()))

    def at(self, when: int, action: Callable[[], None]) -> Timer:
        """Run `action` at the instant `when` (nanoseconds of the simulation), at once if that is now; return its timer.

        The action may put items into mailboxes and do nothing else.
        """
        if when > self.now:
            return self._timeline.at(when, action)
        action()
        return Timer(when, action)

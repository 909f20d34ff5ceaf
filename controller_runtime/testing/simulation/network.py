# SPDX-License-Identifier: Apache-2.0
"""The network between simulated hosts: a request is a timer, a thread of the server acts on it, its answer is a timer.

So what was sent arrives whether or not its caller still waits, lives or leads. Everything
here is touched by the holder of the simulation's baton alone, so there is no lock.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from controller_runtime.api.http import Handler, HTTPRequest, HTTPResponse, Watch
from controller_runtime.testing.simulation.host import SimulatedHost
from controller_runtime.testing.simulation.network_server import End, Mailbox, Server
from controller_runtime.testing.simulation.simulation import Simulation
from controller_runtime.testing.simulation.system_faults import FaultKind, SystemFault, SystemFaults
from controller_runtime.testing.simulation.timeline import Timer, nanoseconds

_SOONEST = 0.001
"""Seconds before a watch is looked at again, though its own clock may round otherwise."""


Arrival = HTTPResponse | list[bytes] | End
"""What comes back: headers or a whole answer first, then lines, then the end."""


class Connection:
    """One request on its way to the server, and what comes back to the mailbox of its caller."""

    def __init__(self, network: Network, host: SimulatedHost, request: HTTPRequest, fault: SystemFault | None) -> None:
        self.mailbox: Mailbox[Arrival] = Mailbox(host, f"{request.method} {request.path}")
        self._network = network
        self._host = host
        self._request = request
        self._fault = fault
        self._server: Server | None = None
        self._watch: Watch | None = None
        self._is_deaf = False  # what is lost once makes a gap, so nothing may follow
        self._arrived_until = 0  # lines arrive in order
        self._is_asked = self._is_pumping = False
        self._is_closed = False
        self._alarm: Timer | None = None

    def send(self) -> None:
        """Begin; everything else follows from timers."""
        kind, seconds = (self._fault.kind, self._fault.seconds) if self._fault else (None, 0.0)
        if kind is FaultKind.REFUSE:
            self.mailbox.put(End(cut=True))
        elif kind is not FaultKind.LOSE_REQUEST:
            self._pass(self._arrive, seconds if kind is FaultKind.SLOW_REQUEST else 0.0)

    def is_closed(self) -> bool:
        """True once the caller is through with it."""
        return self._is_closed

    def close(self) -> None:
        """The caller is through with it; the server hears of it a little later. Idempotent."""
        if not self._is_closed:
            self._is_closed = True
            self.mailbox.put(End(cut=False))
            self._pass(self._forget)

    def break_off(self) -> None:
        """The server is gone; the caller hears of it a little later."""
        self._reply(End(cut=True))

    def _pass(self, action: Callable[[], None], late: float = 0.0) -> None:
        """Let `action` happen at the other end, unless the link is cut when it leaves or arrives."""
        if not self._network.is_cut(self._host):
            arrival = max(self._network.arrival(late), self._arrived_until)
            self._arrived_until = arrival
            self._network.at(arrival, lambda: None if self._network.is_cut(self._host) else action())

    def _arrive(self) -> None:
        self._server = self._network.server
        if self._server is None or self._server.host.crashed:
            self._deliver(End(cut=True))
        else:
            self._network.open[self] = None
            self._server.inbox.put(self._act)

    def _act(self) -> None:
        """On a thread of the server."""
        assert self._server is not None, "it has arrived"
        answer = self._server.handler.handle(self._request, self._ask)
        if isinstance(answer, HTTPResponse):
            self._reply(answer)
            self._reply(End(cut=False))
        else:
            self._watch = answer
            self._reply(HTTPResponse(200, answer.headers))
            self._ask()

    def _reply(self, item: Arrival) -> None:
        """Send something back; what is lost makes the rest of the connection silent."""
        kind, seconds = (self._fault.kind, self._fault.seconds) if self._fault else (None, 0.0)
        if isinstance(item, End):
            self._network.open.pop(self, None)
        if kind is FaultKind.LOSE_REPLY or self._is_deaf or self._network.is_cut(self._host):
            self._is_deaf = True
            return
        arrival = max(self._network.arrival(seconds if kind is FaultKind.SLOW_REPLY else 0.0), self._arrived_until)
        self._arrived_until = arrival
        self._network.at(arrival, partial(self._deliver, item))

    def _deliver(self, item: Arrival) -> None:
        if self._is_deaf or self._network.is_cut(self._host):
            self._is_deaf = True
            return
        if isinstance(item, HTTPResponse):
            self._network.answered(self._host, self._request, item)
        self.mailbox.put(item)

    # The server's end of a watch.

    def _ask(self) -> None:
        """There may be lines to take; called by whoever writes, or by an alarm."""
        self._is_asked = True
        if self._server is not None and self._watch is not None and not self._is_pumping:
            self._is_pumping = True
            self._server.inbox.put(self._pump)

    def _pump(self) -> None:
        """On a thread of the server, one at a time: take what there is."""
        watch = self._watch
        while watch is not None and self._is_asked:
            self._is_asked = False
            lines, is_over = watch.take()
            if lines:
                self._is_asked = True
                self._reply(lines)
            if is_over:
                self._reply(End(cut=False))
                self._watch = watch = None
        self._is_pumping = False
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
        self._network.open.pop(self, None)
        if self._server is not None and self._watch is not None and not self._server.host.crashed:
            self._server.inbox.put(self._watch.close)
            self._watch = None


class Network:
    """Links between hosts and one server, with latency and faults that follow from the seed.

    Args:
        sim: The simulation.
        faults: What befalls calls.
        fired: Every fault that happens is added here: the script of the run.
        latency: Seconds that a message takes, about.
        until: Virtual seconds after which calls are spared.

    Attributes:
        server: Who answers; None, or a dead one, refuses connections.
        open: Connections that the server has not ended.
        on_begin: Asked for each request at the instant at which it begins.
        on_answer: Told each answer at the instant at which it arrives.
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
        self.server: Server | None = None
        self.open: dict[Connection, None] = {}
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
        self._cut_until: dict[str, int] = {}

    @property
    def now(self) -> int:
        """Nanoseconds of the simulation."""
        return self._timeline.now

    def serve(self, host: SimulatedHost, handler: Handler) -> None:
        """Have `handler` answer from now on, on threads of `host`; what another had begun is cut."""
        for connection in list(self.open):
            connection.break_off()
        self.server = Server(host, handler)

    def cut(self, name: str, seconds: float) -> None:
        """Let nothing pass between the host of this name and the server; restarts do not mend it."""
        self._cut_until[name] = max(self._cut_until.get(name, 0), self.now + nanoseconds(seconds))

    def is_cut(self, host: SimulatedHost) -> bool:
        """True while nothing passes."""
        return self._cut_until.get(host.name.partition("#")[0], 0) > self.now

    def begin(self, host: SimulatedHost, request: HTTPRequest) -> Connection:
        """Send a request."""
        number = self._calls.get(host.name, 0)
        self._calls[host.name] = number + 1
        for hook in self.on_begin:
            hook(host, request)
        fault = self._faults.of_call(host.name, number) if self._sim.time < self._until else None
        if fault is not None:
            self.note(fault)
        connection = Connection(self, host, request, fault)
        connection.send()
        return connection

    def answered(self, host: SimulatedHost, request: HTTPRequest, response: HTTPResponse) -> None:
        """An answer arrives."""
        for hook in self.on_answer:
            hook(host, request, response)

    def note(self, fault: SystemFault) -> None:
        """Write down that `fault` happens."""
        self._fired.append(fault)
        self._sim.note(f"{fault.kind} {fault.host}")

    def arrival(self, late: float) -> int:
        """When something that leaves now arrives."""
        return self.now + nanoseconds(late + self._latency * (0.5 + self._chance.random()))

    def at(self, when: int, action: Callable[[], None]) -> Timer:
        """Do `action` at an instant; it may put things into mailboxes, and no more."""
        return self._timeline.at(when, action)

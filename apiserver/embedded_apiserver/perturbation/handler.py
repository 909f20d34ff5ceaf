# SPDX-License-Identifier: Apache-2.0
"""The server as a perturbed client sees it, until the fault has happened."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

from apimachinery.host import Host
from apimachinery.http import NO_ANSWER, Handler, HTTPRequest, Screen
from embedded_apiserver.perturbation.dropping import Drop
from embedded_apiserver.perturbation.gates import Gate
from embedded_apiserver.perturbation.names import name_of
from embedded_apiserver.perturbation.past import Past
from embedded_apiserver.perturbation.plan_file import Perturbation
from embedded_apiserver.perturbation.server import Answer, PerturbedServer, Write, is_of_any_version, unheard
from embedded_apiserver.perturbation.triggers import UNREAD, AtChange, AtRest, AtWrite, matches, write_of
from embedded_apiserver.server import APIServer
from embedded_apiserver.storage.stored import Change

_NEVER = 1 << 62
"""A version that no change has: a gate with it holds nothing yet."""
LATE = 2.0
"""Seconds for which a restarted client is shown an old state, from its first list of the resource on."""


class PerturbedHandler:
    """An `api.http.Handler` that causes one fault for one client, and passes all other requests on unchanged.

    The plan names the client (if it names none, it means all clients except kubectl), and the time of the fault: a
    write, a change, or a rest, which is a time without changes. Writes and changes are counted from the client's first
    request on.

    Args:
        host: The source of time, locks and threads.
        server: The server.
        inner: Answers the requests: the server, or a handler around it.
        plan: The fault, its client and its time.
        restart: A function that ends the client's process and starts another one; it may block. Until it returns, all
            requests of the client lose their connections.
        say: A function that is called with a one-line message about each event.

    Threads: any.
    """

    def __init__(
        self,
        host: Host,
        server: APIServer,
        inner: Handler,
        plan: Perturbation,
        restart: Callable[[], None],
        say: Callable[[str], None],
    ) -> None:
        self._host, self._server, self._inner = host, server, inner
        self._plan, self._restart, self._say = plan, restart, say
        # Guards what follows: requests and changes come on many threads.
        self._lock = host.condition("perturbed handler")
        self._began = self._fired = self._is_away = False
        self._writes: Counter[str] = Counter()
        self._seen: Counter[str] = Counter()
        self._prefixes: set[str] = set()
        self._changed_at = host.monotonic()
        self._shown = 0  # the newest version that a stale list shows
        self._is_shown = False  # whether the past has been listed
        self._seen_by_client = PerturbedServer(server, self._write, self._shows_past, inner)
        if isinstance(plan.at, AtChange):
            self._seen_by_client.filter = (Drop if plan.forced else Gate)(plan.at.resource, _NEVER)
        server.storage.on_commit = self._landed

    def handle(self, request: HTTPRequest, on_ready: Callable[[], None] | None = None) -> Answer:
        """Answer a request by the inner handler, perturbed if it comes from the client; see `Handler.handle`."""
        if not self._is_client(request.headers):
            return self._inner.handle(request, on_ready)
        with self._lock:
            if self._is_away:
                return NO_ANSWER
        self._begin()
        return self._seen_by_client.handle(request, on_ready)

    def knows(self, headers: Mapping[str, str]) -> bool:
        """Return whether the inner handler accepts the credentials in these headers; see `Screen.knows`."""
        return not isinstance(self._inner, Screen) or self._inner.knows(headers)

    def is_heavy(self, request: HTTPRequest) -> bool:
        """Return whether the inner handler may take long for a request; see `Screen.is_heavy`."""
        return isinstance(self._inner, Screen) and self._inner.is_heavy(request)

    def calls_out(self, request: HTTPRequest) -> bool:
        """Return whether the inner handler calls others for a request; see `Screen.calls_out`."""
        return isinstance(self._inner, Screen) and self._inner.calls_out(request)

    def _is_client(self, headers: Mapping[str, str]) -> bool:
        agent = headers.get("user-agent", "")
        return self._plan.client in agent if self._plan.client else not agent.startswith("kubectl")

    def _begin(self) -> None:
        """Begin to count at the client's first request."""
        with self._lock:
            if self._began:
                return
            self._began = True
            self._shown = self._server.storage.version
            self._changed_at = self._host.monotonic()
            waits = isinstance(self._plan.at, AtRest) and not self._plan.at.after
        if waits:
            self._host.spawn("perturbation", self._at_rest, daemon=True)

    def _write(self, write: Write, carry_out: Callable[[], Answer]) -> Answer:
        at = self._plan.at
        if write.plural in UNREAD:
            return carry_out()
        with self._lock:
            kind = write_of(write.method, write.target, self._prefixes)
            self._writes[kind] += 1
            is_due = isinstance(at, AtWrite) and (kind, self._writes[kind]) == (at.what, at.occurrence)
            is_due = is_due and not self._fired
            self._fired = self._fired or is_due
        if not is_due or not isinstance(at, AtWrite):
            return carry_out()
        if at.landed:
            unheard(carry_out())
        self._crash(f"{kind} {'after it had landed' if at.landed else 'before it was carried out'}")
        return NO_ANSWER

    def _shows_past(self, query: Mapping[str, str]) -> bool:
        return is_of_any_version(query) or (self._plan.forced and not query.get("resourceVersion"))

    def _note_shown(self) -> None:
        with self._lock:
            self._is_shown = True
            self._lock.notify_all()

    def _landed(self, resource: str, change: Change) -> None:
        """Note a change, on the thread that made it and before it is announced."""
        shown = change.new or change.old
        if shown is None or resource.partition(".")[0] in UNREAD:
            return
        name = name_of(resource, shown.decode()["metadata"])
        at, waits = self._plan.at, False
        with self._lock:
            if name.key.endswith("*"):
                self._prefixes.add(name.key.rpartition("/")[2][:-1])
            self._changed_at = self._host.monotonic()
            if not self._began:
                return
            self._seen.update((resource, str(name)))
            if isinstance(at, AtRest) and resource == at.resource and self._seen[resource] == at.changes:
                self._shown = change.version
            if isinstance(at, AtRest):
                waits = str(name) == at.after and self._seen[at.after] == at.occurrence
            elif isinstance(at, AtChange):
                is_met = matches(at, name, self._seen)
                self._close_gate(change.version, is_met)
                is_next = str(name) == at.name and self._seen[at.name] == at.occurrence + 1
                waits = is_next if at.is_missed else is_met
        gate = self._seen_by_client.filter
        if waits and isinstance(at, AtChange) and at.is_missed and isinstance(gate, Gate) and gate.holds:
            self._open(expires=True)
        elif waits:  # a watch that is busy stands still by then
            self._host.spawn("perturbation", self._at_rest, daemon=True)

    def _close_gate(self, version: int, is_met: bool) -> None:
        """Let nothing from a version on pass if it is that of the change that is meant."""
        if not is_met or self._fired:
            return
        self._fired = True
        if isinstance(self._seen_by_client.filter, Gate | Drop):
            self._seen_by_client.filter.version = version

    def _open(self, *, expires: bool) -> None:
        gate = self._seen_by_client.filter
        if isinstance(gate, Gate) and not gate.is_open and gate.version != _NEVER:
            gate.open(expires=expires)
            self._say(f"perturbed: the client {'missed a change of' if expires else 'was late to see'} {gate.resource}")

    def _at_rest(self) -> None:
        """Wait until nothing has changed for a while; then let what is late come, or end the client."""
        at = self._plan.at
        with self._lock:
            while (due := self._changed_at + self._plan.quiet) > self._host.monotonic():
                self._lock.wait_until(due)
            if isinstance(at, AtRest):
                if self._fired:
                    return
                self._fired = True
                if at.resource:
                    self._seen_by_client.past = Past(at.resource, self._shown, self._note_shown)
                    self._seen_by_client.filter = Gate(at.resource, self._shown + 1)
        if isinstance(at, AtRest):
            self._crash("a rest")
        else:
            self._open(expires=isinstance(at, AtChange) and at.is_missed)

    def _crash(self, when: str) -> None:
        """Have the client's process end, on another thread, and take nothing of it until then."""
        self._say(f"perturbed: the client's connection is cut at {when}")
        with self._lock:
            self._is_away = True
        self._host.spawn("perturbation", self._come_back, daemon=True)

    def _come_back(self) -> None:
        self._restart()
        with self._lock:
            self._is_away = False
            if self._seen_by_client.past is None:
                return
            while not self._is_shown:
                self._lock.wait_until(None)
            until = self._host.monotonic() + LATE
            while self._host.monotonic() < until:
                self._lock.wait_until(until)
            self._seen_by_client.past = None
        self._open(expires=False)

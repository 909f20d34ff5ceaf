# SPDX-License-Identifier: Apache-2.0
"""What an API server does besides answering: elections, and the collection of what nobody needs any more.

The embedded server hosts it in its own process, as a real one does, so that coordinated
electors work on it with nothing else started. It is never replicated, so nobody
competes to host; on a cluster the same controllers belong under `--leader-elect`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import attrs

from controller_runtime.api.http import Handler, HTTPRequest, HTTPResponse, Watch
from controller_runtime.apiserver.server import APIServer
from controller_runtime.apiserver.upkeep.upkeep import Upkeep
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.controller.controller import Controller
from controller_runtime.core.errors import ControllerRuntimeError, UsageError
from controller_runtime.core.host import Host
from controller_runtime.core.log import get_logger
from controller_runtime.core.stop import Stop, spawn
from controller_runtime.manager.manager import Manager
from controllers.election.lease_candidate_election import NAME as ELECTION
from controllers.election.lease_candidate_election import lease_candidate_election
from controllers.expiry.apiserver_lease_gc import NAME as APISERVER_LEASE_GC
from controllers.expiry.apiserver_lease_gc import apiserver_lease_gc
from controllers.expiry.lease_candidate_gc import NAME as CANDIDATE_GC
from controllers.expiry.lease_candidate_gc import lease_candidate_gc

log = get_logger(__name__)

HOSTED: Mapping[str, Callable[[Manager], Controller]] = {
    ELECTION: lease_candidate_election,
    CANDIDATE_GC: lease_candidate_gc,
    APISERVER_LEASE_GC: apiserver_lease_gc,
}
"""The controllers that a real API server hosts."""

GRACE = 1.0
"""Seconds that steps in hand have when the server stops."""
AGAIN = 2.0
"""Seconds after which what has failed is started anew."""


@attrs.frozen
class Trusted:
    """A `wire.Handler` that answers a caller inside the process as one who has the server's token.

    Threads: any.
    """

    server: Handler
    token: str

    def handle(self, request: HTTPRequest, on_ready: Callable[[], None] | None = None) -> HTTPResponse | Watch:
        """See `wire.Handler.handle`."""
        headers = {**request.headers, "authorization": f"Bearer {self.token}"}
        return self.server.handle(request._replace(headers=headers), on_ready)


def choose(asked: str) -> list[str]:
    """The names that `asked` means: comma-separated; empty for none.

    Raises:
        UsageError: A name that is not hosted.
    """
    names = [name for part in asked.split(",") if (name := part.strip())]
    for name in names:
        if name not in HOSTED:
            raise UsageError(f"{name!r} is not hosted: there are {', '.join(HOSTED)}")
    return names


@contextlib.contextmanager
def hosted(host: Host, server: APIServer, token: str, names: Sequence[str] = tuple(HOSTED)) -> Iterator[None]:
    """Inside, the controllers of `names` run on `server`, and its house is kept.

    Args:
        host: Of the server.
        server: Answers; it outlives this.
        token: What it takes.
        names: Of `HOSTED`.
    """
    stop = Stop(host, "hosting")
    parts: list[Callable[[Stop], None]] = [lambda once: Upkeep(host, server, token).run(once)]
    if names:
        parts.append(lambda once: _run(host, Trusted(server, token), names, once))
    threads = [host.spawn("hosting", partial(_keep_running, host, part, stop)) for part in parts]
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join_until(None)


def _keep_running(host: Host, part: Callable[[Stop], None], stop: Stop) -> None:
    """Run a part until `stop` is set, anew whenever it has failed, in whatever way: nobody else would notice."""
    while not stop.is_set():
        once = Stop(host, "hosted")
        forget = stop.on_set(once.set)
        spawn(host, once, "hosted", partial(part, once)).join_until(None)  # which logs how it failed
        forget()
        stop.wait(AGAIN)


def _run(host: Host, server: Handler, names: Sequence[str], stop: Stop) -> None:
    """Run the controllers of `names` once."""
    manager = Manager(host, InProcessTransport(host, server), grace=GRACE)
    for name in names:
        manager.add(HOSTED[name](manager))
    try:
        manager.run(stop)
    except ControllerRuntimeError as error:
        log.warning("hosted controllers failed, starting them anew", error=error)

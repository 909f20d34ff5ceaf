# SPDX-License-Identifier: Apache-2.0
"""Runs controllers, garbage collection and the deletion of namespaces in the process of an embedded API server.

A real API server runs these controllers in its process too, so that coordinated elections
work with nothing else started. The embedded server is never replicated, so no leader has to be
elected to run them; on a cluster the same controllers belong under `--leader-elect`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from apimachinery.errors import ControllerRuntimeError, UsageError
from apimachinery.host import Host
from apimachinery.http import Handler
from apimachinery.log import get_logger
from apimachinery.stop import Stop, spawn
from controller_runtime.api.resources import LEASE_CANDIDATES
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.controller.controller import Controller
from controller_runtime.manager.manager import Manager
from controllers.election.lease_candidate_election import NAME as ELECTION
from controllers.election.lease_candidate_election import lease_candidate_election
from controllers.expiry.apiserver_lease_gc import NAME as APISERVER_LEASE_GC
from controllers.expiry.apiserver_lease_gc import apiserver_lease_gc
from controllers.expiry.lease_candidate_gc import NAME as CANDIDATE_GC
from controllers.expiry.lease_candidate_gc import lease_candidate_gc
from controllers.shared.with_token import WithToken
from embedded_apiserver import APIServer, Upkeep

log = get_logger(__name__)

HOSTABLE: Mapping[str, Callable[[Manager], Controller]] = {
    ELECTION: lease_candidate_election,
    CANDIDATE_GC: lease_candidate_gc,
    APISERVER_LEASE_GC: apiserver_lease_gc,
}
"""The controllers that run in the process of a real API server, by name."""

GRACE = 1.0
"""Seconds for which running reconciles may go on when the server stops."""
RESTART_AFTER = 2.0
"""Seconds after which a part that has failed is started again."""


def select_hosted(asked: str) -> list[str]:
    """Return the controller names in `asked`, separated by commas; an empty text selects no controller.

    Raises:
        UsageError: A name is not in `HOSTABLE`.
    """
    names = [name for part in asked.split(",") if (name := part.strip())]
    for name in names:
        if name not in HOSTABLE:
            raise UsageError(f"{name!r} cannot be hosted: give some of {', '.join(HOSTABLE)}")
    return names


@contextlib.contextmanager
def hosted(host: Host, server: APIServer, token: str, names: Sequence[str] = tuple(HOSTABLE)) -> Iterator[None]:
    """Return a context manager that runs controllers, garbage collection and the deletion of namespaces inside its
    block.

    A part that fails with any error is started again after `RESTART_AFTER` seconds.

    Args:
        host: The host that the server runs on.
        server: The server on whose objects they work; it continues after the block.
        token: The bearer token that the server accepts.
        names: Keys of `HOSTABLE`. The controllers of lease candidates do not run if the server's release has no such
            kind.
    """
    group, version = LEASE_CANDIDATES.group, LEASE_CANDIDATES.version
    if server.kinds.find(group, version, LEASE_CANDIDATES.plural) is None:
        names = [name for name in names if name not in (ELECTION, CANDIDATE_GC)]
    stop = Stop(host, "hosting")
    parts: list[Callable[[Stop], None]] = [lambda once: Upkeep(host, server, token).run(once)]
    if names:
        parts.append(lambda once: _run(host, WithToken(server, token), names, once))
    threads = [host.spawn("hosting", partial(_keep_running, host, part, stop)) for part in parts]
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join_until(None)


def _keep_running(host: Host, part: Callable[[Stop], None], stop: Stop) -> None:
    """Run a part until `stop` is set, and start it again when it has failed: nothing else watches over it."""
    while not stop.is_set():
        once = Stop(host, "hosted")  # each run needs its own: a failure sets it for good
        forget = stop.on_set(once.set)
        spawn(host, once, "hosted", partial(part, once)).join_until(None)  # `spawn` logs how it failed
        forget()
        stop.wait(RESTART_AFTER)


def _run(host: Host, server: Handler, names: Sequence[str], stop: Stop) -> None:
    """Run the controllers of `names` until `stop` is set or one of them fails."""
    manager = Manager(host, InProcessTransport(host, server), grace=GRACE)
    for name in names:
        manager.add(HOSTABLE[name](manager))
    try:
        manager.run(stop)
    except ControllerRuntimeError as error:
        log.warning("hosted controllers failed, starting them again", error=error)

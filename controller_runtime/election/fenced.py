# SPDX-License-Identifier: Apache-2.0
"""Builds an elector together with the transport that it fences."""

from __future__ import annotations

from collections.abc import Callable

from apimachinery.errors import LeadershipLost
from apimachinery.host import Host
from controller_runtime.cache.informers import Informers
from controller_runtime.client.client import Client
from controller_runtime.client.deadlines import DeadlineTransport
from controller_runtime.client.transport import Transport
from controller_runtime.election.candidate import candidate_for
from controller_runtime.election.config import LeaderElectionConfig
from controller_runtime.election.elector import LeaderElector
from controller_runtime.election.term import leadership_limit


def elector_and_fence(
    host: Host,
    transport: Transport,
    informers: Informers,
    config: LeaderElectionConfig,
    *,
    on_leading: Callable[[], None],
    on_new_leader: Callable[[str], None],
    on_yielding: Callable[[LeadershipLost], None],
) -> tuple[LeaderElector, DeadlineTransport]:
    """Return an elector, and a wrapper of `transport` that refuses requests once the elector's leadership is over.

    The elector and its candidate use `transport` directly: they must reach the server when other code may not.

    Args:
        host: The source of time, threads and randomness.
        transport: Carries the requests to the API server.
        informers: Makes the informer of the candidate, in a coordinated election.
        config: The configuration of the election.
        on_leading: Called once, when this replica begins to lead; see `LeaderElector`.
        on_new_leader: Called with the identity of each new leader; see `LeaderElector`.
        on_yielding: Called once, when another candidate is preferred; see `LeaderElector`.
    """
    config, client = config.named_by(host), Client(host, transport)
    candidate = candidate_for(host, client, informers, config)
    elector = LeaderElector(
        *(host, client, config),
        on_leading=on_leading,
        on_new_leader=on_new_leader,
        on_yielding=on_yielding,
        candidate=candidate,
    )
    return elector, DeadlineTransport(transport, leadership_limit(lambda: elector.term))

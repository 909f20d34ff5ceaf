# SPDX-License-Identifier: Apache-2.0
"""The transport of a manager's client: what limits the requests, and what observes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from apimachinery.host import Host
from controller_runtime.cache.informers import Informers
from controller_runtime.client.deadlines import DeadlineTransport, reconcile_limit
from controller_runtime.client.stories import ReconcileStoryTransport
from controller_runtime.client.transport import Transport
from controller_runtime.client.written_versions import WrittenTransport
from controller_runtime.election.config import LeaderElectionConfig
from controller_runtime.election.history import LeaderHistory
from controller_runtime.manager.electing import elector_of
from controller_runtime.manager.recording import recorded
from controller_runtime.manager.rings import ManagerRings
from controller_runtime.manager.tracing import tracing_of

if TYPE_CHECKING:  # a program without leader election, tracing or a recorder should not pay for them
    from opentelemetry.trace import TracerProvider

    from controller_runtime.controller.tracing import Tracing
    from controller_runtime.election.elector import LeaderElector
    from controller_runtime.incidents.options import Incidents
    from controller_runtime.incidents.recorder import Recorder


class ClientTransport(NamedTuple):
    """The transport of a manager's client, and the parts that were made with it.

    Attributes:
        sent: The transport. It sends nothing after the deadline of the leadership, of a reconcile or of a ring
            membership.
        elector: Competes for the lease; None without leader election.
        leaders: The history of leaders that the elector has seen.
        recorder: Keeps the last reconciles; None if nothing is recorded.
        host: The host for user code. If reconciles are recorded, it records the times that they read.
        tracing: Makes spans; None makes none.
    """

    sent: Transport
    elector: LeaderElector | None
    leaders: LeaderHistory
    recorder: Recorder | None
    host: Host
    tracing: Tracing | None


def client_transport(
    host: Host,
    transport: Transport,
    informers: Informers,
    rings: ManagerRings,
    *,
    leader_election: LeaderElectionConfig | None,
    incidents: Incidents | None,
    tracer_provider: TracerProvider | None,
    on_leading: Callable[[], None],
    on_yielding: Callable[[BaseException], None],
) -> ClientTransport:
    """Return the transport of the client of a new manager. Arguments are those of `Manager` and of `LeaderElector`.

    Raises:
        UsageError: The folder of the incidents cannot be used.
    """
    leaders = LeaderHistory(host)
    elector, limited = elector_of(
        *(host, transport, informers, leader_election),
        on_leading=on_leading,
        on_new_leader=leaders.note,
        on_yielding=on_yielding,
    )
    bound = rings.bound(DeadlineTransport(limited, reconcile_limit(host)))
    recorder, own, fenced = recorded(host, WrittenTransport(ReconcileStoryTransport(bound)), incidents)
    tracing = None if tracer_provider is None else tracing_of(host, tracer_provider)
    return ClientTransport(
        fenced if tracing is None else tracing.transport(fenced), elector, leaders, recorder, own, tracing
    )

# SPDX-License-Identifier: Apache-2.0
"""The elector of a manager that has a lease, and the transport that its leadership limits."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from apimachinery.host import Host
from controller_runtime.cache.informers import Informers
from controller_runtime.client.transport import Transport
from controller_runtime.election.config import LeaderElectionConfig

if TYPE_CHECKING:  # a program without leader election should not pay for it
    from controller_runtime.election.elector import LeaderElector


def elector_of(
    host: Host,
    transport: Transport,
    informers: Informers,
    config: LeaderElectionConfig | None,
    *,
    on_leading: Callable[[], None],
    on_new_leader: Callable[[str], None],
    on_yielding: Callable[[BaseException], None],
) -> tuple[LeaderElector | None, Transport]:
    """Return an elector, and a transport that sends nothing after its deadline. Arguments are those of `LeaderElector`.

    If `config` is None, return None and `transport`.
    """
    if config is None:
        return None, transport
    from controller_runtime.election.fenced import elector_and_fence

    return elector_and_fence(
        *(host, transport, informers, config),
        on_leading=on_leading,
        on_new_leader=on_new_leader,
        on_yielding=on_yielding,
    )

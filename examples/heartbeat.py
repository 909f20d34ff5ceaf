# SPDX-License-Identifier: Apache-2.0
"""A component that keeps just its own lease: `python examples/heartbeat.py`.

`LeaseHeartbeat.run(stop)` is all it takes: no manager, no cache. Somebody deletes the lease
in between, and it comes back. It ends by itself after a few seconds, and takes its lease along.
"""

from __future__ import annotations

from typing import Any

from controller_runtime import LEASES, Client, Host, NotFound, ObjectKey, Stop, SystemHost
from controller_runtime.apiserver.server import APIServer
from controller_runtime.core.stop import spawn
from controller_runtime.testing import InProcessTransport
from controllers.heartbeat import LeaseHeartbeat

LEASE = ObjectKey("worker-7", "default")


def tell(client: Client, when: str) -> None:
    """Print what the lease says."""
    try:
        lease: dict[str, Any] = client.get(LEASES, LEASE, dict)
        spec = lease["spec"]
        print(f"{when:<22} {spec['holderIdentity']}, renewed at {spec['renewTime']}")
    except NotFound:
        print(f"{when:<22} no lease")


def play(host: Host) -> None:
    """Keep a lease for a few seconds."""
    client = Client(host, InProcessTransport(host, APIServer(host)))
    heartbeat = LeaseHeartbeat(
        host,
        client.within(1.0),
        holder_identity=f"{LEASE.name}_{host.uuid()}",
        lease_name=LEASE.name,
        lease_namespace=LEASE.namespace,
        lease_duration_seconds=4,
        renew_interval=1.0,
        delete_on_start_and_stop=True,
    )
    stop, asleep = Stop(host), Stop(host, "asleep")
    component = spawn(host, stop, "component", lambda: heartbeat.run(stop))
    asleep.wait(0.5)
    tell(client, "made at once")
    asleep.wait(1.1)
    tell(client, "renewed")
    client.delete(LEASES, LEASE)
    tell(client, "deleted by somebody")
    asleep.wait(1.1)
    tell(client, "made again")
    stop.set()
    component.join_until(None)
    tell(client, "after the end")


if __name__ == "__main__":
    play(SystemHost())

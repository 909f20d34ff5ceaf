# SPDX-License-Identifier: Apache-2.0
"""A component that renews its own lease and does nothing else: `python examples/heartbeat.py`.

It needs `LeaseHeartbeat.run(stop)`, and neither a manager nor a cache. When another client deletes
the lease, it is created again. The example ends after a few seconds, and deletes its lease.
"""

from __future__ import annotations

from typing import Any

from controller_runtime import Client, Host, ObjectKey, Stop, SystemHost, spawn
from controller_runtime.errors import NotFound
from controller_runtime.resources import LEASES
from controller_runtime.testing import EmbeddedCluster
from controllers.heartbeat import LeaseHeartbeat

LEASE = ObjectKey("worker-7", "default")


def show(client: Client, when: str) -> None:
    """Print the holder and the last renewal of the lease."""
    try:
        lease: dict[str, Any] = client.get(LEASES, LEASE, dict)
        spec = lease["spec"]
        print(f"{when:<22} {spec['holderIdentity']}, renewed at {spec['renewTime']}")
    except NotFound:
        print(f"{when:<22} no lease")


def play(host: Host) -> None:
    """Renew a lease for a few seconds, and print it in between."""
    client = EmbeddedCluster(host).user
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
    show(client, "created at once")
    asleep.wait(1.1)
    show(client, "renewed")
    client.delete(LEASES, LEASE)
    show(client, "deleted by a client")
    asleep.wait(1.1)
    show(client, "created again")
    stop.set()
    component.join_until(None)
    show(client, "after the end")


if __name__ == "__main__":
    play(SystemHost())

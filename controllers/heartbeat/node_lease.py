# SPDX-License-Identifier: Apache-2.0
"""The lease of a node, with the numbers of a kubelet: owned by the Node, valid for 40 s, renewed every 10 s."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from apimachinery.host import Host
from apimachinery.objects import ObjectKey, PartialObjectMetadata
from controller_runtime.api.resources import NODES
from controller_runtime.client.client import Client
from controllers.heartbeat.lease_heartbeat import LeaseHeartbeat, PostProcess, PostProcessFailure

NAMESPACE = "kube-node-lease"
DURATION = 40
"""Seconds for which a renewal is valid."""
RENEW_INTERVAL = 10.0
"""Seconds between two renewals: a quarter of the duration, so that several may fail before the lease expires."""
REQUEST_TIMEOUT = 10.0
"""Seconds for one request. A request that is lost must leave time for others before the lease expires."""


def owned_by_node(client: Client, node_name: str) -> PostProcess:
    """Return a post-process that makes the Node the owner of a lease that has no owner.

    The owner lets the garbage collector delete the lease after its Node. The Node is read only if the lease
    has no owner. If it cannot be read, the post-process fails, so that no lease is created before its Node.
    """

    def own(lease: dict[str, Any]) -> None:
        metadata = lease["metadata"]
        if not metadata.get("ownerReferences"):
            uid = client.get(NODES, ObjectKey(node_name), PartialObjectMetadata).metadata.uid
            metadata["ownerReferences"] = [{"apiVersion": "v1", "kind": "Node", "name": node_name, "uid": uid}]

    return own


def node_lease(
    host: Host,
    client: Client,
    node_name: str,
    *,
    duration: int = DURATION,
    renew_interval: float = RENEW_INTERVAL,
    on_repeated_heartbeat_failure: Callable[[], None] | None = None,
    is_quiet: bool = False,
) -> LeaseHeartbeat:
    """Return the heartbeat of a node's lease, with a kubelet's timing.

    Args:
        host: The source of the time, which is written into the lease.
        client: Writes the lease and reads the Node.
        node_name: Name of the Node, of its lease and of the lease's holder.
        duration: Seconds for which a renewal is valid; a kubelet's by default.
        renew_interval: As for `LeaseHeartbeat`; a kubelet's by default.
        on_repeated_heartbeat_failure: As for `LeaseHeartbeat`.
        is_quiet: As for `LeaseHeartbeat`.
    """
    client = client.within(min(REQUEST_TIMEOUT, duration))
    return LeaseHeartbeat(
        host,
        client,
        holder_identity=node_name,
        lease_duration_seconds=duration,
        renew_interval=renew_interval,
        lease_namespace=NAMESPACE,
        on_repeated_heartbeat_failure=on_repeated_heartbeat_failure,
        new_lease_post_process=owned_by_node(client, node_name),
        post_process_failure=PostProcessFailure.BLOCKS_CREATE_AND_UPDATE,
        is_quiet=is_quiet,
    )

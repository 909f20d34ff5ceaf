# SPDX-License-Identifier: Apache-2.0
"""The lease by which a node says that it lives, as its kubelet keeps it: owned by the Node, renewed every 10 s."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from controller_runtime.api.objects import ObjectKey
from controller_runtime.api.resources import NODES
from controller_runtime.client.client import Client
from controller_runtime.core.host import Host
from controllers.heartbeat.lease_heartbeat import LeaseHeartbeat, PostProcess, PostProcessFailure

NAMESPACE = "kube-node-lease"
DURATION = 40
"""Seconds that a renewal counts."""
RENEW_INTERVAL = 10.0
"""Seconds: a quarter of the duration."""
REQUEST_TIMEOUT = 10.0
"""Seconds for one request; a lost one must leave time for others before the lease expires."""


class _Metadata(msgspec.Struct, gc=False):
    uid: str


class _Node(msgspec.Struct, gc=False):
    metadata: _Metadata


def owned_by_node(client: Client, node_name: str) -> PostProcess:
    """A post-process that makes the Node the owner of a lease that has no owner.

    The Node is read only where the owner is missing. If it cannot be read the
    post-process fails: a lease is not made before its Node.
    """

    def own(lease: dict[str, Any]) -> None:
        metadata = lease["metadata"]
        if not metadata.get("ownerReferences"):
            uid = client.get(NODES, ObjectKey(node_name), _Node).metadata.uid
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
    """The heartbeat of a node, with a kubelet's numbers.

    Args:
        host: What it runs on.
        client: Writes the lease and reads the Node.
        node_name: Name of the Node, of its lease and of the lease's holder.
        duration: Seconds that a renewal counts; a kubelet's by default.
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

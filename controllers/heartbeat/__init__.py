# SPDX-License-Identifier: Apache-2.0
"""Lease heartbeats: one lease that renews itself with a thread of its own, or thousands on one queue."""

from controllers.heartbeat.lease_heartbeat import LeaseHeartbeat, PostProcess, PostProcessFailure
from controllers.heartbeat.node_lease import owned_by_node

__all__ = ["LeaseHeartbeat", "PostProcess", "PostProcessFailure", "owned_by_node"]

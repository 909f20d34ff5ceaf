# SPDX-License-Identifier: Apache-2.0
"""The lease heartbeat: one lease or thousands, kept alive by one queue."""

from controllers.heartbeat.lease_heartbeat import LeaseHeartbeat, PostProcess, PostProcessFailure
from controllers.heartbeat.node_lease import owned_by_node

__all__ = ["LeaseHeartbeat", "PostProcess", "PostProcessFailure", "owned_by_node"]

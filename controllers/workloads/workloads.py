# SPDX-License-Identifier: Apache-2.0
"""Composes the controllers of workloads, with the nodes on which their pods run."""

from __future__ import annotations

from controller_runtime.manager.manager import Manager
from controllers.workloads.claims import claim_binder
from controllers.workloads.cron_job import cron_job_controller
from controllers.workloads.daemon_set import daemon_set_controller
from controllers.workloads.deployment import deployment_controller
from controllers.workloads.endpoint_slices import endpoint_slice_controller
from controllers.workloads.fixed_nodes import FixedNodes
from controllers.workloads.job import finished_job_controller, job_controller
from controllers.workloads.kubelet import LivingPods
from controllers.workloads.replica_set import replica_set_controller
from controllers.workloads.scheduler import scheduler
from controllers.workloads.stateful_set import stateful_set_controller

NODES_BY_DEFAULT = 3
_CONTROLLERS = (
    scheduler,
    deployment_controller,
    replica_set_controller,
    stateful_set_controller,
    daemon_set_controller,
    job_controller,
    finished_job_controller,
    cron_job_controller,
    claim_binder,
    endpoint_slice_controller,
)


def add_workloads(manager: Manager, *, nodes: int = NODES_BY_DEFAULT) -> None:
    """Add the controllers of workloads to a manager, and nodes on which their pods run.

    Args:
        manager: The manager.
        nodes: The number of nodes to register, each with 8 cores, 32 GiB and room for 110 pods; they need no leases.
    """
    fixed = FixedNodes(manager, nodes)
    manager.add(fixed)
    manager.add(LivingPods(manager, fixed.is_running))
    add_workload_controllers(manager)


def add_workload_controllers(manager: Manager) -> None:
    """Add only the controllers of workloads, for a cluster whose nodes have `LivingPods` as kubelets."""
    for controller in _CONTROLLERS:
        manager.add(controller(manager))

# SPDX-License-Identifier: Apache-2.0
"""Composes what `controllers run` runs: a program whose setup adds the selected controllers and the hollow nodes."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence

import attrs

from apimachinery.errors import UsageError
from apimachinery.log import get_logger
from controller_runtime.api.resources import PODS
from controller_runtime.manager.lifecycle import Runnable
from controller_runtime.manager.manager import Manager
from controller_runtime.program.cluster import is_in_pod
from controller_runtime.program.plan import ProgramOptions, ProgramPlan, plan_program
from controller_runtime.program.program import Program
from controller_runtime.program.run_or_plan import run_or_plan
from controller_runtime.program.session import GRACE
from controller_runtime.program.snapshot import Panel
from controllers.command import catalog, hosting
from controllers.command.panel import NodePanel
from controllers.command.snapshot import ClusterSource
from controllers.election.lease_candidate_election import NAME as ELECTION
from controllers.hollow.control import add_hollow_nodes
from controllers.hollow.pods import HollowPods
from controllers.node_lifecycle.config import LifecycleConfig
from controllers.node_lifecycle.node_lifecycle import NAME as NODE_LIFECYCLE
from controllers.shared.cache_trims import trim_caches

log = get_logger(__name__)

NAME = "controllers"
LEASE_NAMESPACE = "kube-system"


@attrs.frozen(kw_only=True)
class RunOptions(ProgramOptions):
    """The options of `controllers run`. Each is valid by itself; `plan` checks that they are consistent."""

    controllers: str | None = None
    hollow_nodes: int = 0
    pods: int = 0
    toleration_seconds: int | None = None
    allow_fake_nodes: bool = False
    workloads: bool = False
    lifecycle: Mapping[str, float] = attrs.field(factory=dict)


@attrs.frozen
class Plan(ProgramPlan):
    """The controllers to run and their configuration, decided from the options before anything is started.

    Attributes:
        names: The controllers to run.
        lifecycle: The configuration of the node lifecycle controller.
    """

    names: list[str]
    lifecycle: LifecycleConfig


def plan(options: RunOptions, *, in_cluster: bool) -> Plan:
    """Return what to run and where.

    Args:
        options: The options of the command line.
        in_cluster: Whether this process runs in a pod, whose cluster is then the default.

    Raises:
        UsageError: The options contradict each other, or could harm a cluster by accident.
    """
    where = plan_program(options, in_pod=in_cluster, lease_name=NAME, lease_namespace=LEASE_NAMESPACE)
    embedded = where.cluster.embedded
    if not embedded and options.controllers is None:
        raise UsageError("--controllers is required on a cluster: name what to run, such as --controllers=node-ttl")
    if not embedded and options.hollow_nodes and not options.allow_fake_nodes:
        raise UsageError(
            "--hollow-nodes would add fake nodes to a real cluster: add --allow-fake-nodes if you mean that"
        )
    if options.plan and options.hollow_nodes:
        raise UsageError("--plan and --hollow-nodes exclude each other: hollow nodes report by themselves")
    if options.workloads and not embedded:
        raise UsageError("--workloads is for the embedded server alone: a cluster has controllers of workloads already")
    if options.pods and not options.hollow_nodes:
        raise UsageError("--pods needs --hollow-nodes: the pods are bound to them")
    if options.toleration_seconds is not None and not options.pods:
        raise UsageError("--toleration-seconds needs --pods: it is how long they stay on an unreachable node")
    names = catalog.select_controllers("*" if options.controllers is None else options.controllers, embedded=embedded)
    if options.coordinated and ELECTION in names:
        raise UsageError(f"{ELECTION} cannot elect its own leader: run it with --leader-elect, without --coordinated")
    _check_ring(options, names)
    return Plan(
        where.cluster, where.leader_election, where.ring, names, _lifecycle(options, names), record=where.record
    )


def _check_ring(options: RunOptions, names: list[str]) -> None:
    """Refuse a ring that would share nothing, or in which a controller that needs the whole would run twice.

    Raises:
        UsageError: It would.
    """
    whole = [name for name in names if name in catalog.NEEDS_THE_WHOLE]
    if options.ring and whole and (len(whole) == len(names) or not options.leader_elect):
        why = f"{whole[0]} needs the whole: {catalog.NEEDS_THE_WHOLE[whole[0]]}"
        cure = "run it with --leader-elect alone" if len(whole) == len(names) else "add --leader-elect for it"
        raise UsageError(f"--ring cannot share {', '.join(whole)}: {why}; {cure}")


def _lifecycle(options: RunOptions, names: list[str]) -> LifecycleConfig:
    """Return the configuration of the node lifecycle controller.

    Raises:
        UsageError: A number is out of range, or the controller is not to run.
    """
    if options.lifecycle and NODE_LIFECYCLE not in names:
        flags = ", ".join(f"--{name.replace('_', '-')}" for name in options.lifecycle)
        raise UsageError(f"{flags} is for {NODE_LIFECYCLE} alone: add it to --controllers")
    try:
        return LifecycleConfig.of(options.lifecycle)
    except ValueError as error:
        raise UsageError(str(error)) from error


def run(options: RunOptions) -> int:
    """Run until a signal or the end of `duration`, or print a plan; return the exit status.

    Raises:
        UsageError: The options contradict each other, or the kubeconfig cannot be used.
        ControllerRuntimeError: The cluster cannot be reached, or a part of the program failed.
    """
    todo = plan(options, in_cluster=is_in_pod())
    # The server's process does not host what runs here: two of one controller would write against each other.
    hosted = ",".join(name for name in hosting.HOSTABLE if name not in todo.names)
    with contextlib.ExitStack() as stack:

        def setup(manager: Manager) -> None:
            compose(manager, options, todo, stack)

        def panels(manager: Manager) -> Sequence[Panel]:
            if not todo.cluster.embedded:
                return []
            panel = NodePanel(ClusterSource(manager).take)
            manager.show_status(panel.tables)
            return [panel]

        program = Program(
            name=NAME,
            setup=setup,
            server=("controllers", "apiserver", "--hosted", hosted),
            panels=panels,
            lease_namespace=LEASE_NAMESPACE,
            grace=GRACE,
        )
        return run_or_plan(program, options)


def compose(manager: Manager, options: RunOptions, todo: Plan, stack: contextlib.ExitStack) -> None:
    """Add the controllers and the hollow nodes to `manager`.

    Args:
        manager: The manager, which does not run yet.
        options: The options, with the numbers of hollow nodes, pods and workers.
        todo: The plan, with the names of the controllers.
        stack: Gets the cleanup of everything that is started here.
    """
    trim_caches(manager, but=[PODS] if options.workloads else ())
    configs = {NODE_LIFECYCLE: todo.lifecycle}
    for controller in catalog.build(manager, todo.names, workers=options.workers, configs=configs):
        manager.add(controller)
    count = options.hollow_nodes
    kubelet: Callable[[Manager, Callable[[str], bool]], Runnable] = HollowPods
    if options.workloads:
        # Imported here, because a program without workloads needs none of it.
        from controllers.workloads.kubelet import LivingPods
        from controllers.workloads.workloads import NODES_BY_DEFAULT, add_workload_controllers

        add_workload_controllers(manager)
        count, kubelet = count or NODES_BY_DEFAULT, LivingPods
    if count:
        add_hollow_nodes(
            manager,
            count,
            stack,
            pods=options.pods,
            toleration_seconds=options.toleration_seconds,
            kubelet=kubelet,
        )

# SPDX-License-Identifier: Apache-2.0
"""Composes what `controllers run` runs: an API server, a manager with controllers, hollow nodes, and a view."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import attrs

from controller_runtime.core.errors import UsageError
from controller_runtime.core.host import Host
from controller_runtime.core.log import get_logger
from controller_runtime.core.stop import Stop, spawn
from controller_runtime.core.system import SystemHost
from controller_runtime.election.config import Candidacy, LeaderElectionConfig
from controller_runtime.manager.endpoints import NOWHERE, Endpoints
from controller_runtime.manager.inspection import report
from controller_runtime.manager.manager import Manager
from controller_runtime.program.session import GRACE, reach
from controller_runtime.program.signals import handled_signals
from controller_runtime.testing.server_process import APIServerProcess
from controllers.command import catalog, hosting
from controllers.command.snapshot import SnapshotSource
from controllers.command.view import LastLines, LiveView, PlainView, View
from controllers.election.lease_candidate_election import NAME as ELECTION
from controllers.hollow.control import add_hollow_nodes
from controllers.node_lifecycle.config import LifecycleConfig
from controllers.node_lifecycle.node_lifecycle import NAME as NODE_LIFECYCLE
from controllers.shared.cache_trims import trim_caches

log = get_logger(__name__)


@attrs.frozen(kw_only=True)
class RunOptions:
    """The options of `controllers run`, of which each alone is valid; `plan` checks whether they fit together."""

    controllers: str | None = None
    embedded: bool = False
    kubeconfig: Path | None = None
    context: str | None = None
    hollow_nodes: int = 0
    pods: int = 0
    toleration_seconds: int | None = None
    allow_fake_nodes: bool = False
    leader_elect: bool = False
    coordinated: bool = False
    binary_version: str | None = None
    emulation_version: str | None = None
    leader_election_id: str | None = None
    leader_election_namespace: str | None = None
    workers: int | None = None
    duration: float | None = None
    metrics_bind_address: str = NOWHERE
    health_probe_bind_address: str = NOWHERE
    lifecycle: Mapping[str, float] = attrs.field(factory=dict)
    live: bool = False


@attrs.frozen
class Plan:
    """The decision what to run and where, made from the options and the environment before anything is started.

    Attributes:
        embedded: Start an embedded API server and run on it.
        kubeconfig: The file that names the cluster; None is the embedded server, or the cluster of this pod.
        context: The context of `kubeconfig`; None is its current one.
        names: The controllers to run.
        leader_election: How replicas elect a leader; None runs the controllers without an election.
        lifecycle: The configuration of the node lifecycle controller.
    """

    embedded: bool
    kubeconfig: Path | None
    context: str | None
    names: list[str]
    leader_election: LeaderElectionConfig | None
    lifecycle: LifecycleConfig


def plan(options: RunOptions, *, in_cluster: bool) -> Plan:
    """Decide what to run and where.

    Args:
        options: The options of the command line.
        in_cluster: This process runs in a pod, so without other options its cluster is meant.

    Raises:
        UsageError: The options contradict each other, or could harm a cluster by accident.
    """
    if options.embedded and options.kubeconfig:
        raise UsageError("--embedded and --kubeconfig exclude each other: give one of them")
    if options.context and not options.kubeconfig:
        raise UsageError("--context needs --kubeconfig: it names a context of that file")
    embedded = options.embedded or not (options.kubeconfig or in_cluster)
    if not embedded and options.controllers is None:
        raise UsageError("--controllers is required on a cluster: name what to run, such as --controllers=node-ttl")
    if not embedded and options.hollow_nodes and not options.allow_fake_nodes:
        raise UsageError(
            "--hollow-nodes would add fake nodes to a real cluster: add --allow-fake-nodes if you mean that"
        )
    if options.pods and not options.hollow_nodes:
        raise UsageError("--pods needs --hollow-nodes: the pods are bound to them")
    if options.toleration_seconds is not None and not options.pods:
        raise UsageError("--toleration-seconds needs --pods: it is how long they stay on an unreachable node")
    names = catalog.select_controllers("*" if options.controllers is None else options.controllers, embedded=embedded)
    leader_election, lifecycle = _leader_election(options, names), _lifecycle(options, names)
    return Plan(embedded, options.kubeconfig, options.context, names, leader_election, lifecycle)


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


def _leader_election(options: RunOptions, names: list[str]) -> LeaderElectionConfig | None:
    """Return how replicas of this command elect their leader; None for no election.

    Raises:
        UsageError: An option of an election is given without the option that it needs; or the
            controller that decides elections would itself wait to be elected.
    """
    if options.coordinated and not options.leader_elect:
        raise UsageError("--coordinated needs --leader-elect: add it")
    if (options.binary_version or options.emulation_version) and not options.coordinated:
        raise UsageError("--binary-version and --emulation-version need --coordinated: only a candidate declares them")
    if options.coordinated and ELECTION in names:
        raise UsageError(f"{ELECTION} cannot elect its own leader: run it with --leader-elect, without --coordinated")
    if options.leader_elect:
        return LeaderElectionConfig(
            name=options.leader_election_id or "controllers",
            namespace=options.leader_election_namespace or "kube-system",
            coordinated=_candidacy(options) if options.coordinated else None,
        )
    if options.leader_election_id or options.leader_election_namespace:
        raise UsageError("--leader-election-id and --leader-election-namespace need --leader-elect: add it")
    return None


def _candidacy(options: RunOptions) -> Candidacy:
    versions = {"binary_version": options.binary_version, "emulation_version": options.emulation_version}
    try:
        return Candidacy(**{name: version for name, version in versions.items() if version is not None})
    except ValueError as error:
        raise UsageError(f"this replica cannot be a candidate: {error}") from error


def run(options: RunOptions) -> None:
    """Run until a signal or the end of `duration` asks to stop.

    Raises:
        UsageError: The options contradict each other, or the kubeconfig cannot be used.
        ControllerRuntimeError: The cluster cannot be reached, or a part of the program failed.
    """
    todo = plan(options, in_cluster="KUBERNETES_SERVICE_HOST" in os.environ)
    host = SystemHost()
    stop = Stop(host)
    with contextlib.ExitStack() as stack:
        # Bound first, so that an address that is in use is an error before anything is started.
        endpoints = stack.enter_context(
            Endpoints(metrics=options.metrics_bind_address, probes=options.health_probe_bind_address)
        )
        signals = stack.enter_context(handled_signals(host, stop))
        kubeconfig, title = todo.kubeconfig, f"cluster of {todo.kubeconfig or 'this pod'}"
        if todo.embedded:
            # The server's process does not host what runs here: two of one controller would write against each other.
            hosted = ",".join(name for name in hosting.HOSTABLE if name not in todo.names)
            program = ("controllers", "apiserver", "--hosted", hosted)
            server = stack.enter_context(APIServerProcess(host, program=program))
            kubeconfig, title = server.kubeconfig, "embedded API server"
            log.info("embedded API server is ready", pid=server.pid, kubeconfig=kubeconfig)
        manager = Manager.from_kubeconfig(kubeconfig, todo.context, grace=GRACE, leader_election=todo.leader_election)
        trim_caches(manager)
        reach(manager, stop)
        compose(manager, host, stop, options, todo, title, stack)
        endpoints.serve(manager)
        signals.report = lambda: report(manager)
        if options.duration is not None:
            spawn(host, stop, "duration", _after(stop, options.duration))
        log.info("running", cluster=title, controllers=",".join(todo.names))
        manager.run(stop)
    log.info("stopped")


def compose(
    manager: Manager, host: Host, stop: Stop, options: RunOptions, todo: Plan, title: str, stack: contextlib.ExitStack
) -> None:
    """Add the controllers and the hollow nodes to `manager`, and start a view of them.

    Args:
        manager: The manager, which does not run yet.
        host: Runs the view's thread.
        stop: Ends the view.
        options: Hollow nodes, pods, workers, and whether the view is live.
        todo: The controllers, and whether the cluster is the embedded one.
        title: Names the cluster in a live view.
        stack: Ends what is started here, in reverse order.
    """
    controllers = catalog.build(manager, todo.names, workers=options.workers, configs={NODE_LIFECYCLE: todo.lifecycle})
    for controller in controllers:
        manager.add(controller)
    if options.hollow_nodes:
        add_hollow_nodes(
            manager, options.hollow_nodes, stack, pods=options.pods, toleration_seconds=options.toleration_seconds
        )
    source = SnapshotSource(manager, controllers, cluster=todo.embedded)
    view: View = PlainView(source.take)
    if options.live:
        lines = stack.enter_context(_captured_log())
        view = LiveView(source.take, lines.lines, title=title)
    thread = spawn(host, stop, "view", lambda: view.run(stop))
    stack.callback(thread.join_until, None)
    stack.callback(stop.set)


@contextlib.contextmanager
def _captured_log() -> Iterator[LastLines]:
    """Collect log lines inside the block: written to the terminal, they would break the live view's picture."""
    root = logging.getLogger()
    before, lines = root.handlers[:], LastLines()
    root.handlers[:] = [lines]
    try:
        yield lines
    finally:
        root.handlers[:] = before


def _after(stop: Stop, seconds: float) -> Callable[[], None]:
    def wait() -> None:
        if not stop.wait(seconds):
            log.info("the duration has passed, stopping", seconds=seconds)
            stop.set()

    return wait

# SPDX-License-Identifier: Apache-2.0
"""Composes a run of the node agent: its options, a cluster, a manager, and this machine."""

from __future__ import annotations

import contextlib
import platform
from pathlib import Path
from typing import Any

import attrs

from apimachinery.errors import NotFound, UsageError
from apimachinery.log import get_logger
from apimachinery.objects import ObjectKey
from apimachinery.stop import Stop, spawn
from apimachinery.system import SystemHost
from controller_runtime.api.resources import NODES
from controller_runtime.manager.inspection import report
from controller_runtime.manager.manager import Manager
from controller_runtime.program.cluster import choose_cluster, is_in_pod, served
from controller_runtime.program.session import GRACE, await_server
from controller_runtime.program.signals import handled_signals
from controllers.agent.agent import add_node_agent
from controllers.agent.node import version_of_kubelet
from controllers.agent.observer import MachineObserver
from controllers.agent.pressure import DEFAULTS, parse_thresholds
from controllers.agent.resolver import Resolver
from controllers.agent.settings import (
    Settings,
    node_name,
    parse_labels,
    parse_node_ips,
    parse_reserved,
    parse_taints,
)
from controllers.heartbeat.node_lease import DURATION

log = get_logger(__name__)


@attrs.frozen(kw_only=True)
class AgentOptions:
    """The options of `controllers agent`; texts are in the notation of the kubelet's options."""

    node_name: str | None = None
    embedded: bool = False
    kubeconfig: Path | None = None
    context: str | None = None
    register_node: bool = True
    take_over: bool = False
    node_labels: str = ""
    register_with_taints: str = ""
    node_ip: str = ""
    provider_id: str = ""
    controller_attach_detach: bool = True
    max_pods: int = 0
    system_reserved: str = ""
    kube_reserved: str = ""
    eviction_hard: str | None = None
    eviction_pressure_transition_period: float = 300.0
    node_status_update_frequency: float | None = None
    node_status_report_frequency: float | None = None
    node_lease_duration_seconds: int = DURATION
    shutdown_grace_period: float = 0.0
    root_dir: str = "/"
    duration: float | None = None


def settings_of(options: AgentOptions, hostname: str) -> Settings:
    """Return the settings for these options, on a machine named `hostname`.

    Raises:
        UsageError: The value of an option is invalid.
    """
    if not Path(options.root_dir).is_dir():
        raise UsageError(f"--root-dir: {options.root_dir} is not a folder: name one on the disk that is to be measured")
    update, post = options.node_status_update_frequency, options.node_status_report_frequency
    # As in a kubelet, the update frequency alone also sets how often an unchanged status is posted.
    report_interval = post or update or 300.0
    return Settings(
        name=node_name(options.node_name, hostname),
        labels=parse_labels(options.node_labels),
        taints=parse_taints(options.register_with_taints),
        node_ips=parse_node_ips(options.node_ip),
        provider_id=options.provider_id,
        attach_detach=options.controller_attach_detach,
        register=options.register_node,
        max_pods=options.max_pods,
        system_reserved=parse_reserved("--system-reserved", options.system_reserved),
        kube_reserved=parse_reserved("--kube-reserved", options.kube_reserved),
        thresholds=DEFAULTS if options.eviction_hard is None else parse_thresholds(options.eviction_hard),
        pressure_hold=options.eviction_pressure_transition_period,
        update_interval=update or 10.0,
        report_interval=report_interval,
        lease_duration=options.node_lease_duration_seconds,
        shutdown_grace=options.shutdown_grace_period,
        root=options.root_dir,
    )


def run_agent(options: AgentOptions) -> None:
    """Run the agent until a signal or the end of `duration` stops it.

    Without a kubeconfig it runs on the cluster of the pod that this process runs in, or else on an embedded server. If
    the API server does not answer, the agent waits for it.

    Raises:
        UsageError: The options are invalid, the kubeconfig cannot be used, or a kubelet posts the status of the Node.
        ControllerRuntimeError: The credentials are refused, or the run failed.
    """
    cluster = choose_cluster(
        embedded=options.embedded, kubeconfig=options.kubeconfig, context=options.context, in_pod=is_in_pod()
    )
    settings = settings_of(options, platform.node())
    host = SystemHost()
    stop = Stop(host)
    with contextlib.ExitStack() as stack:
        signals = stack.enter_context(handled_signals(host, stop))
        kubeconfig = stack.enter_context(served(host, cluster))
        if (duration := options.duration) is not None:
            spawn(host, stop, "duration", lambda: None if stop.wait(duration) else stop.set())
        manager = Manager.from_kubeconfig(kubeconfig, options.context, grace=max(GRACE, settings.shutdown_grace))
        await_server(
            manager, stop, lambda: None if options.take_over else refuse_node_of_kubelet(manager, settings.name)
        )
        resolver = Resolver(host, settings.name)
        observer = MachineObserver(folder=settings.root, resolve=tuple if settings.node_ips else resolver.addresses)
        if unknown := observer.observe().unknown():
            log.warning("this system does not report all of a machine", unknown=", ".join(unknown))
        add_node_agent(manager, observer, settings)
        signals.report = lambda: report(manager)
        manager.run(stop)
    log.info("stopped")


def refuse_node_of_kubelet(manager: Manager, name: str) -> None:
    """Check that no kubelet posts the status of the Node: the agent and the kubelet would undo each other's posts.

    Raises:
        UsageError: The status of the Node has a kubelet's version.
        ControllerRuntimeError: The Node cannot be read.
    """
    try:
        node: dict[str, Any] = manager.client.get(NODES, ObjectKey(name), dict)
    except NotFound:
        return
    if version := version_of_kubelet(node):
        raise UsageError(
            f"a kubelet ({version}) posts the status of node {name}: give --node-name another name, "
            "or --take-over if that kubelet is gone"
        )

# SPDX-License-Identifier: Apache-2.0
"""Composes a run of hollow nodes only: a cluster, a manager, the nodes and their control socket."""

from __future__ import annotations

import contextlib
from pathlib import Path

import attrs

from apimachinery.log import get_logger
from apimachinery.stop import Stop, spawn
from apimachinery.system import SystemHost
from controller_runtime.manager.inspection import report
from controller_runtime.manager.manager import Manager
from controller_runtime.program.cluster import choose_cluster, is_in_pod, served
from controller_runtime.program.session import reach
from controller_runtime.program.signals import handled_signals
from controllers.hollow.control import add_hollow_nodes
from controllers.shared.cache_trims import trim_caches

log = get_logger(__name__)


@attrs.frozen(kw_only=True)
class HollowRunOptions:
    """The options of `controllers hollow-nodes`."""

    count: int
    embedded: bool = False
    kubeconfig: Path | None = None
    context: str | None = None
    workers: int | None = None
    duration: float | None = None
    control: Path | None = None


def run_hollow_nodes(options: HollowRunOptions) -> None:
    """Run hollow nodes until a signal or the end of `duration` stops them.

    Without a kubeconfig they run on the cluster of the pod that this process runs in, or else on an embedded server.

    Raises:
        UsageError: The options are invalid, or the kubeconfig cannot be used.
        ControllerRuntimeError: The cluster cannot be reached, or the run failed.
    """
    cluster = choose_cluster(
        embedded=options.embedded, kubeconfig=options.kubeconfig, context=options.context, in_pod=is_in_pod()
    )
    host = SystemHost()
    stop = Stop(host)
    with contextlib.ExitStack() as stack:
        signals = stack.enter_context(handled_signals(host, stop))
        kubeconfig = stack.enter_context(served(host, cluster))
        manager = Manager.from_kubeconfig(kubeconfig, options.context)
        trim_caches(manager)
        reach(manager, stop)
        add_hollow_nodes(manager, options.count, stack, workers=options.workers, path=options.control)
        signals.report = lambda: report(manager)
        if (duration := options.duration) is not None:
            spawn(host, stop, "duration", lambda: None if stop.wait(duration) else stop.set())
        manager.run(stop)
    log.info("stopped")

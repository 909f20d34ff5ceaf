# SPDX-License-Identifier: Apache-2.0
"""The cluster that a program runs on: the one that was named, that of its pod, or an embedded API server."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import attrs

from apimachinery.errors import UsageError
from apimachinery.host import Host
from apimachinery.log import get_logger

log = get_logger(__name__)

BARE_SERVER = ("embedded_apiserver", "--cluster-objects")
"""The module that `python -m` runs as the embedded server, and its arguments: an API server without controllers."""


@attrs.frozen
class Cluster:
    """The cluster on which a program runs.

    Attributes:
        embedded: True to start an embedded API server and run on it.
        kubeconfig: The kubeconfig of the cluster; None for the embedded server, or for the cluster of this pod.
        context: The context in `kubeconfig`; None for its current one.
        by_default: True if no option selected a cluster.
    """

    embedded: bool
    kubeconfig: Path | None = None
    context: str | None = None
    by_default: bool = False

    def __str__(self) -> str:
        return "embedded API server" if self.embedded else f"cluster of {self.kubeconfig or 'this pod'}"


def is_in_pod() -> bool:
    """Return whether this process runs in a pod; then the cluster of the pod is the default."""
    return "KUBERNETES_SERVICE_HOST" in os.environ


def choose_cluster(*, embedded: bool, kubeconfig: Path | None, context: str | None, in_pod: bool) -> Cluster:
    """Return the cluster to run on: the one that the options name, or else that of the pod, or else an embedded server.

    Args:
        embedded: The option `--embedded`.
        kubeconfig: The option `--kubeconfig`.
        context: The option `--context`.
        in_pod: True if this process runs in a pod; see `is_in_pod`.

    Raises:
        UsageError: The options contradict each other.
    """
    if embedded and kubeconfig:
        raise UsageError("--embedded and --kubeconfig exclude each other: give one of them")
    if context and not kubeconfig:
        raise UsageError("--context needs --kubeconfig: it names a context of that file")
    by_default = not (embedded or kubeconfig)
    return Cluster(embedded or (by_default and not in_pod), kubeconfig, context, by_default)


@contextlib.contextmanager
def served(host: Host, cluster: Cluster, server: Sequence[str] = BARE_SERVER) -> Iterator[Path | None]:
    """Return a context manager that yields the kubeconfig of the cluster, and runs the embedded server if it is chosen.

    Args:
        host: The source of the time.
        cluster: The chosen cluster.
        server: The module that `python -m` runs as the server, followed by arguments.

    Raises:
        ControllerRuntimeError: The server does not start.
    """
    if not cluster.embedded:
        yield cluster.kubeconfig
        return
    # Imported here, because a program on a cluster needs nothing of the tools for tests.
    from controller_runtime.testing.server_process import APIServerProcess

    with APIServerProcess(host, program=server) as process:
        because = {"because": "no option names a cluster"} if cluster.by_default else {}
        log.info("embedded API server is ready", pid=process.pid, kubeconfig=process.kubeconfig, **because)
        yield process.kubeconfig

# SPDX-License-Identifier: Apache-2.0
"""TTL annotations of all nodes of a server of your own: our command beside kube-controller-manager.

Both are processes that are observed from outside: a watch of the nodes' metadata, in this process, tells when the last
node has its annotation. The annotations are removed before each run.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from apimachinery.host import Host
from apimachinery.objects import ObjectKey, PartialObjectMetadata
from apimachinery.stop import Stop, spawn
from benchmarks.harness import Figures, PeerFailed, cpu_seconds_of, peak_mib_of
from benchmarks.nodes import spread
from controller_runtime.api.resources import NODES
from controller_runtime.cache.store import Delta
from controller_runtime.manager.manager import Manager
from controllers.node_ttl import ANNOTATION

TIMEOUT = 900.0
"""Seconds for one step; kube-controller-manager needed one minute for 10,000 nodes."""


_decoder = msgspec.json.Decoder(PartialObjectMetadata)


def _has_ttl(node: PartialObjectMetadata) -> bool:
    return ANNOTATION in (node.metadata.annotations or {})


class Annotated:
    """The nodes that have the annotation, as a watch shows them. Threads: `observe` on one, `wait` on another."""

    def __init__(self) -> None:
        self._named: set[str] = set()
        self._wanted: tuple[int, Stop] | None = None

    def observe(self, delta: Delta) -> None:
        """Note a change."""
        node = _decoder.decode(delta.object.raw)
        (self._named.add if delta.new is not None and _has_ttl(node) else self._named.discard)(node.metadata.name)
        if self._wanted is not None and len(self._named) == self._wanted[0]:
            self._wanted[1].set()

    def wait(self, count: int, stop: Stop, goes_on: Callable[[], bool]) -> None:
        """Wait until `count` nodes have the annotation.

        Raises:
            PeerFailed: That took longer than `TIMEOUT`, or `goes_on` returned False before.
        """
        self._wanted = count, stop  # before the look: the last change may come in between
        deadline = time.monotonic() + TIMEOUT
        while len(self._named) != count and not stop.wait(1.0):
            if not goes_on() or time.monotonic() > deadline:
                raise PeerFailed(f"it ended or took too long: {len(self._named)} of {count} nodes have the annotation")


class Fleet:
    """The nodes of a server whose annotations may be removed and set. Threads: one."""

    def __init__(self, host: Host, manager: Manager, annotated: Annotated, count: int) -> None:
        self._host = host
        self._manager = manager
        self._annotated = annotated
        self._count = count

    def measured(self, command: Sequence[str]) -> Figures:
        """Run a command until all nodes have the annotation; return its wall and CPU seconds and its peak memory.

        Raises:
            PeerFailed: It ended, or did not annotate all nodes in time.
        """
        self._remove()
        began = time.perf_counter()
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            try:
                self._annotated.wait(self._count, Stop(self._host), lambda: process.poll() is None)
                wall = time.perf_counter() - began
                cpu, peak = cpu_seconds_of(process.pid), peak_mib_of(process.pid)
            finally:
                process.kill()
        return {"wall_s": wall, "cpu_s": cpu, "peak_mib": peak}

    def _remove(self) -> None:
        client = self._manager.client
        annotated = [node.metadata.name for node in client.list(NODES.only_metadata()) if _has_ttl(node)]
        patch = {"metadata": {"annotations": {ANNOTATION: None}}}
        spread(self._host, len(annotated), lambda index: client.patch(NODES, ObjectKey(annotated[index]), patch))
        self._annotated.wait(0, Stop(self._host), lambda: True)


@contextmanager
def fleet(host: Host, kubeconfig: Path, count: int) -> Iterator[Fleet]:
    """Watch the nodes for as long as the block runs."""
    manager, annotated, stop = Manager.from_kubeconfig(kubeconfig), Annotated(), Stop(host)
    manager.informer(NODES.only_metadata()).subscribe(annotated.observe, name="annotated")
    thread = spawn(host, stop, "observer", lambda: manager.run(stop))
    try:
        yield Fleet(host, manager, annotated, count)
    finally:
        stop.set()
        thread.join_until(None)


def peers(fleet: Fleet, kubeconfig: Path, anchors: Path | None) -> Mapping[str, Callable[[], Figures]]:
    """Return a function for each peer that measures one run."""
    ours = [sys.executable, "-m", "controllers", "run", f"--kubeconfig={kubeconfig}", "--controllers=node-ttl"]

    def anchor() -> Figures:
        if anchors is None or not (anchors / "kube-controller-manager").exists():
            raise PeerFailed("put kube-controller-manager into the directory of --anchors")
        # Its client sends 20 requests a second by default, and ours as many as it can.
        limits = ("--kube-api-qps=100000", "--kube-api-burst=100000")
        rest = ("--controllers=ttl-controller", "--leader-elect=false", "--secure-port=0")
        return fleet.measured([str(anchors / "kube-controller-manager"), f"--kubeconfig={kubeconfig}", *rest, *limits])

    return {
        "controller-runtime": lambda: fleet.measured(ours),
        "kube-controller-manager": anchor,
    }

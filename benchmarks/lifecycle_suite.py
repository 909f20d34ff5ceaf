# SPDX-License-Identifier: Apache-2.0
"""The cost of node-lifecycle and taint-eviction in a large cluster: both in one process, over TLS."""

from __future__ import annotations

import socket
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path

from apimachinery.host import Host
from apimachinery.objects import ObjectKey
from apimachinery.stop import Stop, spawn
from benchmarks.harness import Figures, PeerFailed, Row, budgeted, cpu_seconds_of, peak_mib_of
from controller_runtime.api.codec import decoder_for
from controller_runtime.api.resources import LEASES, NODES
from controller_runtime.cache.store import Delta
from controller_runtime.manager.manager import Manager
from controller_runtime.testing.server_process import APIServerProcess
from controllers.heartbeat.node_lease import NAMESPACE
from controllers.hollow.control import command
from controllers.hollow.selection import Selection
from controllers.node_lifecycle.health import Graces
from controllers.node_lifecycle.views import MonitoredNodeView, NodeLeaseView

NODE_COUNT, POD_COUNT = 5000, 50_000
SECONDS = 30.0
"""Seconds of the steady state that are measured: three renewals of each lease."""
POLL_INTERVAL = 5.0
"""Seconds between two reads of the metrics that show whether the controllers have seen all objects."""
TIMEOUT = 240.0
"""Seconds for each step."""
BUDGETS = {"quiet_cores": "<= 0.1", "last_marked_after_grace_s": "<= 5", "peak_mib": "<= 300"}


def lifecycle(host: Host) -> list[Row]:
    """Measure nodes with pods that renew their leases every 10 s, then the failure of a tenth of the nodes at once."""
    work = f"node-lifecycle and taint-eviction, {NODE_COUNT} nodes of 7 KB at 10 s, {POD_COUNT} pods of 6 KB"
    return [budgeted(work, "controller-runtime", lambda: _measured(host), BUDGETS)]


def _measured(host: Host) -> Figures:
    filled = ("benchmarks.peers.filled_server", str(NODE_COUNT), str(POD_COUNT))
    with ExitStack() as stack:
        control = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "control"
        server = stack.enter_context(APIServerProcess(host, program=filled, start_timeout=TIMEOUT))
        cluster = f"--kubeconfig={server.kubeconfig}"
        stack.enter_context(_running("hollow-nodes", cluster, f"--count={NODE_COUNT}", f"--control={control}"))
        manager = Manager.from_kubeconfig(server.kubeconfig)
        _until(host, 1.0, lambda: len(manager.client.list(LEASES, NAMESPACE, view=NodeLeaseView)) == NODE_COUNT)
        address = f"127.0.0.1:{_free_port()}"
        addresses = (f"--metrics-bind-address={address}", f"--health-probe-bind-address={address}")
        names = "--controllers=node-lifecycle,taint-eviction"
        pid = stack.enter_context(_running("run", cluster, names, *addresses))
        _until(host, POLL_INTERVAL, _is_unchanged(lambda: _progress(address)))
        figures = {"sync_cpu_s": cpu_seconds_of(pid), "quiet_cores": _cores(host, pid, SECONDS)}
        used = cpu_seconds_of(pid)
        figures |= _death(host, manager, control)
        return figures | {"death_cpu_s": cpu_seconds_of(pid) - used, "peak_mib": peak_mib_of(pid)}


@contextmanager
def _running(*arguments: str) -> Iterator[int]:
    """Run a command of `controllers` in a process of its own, and return its id."""
    with subprocess.Popen([sys.executable, "-m", "controllers", *arguments], stderr=subprocess.DEVNULL) as process:
        try:
            yield process.pid
        finally:
            process.kill()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
        return port


def _is_unchanged(read: Callable[[], str]) -> Callable[[], bool]:
    """Return a function that is true once `read` returns the same text twice in a row, and not the empty text."""
    before = ""

    def is_same() -> bool:
        nonlocal before
        earlier, before = before, read()
        return earlier == before != ""

    return is_same


def _progress(address: str) -> str:
    """Return the metrics of requests and queue depths at `address`; empty before the controllers are ready."""
    try:
        for path in ("readyz", "metrics"):
            with urllib.request.urlopen(f"http://{address}/{path}") as answer:
                text = answer.read().decode()
    except OSError:  # not ready, or not there yet
        return ""
    return "\n".join(line for line in text.splitlines() if line.startswith(("rest_client_requests", "workqueue_depth")))


def _cores(host: Host, pid: int, seconds: float) -> float:
    """Return the share of a core that a process uses, measured for `seconds`."""
    began, used = host.monotonic(), cpu_seconds_of(pid)
    Stop(host).wait(seconds)
    return (cpu_seconds_of(pid) - used) / (host.monotonic() - began)


def _until(host: Host, pause: float, condition: Callable[[], bool]) -> None:
    deadline = host.monotonic() + TIMEOUT
    while not condition():
        if host.monotonic() > deadline:
            raise PeerFailed(f"not ready after {TIMEOUT:.0f} s")
        Stop(host).wait(pause)


def _death(host: Host, manager: Manager, control: Path) -> dict[str, float]:
    """Kill a tenth of the nodes; return how many of them and how many others are marked Unknown, and how late."""
    leases, read = manager.lister(LEASES, NodeLeaseView, namespace=NAMESPACE), decoder_for(MonitoredNodeView, NODES)
    lags: dict[str, float] = {}

    def observe(delta: Delta) -> None:
        node = read(delta.object.raw)
        if node.ready is not None and node.ready.is_ours and node.name not in lags:
            lease, posted = leases.get(ObjectKey(node.name, NAMESPACE)), node.ready.last_heartbeat_time
            assert lease is not None, "the node has had a kubelet"
            assert lease.renew_time is not None, "the kubelet has renewed its lease"
            assert posted is not None, "the kubelet has posted a status"
            last_sign = max(lease.renew_time, datetime.fromisoformat(posted))
            lags[node.name] = (host.now() - last_sign).total_seconds() - Graces().monitor

    manager.informer(NODES).subscribe(observe, name="marks")
    stop = Stop(host)
    thread = spawn(host, stop, "marks", lambda: manager.run(stop))
    try:
        killed = set(command("kill", Selection(random=NODE_COUNT // 10), control))
        _until(host, 0.5, lambda: lags.keys() >= killed)
    finally:
        stop.set()
        thread.join_until(None)
    return {
        "killed_and_marked": len(killed),
        "others_marked": len(lags.keys() - killed),
        "last_marked_after_grace_s": max(lags[name] for name in killed),
    }

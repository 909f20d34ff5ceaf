# SPDX-License-Identifier: Apache-2.0
"""The two controllers of node lifecycle in a large cluster, beside their budgets: one process, over TLS."""

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

from benchmarks.harness import Figures, PeerFailed, Row, budgeted, cpu_seconds_of, peak_mib_of
from controller_runtime.api.codec import decoder_for
from controller_runtime.api.objects import ObjectKey
from controller_runtime.api.resources import LEASES, NODES
from controller_runtime.cache.store import Delta
from controller_runtime.core.host import Host
from controller_runtime.core.stop import Stop, spawn
from controller_runtime.manager.manager import Manager
from controller_runtime.testing.server_process import APIServerProcess
from controllers.heartbeat.node_lease import NAMESPACE
from controllers.hollow.control import command
from controllers.hollow.selection import Selection
from controllers.node_lifecycle.health import Graces
from controllers.node_lifecycle.views import LeaseView, NodeView

NODE_COUNT, POD_COUNT = 5000, 50_000
SECONDS = 30.0
"""Of quiet that are measured."""
LOOK = 5.0
"""Seconds between two looks at whether the controllers have seen all there is."""
PATIENCE = 240.0
"""Seconds for each step."""
BUDGETS = {"quiet_cores": "<= 0.1", "last_marked_after_grace_s": "<= 5", "peak_mib": "<= 300"}


def lifecycle(host: Host) -> list[Row]:
    """Nodes that renew every 10 s with pods on them, and the death of a tenth of the nodes at once."""
    work = f"node-lifecycle and taint-eviction, {NODE_COUNT} nodes of 7 KB at 10 s, {POD_COUNT} pods of 6 KB"
    return [budgeted(work, "controller-runtime", lambda: _measured(host), BUDGETS)]


def _measured(host: Host) -> Figures:
    filled = ("benchmarks.peers.filled_server", str(NODE_COUNT), str(POD_COUNT))
    with ExitStack() as stack:
        control = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "control"
        server = stack.enter_context(APIServerProcess(host, program=filled, start_timeout=PATIENCE))
        cluster = f"--kubeconfig={server.kubeconfig}"
        stack.enter_context(_running("hollow-nodes", cluster, f"--count={NODE_COUNT}", f"--control={control}"))
        manager = Manager.from_kubeconfig(server.kubeconfig)
        _until(host, 1.0, lambda: len(manager.client.list(LEASES, NAMESPACE, view=LeaseView)) == NODE_COUNT)
        told = f"127.0.0.1:{_free_port()}"
        addresses = (f"--metrics-bind-address={told}", f"--health-probe-bind-address={told}")
        names = "--controllers=node-lifecycle,taint-eviction"
        pid = stack.enter_context(_running("run", cluster, names, *addresses))
        _until(host, LOOK, _same_as_before(lambda: _work_of(told)))
        figures = {"sync_cpu_s": cpu_seconds_of(pid), "quiet_cores": _cores(host, pid, SECONDS)}
        used = cpu_seconds_of(pid)
        figures |= _death(host, manager, control)
        return figures | {"death_cpu_s": cpu_seconds_of(pid) - used, "peak_mib": peak_mib_of(pid)}


@contextmanager
def _running(*arguments: str) -> Iterator[int]:
    """A command in a process of its own; its id."""
    with subprocess.Popen([sys.executable, "-m", "controllers", *arguments], stderr=subprocess.DEVNULL) as process:
        try:
            yield process.pid
        finally:
            process.kill()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
        return port


def _same_as_before(look: Callable[[], str]) -> Callable[[], bool]:
    """Whether there is something to see, and it is what the last look saw."""
    before = ""

    def is_same() -> bool:
        nonlocal before
        seen, before = before, look()
        return seen == before != ""

    return is_same


def _work_of(told: str) -> str:
    """What they have asked of the server and have yet to do, as they tell it; empty before they are ready."""
    try:
        for path in ("readyz", "metrics"):
            with urllib.request.urlopen(f"http://{told}/{path}") as answer:
                text = answer.read().decode()
    except OSError:  # not ready, or not there yet
        return ""
    return "\n".join(line for line in text.splitlines() if line.startswith(("rest_client_requests", "workqueue_depth")))


def _cores(host: Host, pid: int, seconds: float) -> float:
    """How much CPU a process takes, over so many seconds."""
    began, used = host.monotonic(), cpu_seconds_of(pid)
    Stop(host).wait(seconds)
    return (cpu_seconds_of(pid) - used) / (host.monotonic() - began)


def _until(host: Host, pause: float, is_so: Callable[[], bool]) -> None:
    deadline = host.monotonic() + PATIENCE
    while not is_so():
        if host.monotonic() > deadline:
            raise PeerFailed(f"not ready after {PATIENCE:.0f} s")
        Stop(host).wait(pause)


def _death(host: Host, manager: Manager, control: Path) -> dict[str, float]:
    """Kill a tenth of the nodes: how many of them are marked, who else, and how long after his grace the last."""
    leases, read = manager.lister(LEASES, LeaseView, namespace=NAMESPACE), decoder_for(NodeView, NODES)
    lags: dict[str, float] = {}

    def observe(delta: Delta) -> None:
        node = read(delta.object.raw)
        if node.ready is not None and node.ready.is_ours and node.name not in lags:
            lease, posted = leases.get(ObjectKey(node.name, NAMESPACE)), node.ready.last_heartbeat_time
            assert lease is not None, "it has lived"
            assert lease.renew_time is not None, "it has renewed"
            assert posted is not None, "it has posted"
            heard = max(lease.renew_time, datetime.fromisoformat(posted))
            lags[node.name] = (host.now() - heard).total_seconds() - Graces().monitor

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

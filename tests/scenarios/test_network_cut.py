# SPDX-License-Identifier: Apache-2.0
"""The network of hollow nodes over TLS is cut: all leases are renewed soon after, and no node registers again.

The long ones, a minute with a thousand nodes each, are `tox -e endurance`.
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import attrs
import pytest
from kit.processes.servers import Serve, rerouted

from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.stop import Stop, spawn
from apimachinery.system import SystemHost
from controller_runtime.api.resources import NODES
from controller_runtime.client.client import Client
from controller_runtime.client.http.configuration import from_kubeconfig
from controller_runtime.client.http.transport import HTTPTransport
from controller_runtime.client.transport import Stream, Transport
from controller_runtime.manager.manager import Manager
from controller_runtime.testing import TCPProxy
from controllers.hollow.nodes import HollowNodes

pytestmark = pytest.mark.ends

PATIENCE = 60.0


@attrs.frozen
class Plan:
    """The number of nodes, the interval of their heartbeats, and the fault of the network with its duration."""

    nodes: int
    interval: float
    what: str
    seconds: float


class Witness:
    """Passes everything on, and notes when what was asked has succeeded. Threads: any."""

    def __init__(self, host: SystemHost, inner: Transport) -> None:
        self.done: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
        self._host = host
        self._inner = inner

    def request(self, request: HTTPRequest, deadline: float) -> HTTPResponse:
        response = self._inner.request(request, deadline)
        if response.status < 300:
            self.done[request.method, request.path].append(self._host.monotonic())
        return response

    def stream(self, request: HTTPRequest, deadline: float) -> Stream:
        return self._inner.stream(request, deadline)

    def close(self) -> None:
        self._inner.close()

    def renewals_since(self, time: float) -> list[float]:
        """Seconds after `time` of the first renewal of each lease that has been renewed since."""
        taken = {path: list(times) for (method, path), times in list(self.done.items()) if method == "PUT"}
        return [min(since) - time for times in taken.values() if (since := [each for each in times if each > time])]

    def registrations(self) -> int:
        return len(self.done["POST", "/api/v1/nodes"])


class HollowRun:
    """Hollow nodes of this process behind a proxy, and a client of the world's that goes past it."""

    def __init__(self, folder: Path, plan: Plan, kubeconfig: Path, proxy: TCPProxy) -> None:
        self.host = SystemHost()
        self.stop = Stop(self.host)
        self._past_the_proxy = HTTPTransport(self.host, from_kubeconfig(kubeconfig))
        self.world = Client(self.host, self._past_the_proxy)
        self._plan = plan
        by_proxy = rerouted(folder, kubeconfig, proxy.port)
        self.witness = Witness(self.host, HTTPTransport(self.host, from_kubeconfig(by_proxy)))
        manager = Manager(self.host, self.witness, grace=2.0)
        manager.add(
            HollowNodes(
                self.host,
                manager.client,
                plan.nodes,
                spread=plan.interval / 2,
                renew_interval=plan.interval,
                nodes=manager.informer(NODES),
            )
        )
        self._thread = spawn(self.host, self.stop, "manager", lambda: manager.run(self.stop))

    def wait_for_renewals(self, since: float) -> list[float]:
        """Until every lease was renewed after `since`; how many seconds after."""
        deadline = self.host.monotonic() + PATIENCE
        while len(seconds := self.witness.renewals_since(since)) < self._plan.nodes:
            assert self.stop.failure is None
            assert self.host.monotonic() < deadline, f"{len(seconds)} of {self._plan.nodes} renewed"
            self.stop.wait(0.05)
        return seconds

    def identities(self) -> dict[str, Any]:
        """Returns the uid and the creation time of every node."""
        found: list[dict[str, Any]] = self.world.list(NODES, view=dict)
        metadata = [node["metadata"] for node in found]
        return {each["name"]: (each["uid"], each["creationTimestamp"]) for each in metadata}

    def end(self) -> None:
        self.stop.set()
        assert self._thread.join_until(self.host.monotonic() + PATIENCE)
        self.witness.close()
        self._past_the_proxy.close()


@contextlib.contextmanager
def hollow_run(folder: Path, plan: Plan, serve: Serve) -> Iterator[tuple[HollowRun, TCPProxy]]:
    with serve() as kubeconfig:
        address = urlsplit(from_kubeconfig(kubeconfig).host)
        assert address.hostname is not None
        assert address.port is not None
        with TCPProxy(address.hostname, address.port) as proxy:
            run = HollowRun(folder, plan, kubeconfig, proxy)
            try:
                yield run, proxy
            finally:
                run.end()


def after_the_cut(folder: Path, plan: Plan, serve: Serve) -> float:
    """Returns the seconds from the end of the cut until every lease was renewed; no node may have registered again."""
    with hollow_run(folder, plan, serve) as (run, proxy):
        run.wait_for_renewals(0.0)
        before, registered = run.identities(), run.witness.registrations()

        (proxy.cut if plan.what == "cut" else proxy.stall)()
        cut_at = run.host.monotonic()
        run.stop.wait(plan.seconds)
        passed = len(run.witness.renewals_since(cut_at + plan.seconds / 2))  # the data received before is read
        proxy.restore()
        seconds = run.wait_for_renewals(run.host.monotonic())

        assert passed == 0, "nothing passes a network that is cut"
        assert len(before) == registered == plan.nodes
        assert run.identities() == before
        assert run.witness.registrations() == registered
    return max(seconds)


def test_after_a_cut_of_the_network_all_leases_are_renewed_and_nobody_registers_again(
    serve: Serve, tmp_path: Path
) -> None:
    assert after_the_cut(tmp_path, Plan(nodes=50, interval=2.0, what="cut", seconds=3.0), serve) > 0


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.parametrize("what", ["cut", "stall"])
def test_a_thousand_nodes_are_renewed_within_one_interval_of_a_cuts_end(
    serve: Serve, tmp_path: Path, what: str
) -> None:
    slowest = after_the_cut(tmp_path, Plan(nodes=1000, interval=10.0, what=what, seconds=15.0), serve)

    assert slowest <= 10.4, "the interval and its jitter"

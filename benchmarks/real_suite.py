# SPDX-License-Identifier: Apache-2.0
"""The data path against a server of your own, such as a real Kubernetes, beside programs in Go where they are built.

The server must have nodes: as many as there are is what is synced. Nothing in it is changed but leases of generated
names and the lease of the heartbeat, in the namespace `default`; unless the server is there to be measured: then nodes
are created that are missing, and their TTL annotations are removed and set.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import attrs

from apimachinery.host import Host
from benchmarks import ttl_suite
from benchmarks.harness import Figures, PeerFailed, Row, median_of, run_peer
from benchmarks.nodes import big_node, spread
from controller_runtime.api.resources import NODES
from controller_runtime.manager.manager import Manager
from controllers.hollow.node import node_name

RENEWALS = "1000"
OURS = "controller-runtime"
SYNC, TTL = "sync of the nodes of a real server", "TTL annotation of the nodes of a real server"
LEASE, IDLE = "lease renewals to a real server", "idle manager on a real server, imports included"


@attrs.frozen
class Real:
    """A server, and the peers in Go.

    Attributes:
        host: Runs the threads that create nodes.
        kubeconfig: Leads to the server.
        anchors: The directory of the programs `sync`, `lease` and `idle`, built from `benchmarks/peers/go`, and of
            `kube-controller-manager`; None without them.
        runs: The number of runs of each peer, in turn, of which the median is reported.
        nodes: If the server is there to be measured, the number of nodes that it is to have; else None.
    """

    host: Host
    kubeconfig: Path
    anchors: Path | None
    runs: int
    nodes: int | None = None

    def rows(self) -> list[Row]:
        """Measure sync, renewals and an idle manager, and the TTL of all nodes if the server may be written to."""
        nodes = str(self._prepared())
        sync = {
            OURS: self._ours("sync_ours", nodes, "streamed"),
            f"{OURS}, paged": self._ours("sync_ours", nodes, "paged"),
            "client-go": self._anchor("sync", nodes),
        }
        lease = {
            OURS: self._ours("lease_put_ours", RENEWALS),
            f"{OURS}, LeaseHeartbeat": self._ours("lease_heartbeat_ours", RENEWALS),
            "client-go": self._anchor("lease", RENEWALS, "json"),
            "client-go, protobuf": self._anchor("lease", RENEWALS, "protobuf"),
        }
        idle = {OURS: self._ours("manager_start"), "client-go": self._anchor("idle")}
        rows = [*self._in_turn(SYNC, sync), *self._in_turn(LEASE, lease), *self._in_turn(IDLE, idle)]
        if self.nodes is not None:
            with ttl_suite.fleet(self.host, self.kubeconfig, int(nodes)) as fleet:
                # Once, because a run takes minutes and writes every node.
                rows += attrs.evolve(self, runs=1)._in_turn(TTL, ttl_suite.peers(fleet, self.kubeconfig, self.anchors))
        return rows

    def _prepared(self) -> int:
        """Create the nodes that are missing if the server may be written to, and return how many there are."""
        client = Manager.from_kubeconfig(self.kubeconfig).client
        found = {node.metadata.name for node in client.list(NODES.only_metadata())}
        missing = [index for index in range(self.nodes or 0) if node_name(index) not in found][: self._lacking(found)]
        spread(self.host, len(missing), lambda index: client.create(NODES, big_node(missing[index])))
        client.transport.close()
        return len(found) + len(missing)

    def _lacking(self, found: set[str]) -> int:
        return max(0, (self.nodes or 0) - len(found))

    def _ours(self, module: str, *arguments: str) -> Callable[[], Figures]:
        return lambda: run_peer(f"benchmarks.peers.{module}", str(self.kubeconfig), *arguments)

    def _anchor(self, program: str, *arguments: str) -> Callable[[], Figures]:
        def run() -> Figures:
            if self.anchors is None or not (self.anchors / program).exists():
                raise PeerFailed(f"build {program} from benchmarks/peers/go, and name its directory by --anchors")
            command = [str(self.anchors / program), str(self.kubeconfig), *arguments]
            ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
            if ended.returncode:
                raise PeerFailed(f"{program} failed: {(ended.stderr.strip().splitlines() or ['no error'])[-1]}")
            figures: dict[str, float] = json.loads(ended.stdout)
            return figures

        return run

    def _in_turn(self, work: str, peers: Mapping[str, Callable[[], Figures]]) -> list[Row]:
        """Run all peers once, then all again, so that a busy moment of the machine does not fall on one of them."""
        found: dict[str, list[Figures]] = {who: [] for who in peers}
        failed: dict[str, str] = {}
        for _ in range(self.runs):
            for who, measure in peers.items():
                if who not in failed:
                    try:
                        found[who].append(measure())
                    except PeerFailed as error:
                        failed[who] = f"not measured: {error}"
        return [
            Row(work, who, {} if who in failed else median_of(runs), failed.get(who, "")) for who, runs in found.items()
        ]

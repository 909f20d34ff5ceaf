# SPDX-License-Identifier: Apache-2.0
"""The data path against a server of your own, such as a real Kubernetes, beside client-go where its peers are built.

The server must have its nodes already: as many as there are is what is synced. Nothing in it is changed but leases of
generated names, and the lease of the heartbeat, in the namespace `default`.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import attrs

from benchmarks.harness import PeerFailed, Row, median_of, run_peer
from controller_runtime.api.resources import NODES
from controller_runtime.client.client import Client

RENEWALS = "1000"


@attrs.frozen
class Real:
    """A server, and the peers in Go.

    Attributes:
        kubeconfig: Leads to the server.
        anchors: The directory of the programs `sync` and `lease`, built from `benchmarks/peers/go`; None without them.
        runs: The number of runs of each peer, in turn, of which the median is reported.
    """

    kubeconfig: Path
    anchors: Path | None
    runs: int

    def rows(self) -> list[Row]:
        """Measure sync, renewals and an idle manager."""
        client = Client.from_kubeconfig(self.kubeconfig)
        nodes = str(len(client.list(NODES.only_metadata())))
        client.transport.close()
        sync = {
            "controller-runtime": self._ours("sync_ours", nodes, "streamed"),
            "controller-runtime, paged": self._ours("sync_ours", nodes, "paged"),
            "client-go": self._anchor("sync", nodes),
        }
        lease = {
            "controller-runtime, LeaseHeartbeat": self._ours("lease_heartbeat_ours", RENEWALS),
            "controller-runtime, client": self._ours("lease_put_ours", RENEWALS),
            "client-go": self._anchor("lease", RENEWALS, "json"),
            "client-go, protobuf": self._anchor("lease", RENEWALS, "protobuf"),
        }
        idle = {"controller-runtime": self._ours("manager_start")}
        return [
            *self._in_turn(f"sync of {nodes} nodes", sync),
            *self._in_turn("lease renewals, one after another", lease),
            *self._in_turn("idle manager, one controller, imports included", idle),
        ]

    def _ours(self, module: str, *arguments: str) -> Callable[[], Mapping[str, float]]:
        return lambda: run_peer(f"benchmarks.peers.{module}", str(self.kubeconfig), *arguments)

    def _anchor(self, program: str, *arguments: str) -> Callable[[], Mapping[str, float]]:
        def run() -> Mapping[str, float]:
            if self.anchors is None:
                raise PeerFailed("name the programs in Go by --anchors")
            command = [str(self.anchors / program), str(self.kubeconfig), *arguments]
            ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
            if ended.returncode:
                raise PeerFailed(f"{program} failed: {(ended.stderr.strip().splitlines() or ['no error'])[-1]}")
            figures: dict[str, float] = json.loads(ended.stdout)
            return figures

        return run

    def _in_turn(self, work: str, peers: Mapping[str, Callable[[], Mapping[str, float]]]) -> list[Row]:
        """Run all peers once, then all again, so that a busy moment of the machine does not fall on one of them."""
        found: dict[str, list[Mapping[str, float]]] = {who: [] for who in peers}
        failed: dict[str, str] = {}
        for _ in range(self.runs):
            for who, measure in peers.items():
                try:
                    found[who].append(measure())
                except PeerFailed as error:
                    failed[who] = f"not measured: {error}"
        return [
            Row(work, who, {} if who in failed else median_of(runs), failed.get(who, "")) for who, runs in found.items()
        ]

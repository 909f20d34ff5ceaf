# SPDX-License-Identifier: Apache-2.0
"""The leases of a hundred hollow nodes, as kubectl shows them."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from kit.processes.kubectl import Kubectl, rows
from kit.processes.servers import Serve

from apimachinery.stop import Stop, spawn
from controller_runtime.api.resources import LEASES
from controller_runtime.manager.manager import Manager
from controller_runtime.testing import eventually
from controllers.heartbeat.node_lease import NAMESPACE
from controllers.hollow.nodes import HollowNodes

pytestmark = pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")

COUNT = 100
MICROTIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z"


def test_leases_read_like_those_of_a_cluster(serve: Serve, tmp_path: Path) -> None:
    with serve() as kubeconfig:
        kubectl = Kubectl(tmp_path, kubeconfig)
        manager = Manager.from_kubeconfig(kubeconfig)
        stop = Stop(manager.host)
        leases = manager.lister(LEASES, dict, namespace=NAMESPACE)
        manager.add(HollowNodes(manager.host, manager.client, COUNT, spread=0.5, renew_interval=1.0))
        running = spawn(manager.host, stop, "manager", lambda: manager.run(stop))
        eventually(manager, LEASES, lambda: len(leases) == COUNT, namespace=NAMESPACE, timeout=120.0)

        table = rows(kubectl("get", "lease", "-A"))
        text = kubectl("describe", "lease", "-n", NAMESPACE, "hollow-00042")
        uid = kubectl("get", "node", "hollow-00042", "-o", "jsonpath={.metadata.uid}")
        stop.set()
        running.join_until(None)

    nodes = [row for row in table if row[0] == NAMESPACE]
    assert table[0] == ["NAMESPACE", "NAME", "HOLDER", "AGE"]
    assert [row[1:3] for row in nodes] == [[f"hollow-{index:05d}"] * 2 for index in range(COUNT)]
    assert all(re.fullmatch(r"\d+s", row[3]) for row in nodes)
    shown = [" ".join(line.split()) for line in text.splitlines()]
    assert {"Name: hollow-00042", "Kind: Node", f"UID: {uid}", "Holder Identity: hollow-00042"} <= {*shown}
    assert "Lease Duration Seconds: 40" in shown
    assert re.search(f"Renew Time: +{MICROTIME}$", text, re.MULTILINE)

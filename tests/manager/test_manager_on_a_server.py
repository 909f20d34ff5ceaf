# SPDX-License-Identifier: Apache-2.0
"""A manager from a kubeconfig, over TLS, on the embedded server in a process of its own; real threads, real time."""

from __future__ import annotations

from pathlib import Path

import attrs
import pytest

from controller_runtime import (
    Client,
    Controller,
    Lister,
    Manager,
    ObjectKey,
    Reconciler,
    Request,
    Result,
    Stop,
    SystemHost,
    annotations_of,
    changed,
    labels_of,
)
from controller_runtime.errors import ConnectionLost, UsageError
from controller_runtime.resources import NODES
from controller_runtime.testing.server_process import APIServerProcess


@attrs.frozen
class ZoneLabels(Reconciler):
    """Copies an annotation to a label, and stops the manager once it sees its own write in the cache."""

    nodes: Lister[dict[str, object]]
    client: Client
    done: Stop

    def reconcile(self, request: Request) -> Result:
        node = self.nodes.get(request)
        zone = annotations_of(node).get("zone") if node is not None else None
        if node is not None and labels_of(node).get("zone") != zone:
            self.client.patch(NODES, request, {"metadata": {"labels": {"zone": zone}}})
        elif zone is not None:
            self.done.set()
        return Result()


def test_a_write_comes_back_by_the_front_door() -> None:
    with APIServerProcess(SystemHost()) as server:
        manager = Manager.from_kubeconfig(server.kubeconfig)
        stop = Stop(manager.host)
        manager.client.create(NODES, {"metadata": {"name": "a", "annotations": {"zone": "z1"}}})
        reconciler = ZoneLabels(manager.lister(NODES, dict), manager.client, stop)
        manager.add(Controller("zone-labels", reconciler).watch(NODES, when=changed(labels_of)))

        manager.run(stop)

        assert labels_of(manager.client.get(NODES, ObjectKey("a"), dict)) == {"zone": "z1"}
        manager.transport.close()


def test_a_kubeconfig_that_does_not_exist_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        Manager.from_kubeconfig(tmp_path / "nothing")


def test_the_longest_answer_of_a_cluster_can_be_limited() -> None:
    with APIServerProcess(SystemHost()) as server:
        manager = Manager.from_kubeconfig(server.kubeconfig, longest_answer=10)

        with pytest.raises(ConnectionLost, match="10 bytes"):
            manager.client.list(NODES)
        manager.transport.close()

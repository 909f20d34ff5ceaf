# SPDX-License-Identifier: Apache-2.0
"""Nodes and pods of the sizes that real clusters have, and an embedded server that is full of them."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from apimachinery.host import Host
from apimachinery.objects import ObjectKey
from apimachinery.stop import Stop, spawn
from controller_runtime.api.resources import NODES
from controller_runtime.client.client import Client
from controller_runtime.manager.manager import Manager
from controller_runtime.testing.server_process import APIServerProcess
from controllers.hollow.node import hollow_node, node_name
from controllers.hollow.pod_maker import hollow_pod

FRAMED = ("benchmarks.peers.framed_server",)
"""The program of an embedded server whose watches send as those of a real one."""
FILLERS = 8
"""Threads that create nodes at the same time."""


def big_node(index: int, size: int = 7000) -> dict[str, Any]:
    """Return a hollow node whose JSON has about `size` bytes, mostly container images, as kubelets report them."""
    node = copy.deepcopy(hollow_node(index, "2026-01-01T00:00:00Z"))
    images = node["status"].setdefault("images", [])
    while len(json.dumps(node)) < size:
        number = len(images)
        digest = f"{index * 1000 + number:064x}"
        names = [f"registry.example/team/image-{number}@sha256:{digest}", f"registry.example/team/image-{number}:v1"]
        images.append({"names": names, "sizeBytes": 1000000 + number})
    return node


def big_pod(index: int, nodes: int, size: int = 2000) -> dict[str, Any]:
    """Return a pod on one of `nodes` hollow nodes whose JSON has about `size` bytes, mostly environment variables."""
    pod = hollow_pod(index, nodes)
    (container,) = pod["spec"]["containers"]
    container["env"] = []
    while len(json.dumps(pod)) < size:
        number = len(container["env"])
        container["env"].append({"name": f"VARIABLE_{number}", "value": f"{index * 1000 + number:064x}"})
    return pod


def fill(host: Host, client: Client, count: int, size: int = 7000) -> None:
    """Create `count` nodes of about `size` bytes, over several connections."""
    spread(host, count, lambda index: client.create(NODES, big_node(index, size)))


def change(host: Host, client: Client, count: int, rounds: int) -> None:
    """Change each of the first `count` nodes `rounds` times."""

    def one(index: int) -> None:
        patch = {"metadata": {"annotations": {"example.com/change": str(index)}}}
        client.patch(NODES, ObjectKey(node_name(index % count)), patch)

    spread(host, count * rounds, one)


def spread(host: Host, count: int, one: Callable[[int], object]) -> None:
    """Call `one` with each number below `count`, over several threads and so over several connections."""
    stop = Stop(host, "fill")

    def some(first: int) -> None:
        for index in range(first, count, FILLERS):
            one(index)

    threads = [spawn(host, stop, f"fill-{first}", lambda first=first: some(first)) for first in range(FILLERS)]  # type: ignore[misc]
    for thread in threads:
        thread.join_until(None)
    if stop.failure is not None:
        raise stop.failure


@contextmanager
def filled_server(host: Host, count: int, size: int = 7000) -> Iterator[APIServerProcess]:
    """Run an embedded API server in a process of its own, with `count` nodes of about `size` bytes.

    Its watches send as those of a real server.
    """
    with APIServerProcess(host, program=FRAMED) as server:
        fill(host, Manager.from_kubeconfig(server.kubeconfig).client, count, size)
        yield server

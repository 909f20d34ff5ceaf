# SPDX-License-Identifier: Apache-2.0
"""The cost of a share of many objects for each replica of a ring: the memory that it takes and the bytes received."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial

from apimachinery.host import Host
from benchmarks.harness import PeerFailed, Row
from benchmarks.nodes import fill
from controller_runtime.manager.manager import Manager
from controller_runtime.testing.server_process import APIServerProcess

OBJECTS = 100_000
SIZE = 1_500
"""Bytes of a node."""
MEMBERS = (1, 2, 4)
SERVERS = ("the server sends shards", "the server sends all")
FIXED = 40
"""MiB that a replica may take beside its part of the memory of a single one."""


def shards(host: Host, objects: int = OBJECTS) -> list[Row]:
    """Measure 1, 2 and 4 replicas, with and without a server that sends each its share."""
    with APIServerProcess(host, "--feature-gates", "ShardedListAndWatch=true") as server:
        fill(host, Manager.from_kubeconfig(server.kubeconfig).client, objects, SIZE)
        rows = list[Row]()
        for asked in ("shards", "whole"):
            alone = 0.0
            for members in MEMBERS:
                row = _measured(str(server.kubeconfig), objects, members, asked)
                alone = alone or row.figures.get("rss_mib", 0.0)
                rows.append(_judged(row, alone, members))
    return rows


def _measured(kubeconfig: str, objects: int, members: int, asked: str) -> Row:
    """Run the replicas together; the figures are those of the one that has most."""
    work = f"a ring of {members} with {objects} nodes of {SIZE} bytes"
    who = SERVERS[asked != "shards"]
    command = [sys.executable, "-m", "benchmarks.peers.ring_share", kubeconfig, str(members), asked]
    with ExitStack() as stack:
        replicas = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(members)]
        for replica in replicas:
            stack.callback(replica.wait)
            stack.callback(replica.kill)
        try:
            found = of_one_epoch([partial(_next_figures, replica) for replica in replicas])
        except EOFError:
            return Row(work, who, {}, "not measured: a replica failed")
    if sum(each["objects"] for each in found) != objects:
        raise PeerFailed(f"{work}: the shares are not the whole: {found}")
    return Row(work, who, {name: max(each[name] for each in found) for name in found[0] if name != "epoch"})


def of_one_epoch(reads: Sequence[Callable[[], dict[str, float]]]) -> list[dict[str, float]]:
    """Return the figures of all replicas under one assignment, the newest that any of them has told of.

    Shares of different assignments are not the whole: on a busy machine a replica can miss its lease after another has
    told its figures, and the slots are divided again.
    """
    found = [read() for read in reads]
    while min(each["epoch"] for each in found) < (newest := max(each["epoch"] for each in found)):
        found = [each if each["epoch"] == newest else read() for each, read in zip(found, reads, strict=True)]
    return found


def _next_figures(replica: subprocess.Popen[str]) -> dict[str, float]:
    assert replica.stdout is not None
    line = replica.stdout.readline()
    if not line:
        raise EOFError
    figures: dict[str, float] = json.loads(line)
    return figures


def _judged(row: Row, alone: float, members: int) -> Row:
    if not row.figures or members == 1:
        return row
    budget, found = alone / members + FIXED, row.figures["rss_mib"]
    verdict = "kept" if found <= budget else "MISSED"
    return Row(row.work, row.who, row.figures, f"rss_mib: budget 1/{members} + {FIXED} = {budget:.0f}, {verdict}")

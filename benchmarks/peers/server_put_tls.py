# SPDX-License-Identifier: Apache-2.0
"""Renewals of leases over keep-alive connections, one lease each: ADDRESS PID CONNECTIONS COUNT."""

from __future__ import annotations

import re
import sys
import time

from benchmarks.harness import cpu_seconds_of, report
from benchmarks.raw import Address, Connection, connections

PATH = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
VERSION = re.compile(rb'"resourceVersion":"(\d+)"')


class Renewals:
    """Renews one lease over one connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        spec = {"holderIdentity": "bench", "leaseDurationSeconds": 40, "renewTime": "2026-01-01T00:00:00.000000Z"}
        self._lease = connection.ask("POST", PATH, {"metadata": {"generateName": "bench-"}, "spec": spec})
        self._path = f"{PATH}/{self._lease['metadata']['name']}"

    def send(self, instant: int) -> None:
        """Send the next renewal."""
        self._lease["spec"]["renewTime"] = f"2026-01-01T00:00:00.{instant:06}Z"
        self._connection.send("PUT", self._path, self._lease)

    def finish(self) -> None:
        """Wait for the answer to the renewal."""
        found = VERSION.search(self._connection.answer())
        assert found is not None
        self._lease["metadata"]["resourceVersion"] = found[1].decode()


def main() -> None:
    """Renew COUNT times in all, with one renewal in flight on each connection, and print the server's CPU of one."""
    address, pid, width, count = Address.of(sys.argv[1]), *map(int, sys.argv[2:])
    with connections(address, width) as opened:
        leases = [Renewals(connection) for connection in opened]
        wall, cpu = time.perf_counter(), cpu_seconds_of(pid)
        rounds = count // width
        for instant in range(1, rounds + 1):
            for lease in leases:
                lease.send(instant)
            for lease in leases:
                lease.finish()
        wall, cpu = time.perf_counter() - wall, cpu_seconds_of(pid) - cpu
    done = rounds * width
    report({"per_s": done / wall, "server_cpu_us": cpu / done * 1e6})


if __name__ == "__main__":
    main()

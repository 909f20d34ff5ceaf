# SPDX-License-Identifier: Apache-2.0
"""Events of 1 KB for many watchers: ADDRESS PID WATCHERS EVENTS."""

from __future__ import annotations

import sys

from benchmarks.harness import cpu_seconds_of, report
from benchmarks.raw import Address, connections, memory_of

PATH = "/api/v1/namespaces/default/configmaps"


def main() -> None:
    """Change an object EVENTS times, each time wait for all watchers, and print the server's CPU of one event."""
    address, pid, count, events = Address.of(sys.argv[1]), *map(int, sys.argv[2:])
    before = memory_of(pid)
    with connections(address, 1) as [writer], connections(address, count) as watchers:
        obj = {"metadata": {"name": "bench"}, "data": {"text": "x" * 800}}
        writer.ask("POST", PATH, obj)
        for watcher in watchers:
            watcher.send("GET", f"{PATH}?watch=1")
        for watcher in watchers:
            watcher.read_until(b'"type":"ADDED"')
        memory, cpu = memory_of(pid) - before, cpu_seconds_of(pid)
        for number in range(events):
            writer.ask("PUT", f"{PATH}/bench", {**obj, "data": {"text": "x" * 800, "number": f"<{number}>"}})
            for watcher in watchers:
                watcher.drop()
                watcher.read_until(f'"<{number}>"'.encode())
        cpu = cpu_seconds_of(pid) - cpu
    report({"server_cpu_us": cpu / events / count * 1e6, "server_kib_each": memory / count * 1024})


if __name__ == "__main__":
    main()

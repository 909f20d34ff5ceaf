# SPDX-License-Identifier: Apache-2.0
"""Lists of all nodes in pages of 500: ADDRESS PID COUNT."""

from __future__ import annotations

import re
import sys

from benchmarks.harness import cpu_seconds_of, metered, report
from benchmarks.raw import Address, connections

TOKEN = re.compile(rb'"continue":"([^"]*)"')
LISTS = 5


def main() -> None:
    """List the nodes a few times, and print the server's CPU of one list."""
    address, pid, count, figures = Address.of(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), dict[str, float]()
    with connections(address, 1) as [client], metered(figures):
        cpu = cpu_seconds_of(pid)
        for _ in range(LISTS):
            listed, token = 0, ""
            while True:
                client.send("GET", f"/api/v1/nodes?limit=500{token}")
                page = client.answer()
                listed += page.count(b'"nodeInfo"')
                found = TOKEN.search(page, 0, 1000)
                if found is None:
                    break
                token = f"&continue={found[1].decode()}"
            assert listed == count, listed
        cpu = cpu_seconds_of(pid) - cpu
    report({"server_cpu_s": cpu / LISTS, "wall_s": figures["wall_s"] / LISTS})


if __name__ == "__main__":
    main()

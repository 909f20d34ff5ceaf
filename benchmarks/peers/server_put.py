# SPDX-License-Identifier: Apache-2.0
"""Renewals of one lease at the embedded server's core, in this process: COUNT."""

from __future__ import annotations

import json
import re
import sys
import time

from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.system import SystemHost
from benchmarks.harness import report
from embedded_apiserver import APIServer

PATH = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
HEADERS = {"content-type": "application/json", "user-agent": "bench/1"}
VERSION = re.compile(rb'"resourceVersion":"(\d+)"')


def main() -> None:
    """Renew COUNT times after a warm-up, and print the renewals per second and the microseconds of one."""
    server, count = APIServer(SystemHost()), int(sys.argv[1])

    def ask(method: str, path: str, body: bytes) -> bytes:
        answer = server.handle(HTTPRequest(method, path, (), HEADERS, body))
        assert isinstance(answer, HTTPResponse)
        assert answer.status in (200, 201), answer.body
        return answer.body

    spec = {"holderIdentity": "bench", "leaseDurationSeconds": 40, "renewTime": "2026-01-01T00:00:00.000000Z"}
    lease = ask("POST", PATH, json.dumps({"metadata": {"name": "a"}, "spec": spec}).encode())

    def renew(lease: bytes, instant: int) -> bytes:
        return ask("PUT", f"{PATH}/a", re.sub(rb"00\.\d{6}Z", b"00.%06dZ" % instant, lease))

    for instant in range(1, 500):
        lease = renew(lease, instant)
    wall, cpu = time.perf_counter(), time.process_time()
    for instant in range(500, 500 + count):
        lease = renew(lease, instant)
    cpu_us, wall = (time.process_time() - cpu) / count * 1e6, time.perf_counter() - wall
    report({"cpu_us": cpu_us, "per_cpu_s": 1e6 / cpu_us, "per_s": count / wall})


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""An embedded server without TLS, which the command does not offer; it prints its port."""

from __future__ import annotations

import sys

from apimachinery.system import SystemHost
from embedded_apiserver import APIServer, LoopbackServer


def main() -> None:
    """Serve until standard input ends."""
    host = SystemHost()
    with LoopbackServer(host, APIServer(host)) as server:
        print(server.port, flush=True)  # noqa: T201
        sys.stdin.read()


if __name__ == "__main__":
    main()

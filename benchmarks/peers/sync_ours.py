# SPDX-License-Identifier: Apache-2.0
"""Initial sync of the nodes into our informer: KUBECONFIG COUNT streamed|paged."""

from __future__ import annotations

import sys

from benchmarks.harness import metered, report
from controller_runtime.api.resources import NODES
from controller_runtime.cache.informers import Informers
from controller_runtime.client.http.configuration import from_kubeconfig
from controller_runtime.client.http.transport import HTTPTransport
from controller_runtime.core.stop import Stop
from controller_runtime.core.system import SystemHost


def main() -> None:
    """Sync once, and print the figures."""
    count, streaming, figures = int(sys.argv[2]), sys.argv[3] == "streamed", dict[str, float]()
    host = SystemHost()
    with metered(figures):
        informers = Informers(host, HTTPTransport(host, from_kubeconfig(sys.argv[1])), streaming=streaming)
        informer, stop = informers.of(NODES), Stop(host)
        informers.start(stop)
        informers.wait_for_sync(stop, 120.0)
    assert len(informer.store) == count, len(informer.store)
    stop.set()
    report(figures)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""Initial sync of the nodes into our informer: KUBECONFIG COUNT streamed|paged|dropping (managed fields)."""

from __future__ import annotations

import sys

from apimachinery.stop import Stop
from apimachinery.system import SystemHost
from benchmarks.harness import metered, report
from controller_runtime.api.collection import Collection
from controller_runtime.api.resources import NODES
from controller_runtime.cache.informers import Informers
from controller_runtime.cache.options import CacheOptions
from controller_runtime.client.http.configuration import from_kubeconfig
from controller_runtime.client.http.transport import HTTPTransport


def main() -> None:
    """Sync once, and print the figures."""
    count, how, figures = int(sys.argv[2]), sys.argv[3], dict[str, float]()
    host = SystemHost()
    with metered(figures):
        transport = HTTPTransport(host, from_kubeconfig(sys.argv[1]))
        informers = Informers(
            host, transport, CacheOptions(streaming=how != "paged", drop_managed_fields=how == "dropping")
        )
        informer, stop = informers.of(Collection(NODES)), Stop(host)
        informers.start(stop)
        informers.wait_for_sync(stop, 120.0)
    objects = informer.store.list()
    assert len(objects) == count, len(objects)
    figures["json_mib"] = sum(len(each.raw) for each in objects) / 2**20
    stop.set()
    report(figures)


if __name__ == "__main__":
    main()

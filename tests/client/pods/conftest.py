# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Iterator

import pytest
from kit.client.entered import Entered

from controller_runtime.client.client import Client
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.testing import EmbeddedCluster
from controller_runtime.testing.simulation import Simulation
from embedded_apiserver import APIServer, run


@pytest.fixture(params=["in process", "network", "http"])
def entered(request: pytest.FixtureRequest, sim: Simulation) -> Iterator[Entered]:
    """Provide a client and a server with a pod `default/p` that runs, by each transport."""
    match request.param:
        case "in process":
            server = APIServer(sim.host("server"))
            host = sim.host("client")
            client = user = Client(host, InProcessTransport(host, server))
            found = Entered(client, user, server.programs)
            found.begin()
            yield found
        case "network":
            with EmbeddedCluster(sim.host("cluster")) as cluster:
                found = Entered(cluster.client, cluster.user, cluster.programs)
                found.begin()
                yield found
        case _:
            pytest.importorskip("wsproto")
            with run(environment=False) as kubernetes:
                client = Client.from_kubeconfig(kubernetes.kubeconfig)
                found = Entered(client, client, kubernetes.programs)
                found.begin()
                yield found
                client.transport.close()

# SPDX-License-Identifier: Apache-2.0
"""Caches that never read managed fields ask for objects without them, which saves the bytes."""

from __future__ import annotations

import pytest

from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.stop import Stop
from controller_runtime.api.builtin_resources import CONFIG_MAPS
from controller_runtime.api.collection import Collection
from controller_runtime.cache.informers import Informers
from controller_runtime.cache.options import CacheOptions
from controller_runtime.cache.transforms import Transform, edited, without
from controller_runtime.client.client import Client
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.client.transport import Stream, TransportWrapper
from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.server import APIServer

LEAN = without(("metadata", "managedFields"))
DROP = "application/json;drop=metadata.managedFields"


class Watched(TransportWrapper):
    """Keeps the accept headers of lists and watches, and counts the bytes of their answers."""

    def __init__(self, inner: InProcessTransport) -> None:
        super().__init__(inner)
        self.accepted: list[str] = []
        self.received = 0

    def request(self, request: HTTPRequest, deadline: float) -> HTTPResponse:
        answer = super().request(request, deadline)
        if request.method == "GET":
            self.accepted.append(request.headers["accept"])
            self.received += len(answer.body)
        return answer

    def stream(self, request: HTTPRequest, deadline: float) -> Stream:
        self.accepted.append(request.headers["accept"])
        return super().stream(request, deadline)


def filled(
    sim: Simulation, options: CacheOptions, *, only_metadata: bool = False, name: str = "r0"
) -> tuple[Watched, list[bytes]]:
    """Return the transport of a cache of one config map, and the objects in the cache after a change."""
    host = sim.host(name)
    server = APIServer(sim.host(f"server-of-{name}"))
    transport = Watched(InProcessTransport(host, server))
    client, stop = Client(host, transport), Stop(host)
    client.create(CONFIG_MAPS, {"metadata": {"name": "a", "namespace": "default"}, "data": {"k": "v"}})
    informers = Informers(host, transport, options)
    informer = informers.of(Collection(CONFIG_MAPS.only_metadata() if only_metadata else CONFIG_MAPS))
    informers.start(stop)
    assert informers.wait_for_sync(stop, 5.0)
    client.create(CONFIG_MAPS, {"metadata": {"name": "b", "namespace": "default"}, "data": {"k": "v"}})
    sim.advance(1.0)
    stop.set()
    assert informers.join_until(host.monotonic() + 1.0) == []
    server.close()
    return transport, [cached.raw for cached in informer.store.list()]


@pytest.mark.parametrize("streaming", [True, False], ids=["streamed", "paged"])
@pytest.mark.parametrize("only_metadata", [False, True], ids=["whole", "metadata alone"])
def test_the_server_leaves_out_what_is_not_wanted(sim: Simulation, streaming: bool, only_metadata: bool) -> None:
    options = CacheOptions(streaming=streaming, drop_managed_fields=True)

    transport, objects = filled(sim, options, only_metadata=only_metadata)

    assert len(objects) == 2
    assert not any(b"managedFields" in raw for raw in objects)
    assert all(header.endswith(";drop=metadata.managedFields") for header in transport.accepted)


@pytest.mark.parametrize(
    ("transform", "asked", "accepted"),
    [
        pytest.param(LEAN, None, DROP, id="removed by the transform"),
        pytest.param(without(("metadata",), ("data",)), None, DROP, id="removed with all metadata"),
        pytest.param(without(("status",)), None, "application/json", id="kept"),
        pytest.param(edited(lambda _: None), None, "application/json", id="perhaps removed"),
        pytest.param(None, None, "application/json", id="stored as sent"),
        pytest.param(LEAN, False, "application/json", id="switched off"),
    ],
)
def test_a_cache_asks_if_it_would_remove_them_anyway(
    sim: Simulation, transform: Transform | None, asked: bool | None, accepted: str
) -> None:
    transport, _ = filled(sim, CacheOptions(transform=transform, drop_managed_fields=asked))

    assert set(transport.accepted) == {accepted}


def test_a_page_is_smaller_without_them(sim: Simulation) -> None:
    """The transform makes the same objects of both answers, so the cache does not depend on the server's release."""
    whole, kept = filled(sim, CacheOptions(streaming=False, transform=LEAN, drop_managed_fields=False))
    lean, same = filled(sim, CacheOptions(streaming=False, transform=LEAN), name="r1")

    assert lean.received < 0.7 * whole.received
    assert [len(raw) for raw in kept] == [len(raw) for raw in same]

# SPDX-License-Identifier: Apache-2.0
"""Informers and clients over TLS through a network that is cut, stalls, drips and loses answers, in real time.

The bounds are made small here; the reflector defines their defaults.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import attrs
import pytest
from kit.contract.real_server import emptied
from kit.processes.servers import rerouted

from apimachinery.errors import Conflict, ConnectionLost
from apimachinery.objects import Cached, ObjectKey
from apimachinery.stop import Stop
from apimachinery.system import SystemHost
from controller_runtime.api.collection import Collection
from controller_runtime.api.resources import NODES
from controller_runtime.cache.informer import Informer
from controller_runtime.cache.informers import Informers
from controller_runtime.cache.options import CacheOptions
from controller_runtime.cache.patience import Patience
from controller_runtime.cache.store import Delta
from controller_runtime.client.client import Client
from controller_runtime.client.http.configuration import from_kubeconfig
from controller_runtime.client.http.transport import HTTPTransport
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.core.backoff import Backoff
from controller_runtime.manager import health
from controller_runtime.testing.tcp_proxy import TCPProxy
from embedded_apiserver.server import APIServer
from embedded_apiserver.shell.kubeconfig import kubeconfig, write_kubeconfig
from embedded_apiserver.shell.thread import LoopbackServer
from embedded_apiserver.shell.tls import Certificates, make_certificates

HOST = SystemHost("here")
PATIENCE = 120.0  # of the tests: nothing takes as long
QUICK = Patience(silence=0.6, overdue=0.9, backoff=Backoff(initial=0.05, cap=0.2))


class Ledger:
    """The sum of the deltas that a handler received; a gap or a repetition does not add up."""

    def __init__(self) -> None:
        self.copy: dict[ObjectKey, Cached] = {}
        self.wrong: list[Delta] = []

    def __call__(self, delta: Delta) -> None:
        before = self.copy.get(delta.key)
        if (before and before.resource_version) != (delta.old and delta.old.resource_version):
            self.wrong.append(delta)
        if delta.new is None:
            del self.copy[delta.key]
        else:
            self.copy[delta.key] = delta.new


@attrs.frozen
class World:
    """A server, an informer of its nodes through a proxy, and a client that writes past the proxy."""

    proxy: TCPProxy
    transport: HTTPTransport
    user: Client
    informer: Informer
    ledger: Ledger

    def agrees(self) -> bool:
        """Returns whether the copy and the sum of its deltas are equal to the server's objects."""
        there = {
            (node["metadata"]["name"], node["metadata"]["resourceVersion"]) for node in self.user.list(NODES, view=dict)
        }
        here = {(node.name, node.resource_version) for node in self.informer.store.list()}
        told = {(node.name, node.resource_version) for node in [*self.ledger.copy.values()]}
        return there == here == told

    def change(self, round_: int) -> None:
        """Makes one change, one creation, and one deletion after the first round."""
        self.user.patch(NODES, ObjectKey("steady"), {"metadata": {"labels": {"round": str(round_)}}})
        self.user.create(NODES, {"metadata": {"name": f"new-{round_}"}})
        if round_:
            self.user.delete(NODES, ObjectKey(f"new-{round_ - 1}"))


def wait_for(condition: Callable[[], bool]) -> None:
    """Lets real time pass until something is so."""
    pause, deadline = HOST.condition("pause"), HOST.monotonic() + PATIENCE
    while not condition() and HOST.monotonic() < deadline:
        with pause:
            pause.wait_until(HOST.monotonic() + 0.01)
    assert condition()


@pytest.fixture(scope="module")
def certificates() -> Certificates:
    return make_certificates(HOST.now())


@contextlib.contextmanager
def served(certificates: Certificates, chosen: Path | None, folder: Path) -> Iterator[tuple[Path, Client]]:
    """A server in this process over TLS, or the real one: its kubeconfig, and a client of its own."""
    if chosen is not None:
        transport = HTTPTransport(HOST, from_kubeconfig(emptied(chosen)))
        with contextlib.closing(transport):
            yield chosen, Client(HOST, transport)
        return
    server = APIServer(HOST)
    with contextlib.closing(server), LoopbackServer(HOST, server, certificates=certificates) as serving:
        write_kubeconfig(folder / "direct", kubeconfig(serving.url, certificates.authority, "s3cret"))
        yield folder / "direct", Client(HOST, InProcessTransport(HOST, server))


@pytest.fixture
def world(
    certificates: Certificates, chosen: Path | None, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[World]:
    stop = Stop(HOST)
    with served(certificates, chosen, tmp_path) as (direct, user):
        user.create(NODES, {"metadata": {"name": "steady"}})
        address = urlsplit(from_kubeconfig(direct).host)
        with TCPProxy(str(address.hostname), address.port or 443) as proxy:
            transport = HTTPTransport(HOST, from_kubeconfig(rerouted(tmp_path, direct, proxy.port)))
            informers = Informers(HOST, transport, CacheOptions(patience=getattr(request, "param", QUICK)))
            informer = informers.of(Collection(NODES))
            informer.add_handler(ledger := Ledger())
            informers.start(stop)
            assert informers.wait_for_sync(stop, PATIENCE)
            yield World(proxy, transport, user, informer, ledger)
            stop.set()
            transport.close()
            assert informers.join_until(HOST.monotonic() + PATIENCE) == []
    assert ledger.wrong == []


def problem(world: World) -> str:
    """Returns the answer of /readyz about the cache."""
    return health.problem_of(world.informer, HOST)


@pytest.mark.parametrize(
    "weather",
    [
        pytest.param(TCPProxy.cut, id="cut"),
        pytest.param(TCPProxy.stall, id="half-open"),
        pytest.param(lambda proxy: proxy.drip(100.0), id="dripping"),
    ],
)
@pytest.mark.scenario("RF-30")
@pytest.mark.elsewhere("nolar/kopf#957")
def test_a_watch_that_brings_nothing_is_noticed_told_of_and_resumed_where_it_was(
    world: World, weather: Callable[[TCPProxy], None]
) -> None:
    """A watch through a network that swallows or drips is ended, reported and resumed: nothing is lost or doubled."""
    weather(world.proxy)
    world.change(0)
    wait_for(lambda: world.informer.last_error != "")
    world.change(1)
    wait_for(lambda: "has heard nothing for" in problem(world))
    assert not world.agrees()

    world.proxy.restore()
    wait_for(world.agrees)
    world.change(2)
    wait_for(world.agrees)

    assert world.informer.reflector.liveness.lists == 1
    wait_for(lambda: problem(world) == "")


@pytest.mark.elsewhere("nolar/kopf#787")
def test_connections_that_are_dropped_again_and_again_lose_nothing(world: World) -> None:
    for round_ in range(8):
        world.proxy.drop()
        world.change(round_)

    wait_for(world.agrees)
    assert world.informer.reflector.liveness.lists == 1


def test_a_slow_network_is_no_reason_to_give_up(world: World) -> None:
    world.proxy.slow(0.15)

    for round_ in range(3):
        world.change(round_)

    wait_for(world.agrees)
    assert world.informer.reflector.liveness.lists == 1


@pytest.mark.parametrize("world", [pytest.param(Patience(), id="the usual bound")], indirect=True)
def test_a_silence_within_the_bound_is_no_reason_to_give_up(world: World) -> None:
    watches = world.informer.reflector.liveness.watches
    world.proxy.stall()
    world.change(0)

    world.proxy.restore()

    wait_for(world.agrees)
    assert world.informer.reflector.liveness.watches == watches


def test_a_write_whose_answer_is_lost_was_done_once_and_says_that_it_may_have_been(world: World) -> None:
    client = Client(HOST, world.transport, request_timeout=PATIENCE)
    before = client.get(NODES, ObjectKey("steady"), dict)
    world.proxy.drop_after_request()

    with pytest.raises(ConnectionLost):
        client.patch(NODES, ObjectKey("steady"), {"metadata": {"labels": {"a": "b"}}})

    after = world.user.get(NODES, ObjectKey("steady"), dict)
    assert after["metadata"]["labels"] == {"a": "b"}
    stale = {"metadata": {"resourceVersion": before["metadata"]["resourceVersion"], "labels": {"a": "c"}}}
    with pytest.raises(Conflict):
        client.patch(NODES, ObjectKey("steady"), stale)
    wait_for(world.agrees)


def test_a_read_whose_answer_is_lost_is_asked_again(world: World) -> None:
    client = Client(HOST, world.transport, request_timeout=PATIENCE)
    client.get(NODES, ObjectKey("steady"), dict)
    world.proxy.drop_after_request()

    assert client.get(NODES, ObjectKey("steady"), dict)["metadata"]["name"] == "steady"


def test_requests_in_a_stalled_network_end_at_their_deadlines_and_later_ones_succeed(world: World) -> None:
    client = Client(HOST, world.transport)
    client.get(NODES, ObjectKey("steady"), dict)
    world.proxy.stall()

    for _ in range(3):
        with pytest.raises(ConnectionLost, match="timed out"):
            client.within(0.2).get(NODES, ObjectKey("steady"), dict)
    world.proxy.restore()

    assert client.get(NODES, ObjectKey("steady"), dict)["metadata"]["name"] == "steady"


@pytest.mark.embedded("its server is started and stopped")
@pytest.mark.elsewhere("kubernetes-client/javascript#596")
def test_kept_connections_and_watches_survive_a_restart_of_the_server(
    certificates: Certificates, tmp_path: Path
) -> None:
    server, stop = APIServer(HOST), Stop(HOST)
    serving = LoopbackServer(HOST, server, certificates=certificates)
    serving.start()
    port = serving.port
    write_kubeconfig(tmp_path / "kubeconfig", kubeconfig(serving.url, certificates.authority, "s3cret"))
    transport = HTTPTransport(HOST, from_kubeconfig(tmp_path / "kubeconfig"))
    client, informers = Client(HOST, transport), Informers(HOST, transport, CacheOptions(patience=QUICK))
    informer = informers.of(Collection(NODES))
    informers.start(stop)
    client.create(NODES, {"metadata": {"name": "a"}})
    assert informers.wait_for_sync(stop, PATIENCE)

    serving.stop()
    serving = LoopbackServer(HOST, server, certificates=certificates, port=port)
    serving.start()
    made = client.create(NODES, {"metadata": {"name": "b"}})

    wait_for(lambda: not informer.store.behind(made.resource_version))
    assert informer.reflector.liveness.lists == 1
    stop.set()
    transport.close()
    assert informers.join_until(HOST.monotonic() + PATIENCE) == []
    serving.stop()
    server.close()

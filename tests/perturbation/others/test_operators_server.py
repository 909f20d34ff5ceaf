# SPDX-License-Identifier: Apache-2.0
"""The server that a perturbed operator sees: its writes are noted, one of them ends it, and old lists are lawful."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import attrs
import pytest
from kit.perturbation.recorded_runs import created

from apimachinery.errors import ConnectionLost, Unauthorized
from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.objects import ObjectKey
from controller_runtime.api.resources import PODS
from controller_runtime.client.client import Client
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.testing.objects import a_pod
from controller_runtime.testing.perturbation.others.credentials import GRACE, Credentials
from controller_runtime.testing.perturbation.others.server import WRITER, OperatorsServer, writing
from controller_runtime.testing.perturbation.others.triggers import AtWrite
from controller_runtime.testing.perturbation.record import MANAGER, OTHER, STORY, Run
from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.perturbation import Answer, Name
from embedded_apiserver.perturbation.past import Past
from embedded_apiserver.server import APIServer


@attrs.frozen
class WithToken:
    """A handler that adds a token to each request."""

    inner: OperatorsServer
    token: str

    def handle(self, request: HTTPRequest, on_ready: Callable[[], None] | None = None) -> Answer:
        headers = {**request.headers, "authorization": f"Bearer {self.token}"}
        return self.inner.handle(request._replace(headers=headers), on_ready)


class Seen:
    """An operator's server, a client for the operator and one for the user."""

    def __init__(self, sim: Simulation, trigger: AtWrite | None = None, calm: Run | None = None) -> None:
        self.host = sim.host("here")
        self.server = APIServer(self.host)
        self.crashes = 0
        self.credentials = Credentials(self.host)
        calm = calm or (Run() if trigger else None)
        self.between = OperatorsServer(self.host, self.server, calm, trigger, self.crash, self.credentials)
        self.start()
        self.user = Client(self.host, InProcessTransport(self.host, self.server))

    def start(self) -> None:
        """Give the operator a client with a token of its own."""
        self.token = self.credentials.issue()
        transport = InProcessTransport(self.host, WithToken(self.between, self.token))
        self.operator = Client(self.host, transport)

    def crash(self) -> None:
        self.crashes += 1

    def list(self, query: tuple[tuple[str, str], ...]) -> bytes:
        headers = {"authorization": f"Bearer {self.token}"}
        answer = self.between.handle(HTTPRequest("GET", "/api/v1/pods", query, headers, b""))
        assert isinstance(answer, HTTPResponse)
        return answer.body


@pytest.fixture
def seen(sim: Simulation) -> Iterator[Seen]:
    made = Seen(sim)
    yield made
    made.server.close()


def test_changes_are_told_by_their_writer(seen: Seen) -> None:
    writers: list[tuple[str, int]] = []
    seen.server.storage.on_commit = lambda collection, change: writers.append(WRITER.get())

    seen.operator.create(PODS, a_pod("a"))
    with writing(STORY, 3):
        seen.user.create(PODS, a_pod("b"))
    seen.user.create(PODS, a_pod("c"))

    assert writers == [(MANAGER, 1), (STORY, 3), (OTHER, 0)]


@pytest.mark.parametrize("landed", [True, False])
def test_the_operator_ends_at_one_write_which_the_server_carries_out_or_not(sim: Simulation, landed: bool) -> None:
    seen = Seen(sim, AtWrite("POST pods default/", 2, landed))
    seen.operator.create(PODS, a_pod("a"))
    with pytest.raises(ConnectionLost):
        seen.operator.create(PODS, a_pod("b"))

    assert seen.crashes == 1
    assert seen.between.fired
    assert ("b" in {each["metadata"]["name"] for each in seen.user.list(PODS, view=dict)}) is landed
    seen.operator.create(PODS, a_pod("c"))
    assert seen.crashes == 1, "only once"
    seen.server.close()


def test_a_write_to_an_object_with_a_generated_name_is_known_by_the_names_of_the_calm_run(sim: Simulation) -> None:
    calm = Run(landed=[created(1, Name("pods", "default/web-*"))])
    seen = Seen(sim, AtWrite("PATCH pods default/*", 1, landed=True), calm)
    seen.user.create(PODS, a_pod("web-x7k2p"))

    with pytest.raises(ConnectionLost):
        seen.operator.patch(PODS, ObjectKey("web-x7k2p", "default"), {"metadata": {"labels": {"a": "b"}}})

    assert seen.crashes == 1
    seen.server.close()


def test_an_old_state_is_shown_only_to_a_list_of_any_version(seen: Seen) -> None:
    made = seen.user.create(PODS, a_pod("a"))
    seen.user.create(PODS, a_pod("b"))
    seen.between.seen.past = Past("pods", int(made.resource_version))

    assert b'"b"' not in seen.list((("resourceVersion", "0"),))
    assert b'"b"' in seen.list(())
    assert seen.between.run.any_version == {"pods"}
    assert seen.user.get(PODS, ObjectKey("b", "default"))


def test_a_process_of_an_earlier_start_cannot_act_and_its_watches_end(seen: Seen, sim: Simulation) -> None:
    old, token = seen.operator, seen.token
    headers = {"authorization": f"Bearer {token}"}
    wakes: list[int] = []
    request = HTTPRequest("GET", "/api/v1/pods", (("watch", "1"),), headers, b"")
    watch = seen.between.handle(request, lambda: wakes.append(1))
    assert not isinstance(watch, HTTPResponse)
    seen.credentials.revoke(seen.crash)

    assert wakes
    assert watch.take() == ([], True)
    seen.start()
    with pytest.raises(Unauthorized):
        old.create(PODS, a_pod("a"))
    seen.operator.create(PODS, a_pod("b"))
    assert [each["metadata"]["name"] for each in seen.user.list(PODS, view=dict)] == ["b"]


@pytest.mark.parametrize(("after", "is_named"), [(0.0, False), (GRACE + 1, True)])
def test_a_process_is_named_if_it_is_heard_of_a_while_after_its_end(
    seen: Seen, sim: Simulation, after: float, is_named: bool
) -> None:
    old = seen.operator
    seen.credentials.revoke(seen.crash)
    sim.advance(after)
    with pytest.raises(Unauthorized):
        old.list(PODS)

    assert bool(seen.credentials.survivors) is is_named
    assert all("outlived its end, and asked for GET /api/v1/pods" in each for each in seen.credentials.survivors)

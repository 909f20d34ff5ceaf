# SPDX-License-Identifier: Apache-2.0
"""One perturbed server for every run: which lists are answered with the past, and which readers may get it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import msgspec
import pytest

from apimachinery.http import HTTPRequest, HTTPResponse
from controller_runtime.api.resources import PODS
from controller_runtime.client.client import Client
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.testing.objects import a_pod
from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.perturbation.past import NO_STREAMS, Past
from embedded_apiserver.perturbation.server import PerturbedServer, is_of_any_version
from embedded_apiserver.server import APIServer

ANY, NEWEST = (("resourceVersion", "0"),), ()
STREAM = (("watch", "1"), ("sendInitialEvents", "true"), ("resourceVersion", "0"), ("allowWatchBookmarks", "true"))


@pytest.fixture
def server(sim: Simulation) -> Iterator[APIServer]:
    host = sim.host("here")
    made = APIServer(host)
    user = Client(host, InProcessTransport(host, made))
    user.create(PODS, a_pod("a"))
    user.create(PODS, a_pod("b"))
    yield made
    made.close()


def perturbed(
    server: APIServer, shows_past: Callable[[Mapping[str, str]], bool] = is_of_any_version
) -> PerturbedServer:
    return PerturbedServer(server, lambda write, carry_out: carry_out(), shows_past)


def names(seen: PerturbedServer, query: tuple[tuple[str, str], ...]) -> list[str]:
    answer = seen.handle(HTTPRequest("GET", "/api/v1/pods", query, {}))
    assert isinstance(answer, HTTPResponse)
    return [each["metadata"]["name"] for each in msgspec.json.decode(answer.body)["items"]]


def test_only_a_list_of_any_version_shows_the_past_unless_the_run_says_more(server: APIServer) -> None:
    lawful, forced = perturbed(server), perturbed(server, lambda query: True)
    lawful.past = forced.past = Past("pods", server.storage.version - 1)

    assert (names(lawful, ANY), names(lawful, NEWEST)) == (["a"], ["a", "b"])
    assert (names(forced, ANY), names(forced, NEWEST)) == (["a"], ["a"])


def test_a_streamed_list_of_any_version_counts_as_one_and_is_refused_while_the_past_is_shown(server: APIServer) -> None:
    seen = perturbed(server)
    seen.past = Past("pods", server.storage.version - 1)

    assert seen.handle(HTTPRequest("GET", "/api/v1/pods", STREAM, {}), lambda: None) is NO_STREAMS
    assert (seen.any_version, seen.watched, seen.watches) == ({"pods"}, {"pods"}, 1)


def test_the_past_of_one_resource_is_not_that_of_another(server: APIServer) -> None:
    seen = perturbed(server)
    seen.past = Past("nodes", 1)

    assert names(seen, ANY) == ["a", "b"]

# SPDX-License-Identifier: Apache-2.0
"""A kind that the server does not serve: named, looked for every few seconds, and followed when it appears."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from apimachinery.errors import CacheSyncTimeout, NoSuchKind, NotFound
from apimachinery.log import text_of
from apimachinery.objects import ObjectKey
from controller_runtime.api.resources import Resource
from controller_runtime.client.missing_kinds import explained
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.manager.health import health_of
from controller_runtime.testing import EmbeddedCluster, Simulation

CABINS: Resource[Any] = Resource("example.com", "v1", "Cabin", "cabins")
DEFINITIONS: Resource[Any] = Resource(
    "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", False
)
DEFINITION = {
    "metadata": {"name": "cabins.example.com"},
    "spec": {
        "group": "example.com",
        "names": {"kind": "Cabin", "plural": "cabins"},
        "scope": "Namespaced",
        "versions": [
            {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
        ],
    },
}
TEXT = "the server has no kind Cabin in example.com/v1: is its CustomResourceDefinition installed?"


class Noting(Reconciler):
    """Notes its requests."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def reconcile(self, request: Request) -> Result:
        self.seen.append(str(request))
        return Result()


@pytest.fixture
def noting(cluster: EmbeddedCluster) -> Noting:
    noting = Noting()
    cluster.manager.add(Controller("cabins", noting).watch(CABINS))
    return noting


def told(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [each for each in caplog.records if "list or watch" in text_of(each) and each.levelno >= logging.WARNING]


def test_it_is_looked_for_every_five_seconds_and_followed_when_it_appears(
    simulation: Simulation, cluster: EmbeddedCluster, noting: Noting, caplog: pytest.LogCaptureFixture
) -> None:
    cluster.start()
    simulation.advance(100.5)

    asked = [request for request in cluster.transport.requests if "cabins" in request.path]
    assert len(asked) == 21
    assert [informer.last_error for informer in cluster.manager.informers] == [TEXT]
    assert TEXT in health_of(cluster.manager).ready["informers"]()
    assert len(told(caplog)) == 1

    cluster.user.create(DEFINITIONS, DEFINITION)
    cluster.user.create(CABINS, {"metadata": {"name": "a", "namespace": "default"}})
    simulation.advance(5.0)

    assert noting.seen == ["default/a"]
    assert [informer.last_error for informer in cluster.manager.informers] == [""]


def test_a_kind_that_stays_away_ends_the_start_with_one_line(simulation: Simulation) -> None:
    cluster = EmbeddedCluster(simulation.host("here"))
    cluster.manager.add(Controller("cabins", Noting()).watch(CABINS))
    cluster.start()
    simulation.advance(200.0)

    with pytest.raises(CacheSyncTimeout) as raised:
        cluster.stop()

    assert str(raised.value) == f"caches not in sync after 120 s: cabins.example.com ({TEXT})"


def test_a_kind_that_is_missing_for_long_is_told_of_every_five_minutes(
    simulation: Simulation, cluster: EmbeddedCluster, caplog: pytest.LogCaptureFixture
) -> None:
    cluster.start()
    simulation.settle()
    cluster.manager.informer(CABINS)
    simulation.advance(3600.0)

    assert len(told(caplog)) == 13


def test_a_definition_that_is_deleted_and_made_again_is_followed(
    simulation: Simulation, cluster: EmbeddedCluster, noting: Noting
) -> None:
    cluster.user.create(DEFINITIONS, DEFINITION)
    cluster.user.create(CABINS, {"metadata": {"name": "a", "namespace": "default"}})
    cluster.start()
    simulation.advance(1.0)
    cluster.user.delete(DEFINITIONS, ObjectKey("cabins.example.com"))
    simulation.advance(60.0)
    cluster.user.create(DEFINITIONS, DEFINITION)
    cluster.user.create(CABINS, {"metadata": {"name": "b", "namespace": "default"}})
    simulation.advance(12.0)

    assert {*noting.seen} == {"default/a", "default/b"}
    assert not cluster.manager.stopping.is_set()


@pytest.mark.parametrize(
    ("error", "is_missing"),
    [
        pytest.param(NotFound("the server answered 404: 404 page not found", code=404), True, id="unknown group"),
        pytest.param(
            NotFound("the server could not find the requested resource", code=404, reason="NotFound"),
            True,
            id="unknown plural",
        ),
        pytest.param(
            NotFound('namespaces "x" not found', code=404, reason="NotFound", details={"name": "x"}),
            False,
            id="unknown namespace",
        ),
        pytest.param(NotFound("the server answered 404: <html>", code=404), False, id="page of a proxy"),
        pytest.param(NotFound("the server answered 404", code=404), False, id="nothing"),
    ],
)
def test_which_404_means_that_the_kind_is_missing(error: NotFound, is_missing: bool) -> None:
    found = explained(error, CABINS)

    assert isinstance(found, NoSuchKind) == is_missing
    assert str(found) == (TEXT if is_missing else str(error))


def test_a_kind_of_kubernetes_has_no_definition_to_install() -> None:
    error = NotFound("the server could not find the requested resource", code=404, reason="NotFound")

    assert str(explained(error, Resource("apps", "v9", "Deployment", "deployments"))) == (
        "the server has no kind Deployment in apps/v9: does this server enable that API?"
    )


def test_the_client_says_so_too(cluster: EmbeddedCluster) -> None:
    with pytest.raises(NoSuchKind, match="the server has no kind Cabin"):
        cluster.user.list(CABINS)
    with pytest.raises(NoSuchKind, match="the server has no kind Cabin"):
        cluster.user.create(CABINS, {"metadata": {"name": "a", "namespace": "default"}})

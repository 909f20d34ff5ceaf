# SPDX-License-Identifier: Apache-2.0
"""A manager serves its webhooks from before its caches start until all else has ended."""

from __future__ import annotations

import pytest
from kit.crd.cabins import Cabin, CabinV1Alpha1
from kit.crd.conversions import cabins
from kit.webhooks.reviewing import conversion_review, post

from apimachinery.http import HTTPRequest
from controller_runtime import Controller, Reconciler, Request, Result, SystemHost
from controller_runtime.crd import DEFINITIONS
from controller_runtime.errors import UsageError
from controller_runtime.manager.health import health_of
from controller_runtime.manifests.facts import unconnected_manager
from controller_runtime.testing import EmbeddedCluster, Refused, Simulation
from controller_runtime.testing.faults import Fault
from controller_runtime.webhooks import Checks, Converts, WebhookServing


class Nothing(Reconciler):
    def reconcile(self, request: Request) -> Result:
        return Result()


def no_lists(number: int, request: HTTPRequest) -> Fault | None:
    """Refuse to list cabins, as a server does that cannot have them converted."""
    return Refused() if request.path.endswith("/v1/cabins") else None


@pytest.mark.scenario("WH-10")
@pytest.mark.parametrize("converts", [True, False], ids=["converted", "not converted"])
def test_readiness_waits_for_caches_but_not_for_those_of_kinds_that_are_converted(converts: bool) -> None:
    with Simulation(0) as simulation, EmbeddedCluster(simulation.host("operator"), faults=no_lists) as cluster:
        manager = cluster.manager
        manager.install(Cabin, CabinV1Alpha1)
        manager.add(Controller("cabins", Nothing()).watch(Cabin))
        if converts:
            manager.webhooks.add(Converts(cabins))
        health = health_of(manager)
        cluster.start()
        simulation.advance(5)

        [informer] = manager.informers
        assert not informer.has_synced()
        answer = health.answer(HTTPRequest("GET", "/readyz"), trusted=True)
        assert answer.status == (200 if converts else 500)


@pytest.mark.scenario("WH-11")
def test_webhooks_are_served_from_before_the_caches_start_until_the_manager_has_ended() -> None:
    with Simulation(0) as simulation, EmbeddedCluster(simulation.host("operator"), faults=no_lists) as cluster:
        webhooks = cluster.manager.webhooks
        webhooks.add(Converts(cabins))
        cluster.manager.install(Cabin, CabinV1Alpha1)
        cluster.manager.add(Controller("cabins", Nothing()).watch(Cabin))
        before = webhooks.is_serving
        cluster.start()
        simulation.advance(5)

        assert (before, webhooks.is_serving) == (False, True)
        assert webhooks.handle(post("/convert", conversion_review("example.com/v1"))).status == 200
        with pytest.raises(UsageError, match="webhooks are added before the manager runs"):
            webhooks.add(Checks(Cabin, lambda *_: None))
        cluster.stop()
        assert not webhooks.is_serving


def test_an_installed_definition_says_where_its_versions_are_converted() -> None:
    with Simulation(0) as simulation, EmbeddedCluster(simulation.host("operator")) as cluster:
        cluster.manager.webhooks.add(Converts(cabins))
        cluster.manager.install(Cabin, CabinV1Alpha1)
        cluster.start()
        [found] = cluster.user.list(DEFINITIONS)

        conversion = found["spec"]["conversion"]
        assert conversion["strategy"] == "Webhook"
        assert conversion["webhook"]["clientConfig"]["service"] == {
            "name": "webhooks",
            "namespace": "operator-system",
            "path": "/convert",
            "port": 443,
        }


def test_a_record_of_rights_names_what_the_certificates_are_kept_in() -> None:
    manager = unconnected_manager(SystemHost())
    manager.webhooks.add(Converts(cabins), Checks(Cabin, lambda *_: None))
    manager.webhooks.serve(WebhookServing(address="127.0.0.1:99999999", name="hooks", namespace="cabins-system"))
    with pytest.raises(UsageError, match="cannot serve"):
        manager.declared_webhooks.start(manager.stopping, manager.declare)

    assert [(str(right.resource), right.names, right.namespace) for right in manager.declared] == [
        ("secrets", ("hooks-certificates",), "cabins-system"),
        ("validatingwebhookconfigurations.admissionregistration.k8s.io", ("hooks",), ""),
        ("customresourcedefinitions.apiextensions.k8s.io", ("cabins.example.com",), ""),
    ]

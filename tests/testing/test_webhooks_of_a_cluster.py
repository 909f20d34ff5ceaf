# SPDX-License-Identifier: Apache-2.0
"""Webhooks in a simulation: their calls take virtual time, end with the manager, and have faults."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any

import pytest
from kit.apiserver.webhooks import configuration, hook, says

from apimachinery.errors import UsageError
from apimachinery.host import Host
from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.system import SystemHost
from controller_runtime import Manager, ObjectKey, webhooks
from controller_runtime.errors import APIError
from controller_runtime.resources import CONFIG_MAPS, RESOURCE_QUOTAS, SERVICES, VALIDATING_WEBHOOK_CONFIGURATIONS
from controller_runtime.testing import EmbeddedCluster
from controller_runtime.testing.faults import Fault, LostReply, Refused, scripted
from controller_runtime.testing.simulation import Simulation
from controller_runtime.webhooks import Checks

SERVICE = {"service": {"name": "webhooks", "namespace": "default", "path": "/check"}}


class Slow:
    """A webhook that answers after some seconds of its host's time."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds
        self.host: Host | None = None
        self.calls = 0

    def handle(self, request: HTTPRequest) -> HTTPResponse:
        self.calls += 1
        if self.seconds and self.host is not None:
            wait(self.host, self.seconds)
        return says()(json.loads(request.body))


def wait(host: Host, seconds: float) -> None:
    condition, deadline = host.condition("slow"), host.monotonic() + seconds
    with condition:
        while host.monotonic() < deadline:
            condition.wait_until(deadline)


def configured(cluster: EmbeddedCluster, **fields: object) -> None:
    cluster.user.create(
        VALIDATING_WEBHOOK_CONFIGURATIONS, configuration("Validating", hook("check", clientConfig=SERVICE, **fields))
    )


def write(cluster: EmbeddedCluster, name: str = "a") -> str:
    """Create a config map; return the text of the refusal, which is empty if there is none."""
    try:
        cluster.user.create(CONFIG_MAPS, {"metadata": {"name": name, "namespace": "default"}})
    except APIError as error:
        return str(error)
    return ""


@contextlib.contextmanager
def cluster_with(webhook: Slow, **options: Any) -> Iterator[tuple[Simulation, EmbeddedCluster]]:
    with (
        Simulation(0) as sim,
        EmbeddedCluster(sim.host("c"), webhooks={"default/webhooks": webhook}, **options) as made,
    ):
        webhook.host = made.host
        yield sim, made


@pytest.mark.parametrize("seed", range(4))
def test_a_managers_webhooks_answer_as_soon_as_its_cluster_is_started(seed: int) -> None:
    def setup(manager: Manager) -> None:
        manager.webhooks.add(Checks(CONFIG_MAPS, lambda *_: webhooks.FieldError("data", "none at all")))

    with Simulation(seed) as sim, EmbeddedCluster(sim.host("c")) as cluster:
        cluster.run(setup)
        before = write(cluster)
        cluster.restart()

        assert before.endswith("data: Invalid value: none at all")
        assert write(cluster) == before


@pytest.mark.scenario("AW-09")
@pytest.mark.parametrize("policy", ["Fail", "Ignore"])
def test_a_slow_webhook_is_given_up_after_its_time(policy: str) -> None:
    webhook = Slow()
    with cluster_with(webhook) as (sim, cluster):
        configured(cluster, timeoutSeconds=3, failurePolicy=policy)
        webhook.seconds = 2.0
        assert write(cluster, "in-time") == ""
        assert sim.time == pytest.approx(2.0, abs=0.1)
        webhook.seconds = 20.0
        refusal = write(cluster, "late")
        assert sim.time == pytest.approx(5.0, abs=0.1)
        wanted = 'Post "https://webhooks.default.svc:443/check?timeout=3s": context deadline exceeded'
        assert (wanted in refusal) if policy == "Fail" else not refusal


@pytest.mark.parametrize("policy", ["Fail", "Ignore"])
def test_webhooks_end_with_the_manager_and_come_back_with_the_next_one(policy: str) -> None:
    webhook = Slow()
    with cluster_with(webhook) as (_, cluster):
        cluster.run(lambda manager: None)
        configured(cluster, failurePolicy=policy)
        assert write(cluster, "before") == ""
        cluster.kill()
        refusal = write(cluster, "between")
        assert ("connect: connection refused" in refusal) == (policy == "Fail")
        cluster.restart()
        assert write(cluster, "after") == ""
        assert webhook.calls == 2


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        pytest.param(Refused(), "failed calling webhook", id="refused"),
        pytest.param(LostReply(), "context deadline exceeded", id="the reply is lost"),
    ],
)
def test_faults_befall_calls_of_webhooks(fault: Fault, text: str) -> None:
    webhook = Slow()
    with cluster_with(webhook, webhook_faults=scripted({0: fault})) as (_, cluster):
        configured(cluster)
        assert text in write(cluster, "a")
        assert write(cluster, "b") == ""


def test_a_write_of_a_service_or_under_a_quota_holds_no_lock_while_its_webhook_is_called() -> None:
    """The simulation fails a thread that waits with a lock."""
    webhook = Slow(1.0)
    with cluster_with(webhook) as (_, cluster):
        quota = {"metadata": {"name": "q", "namespace": "default"}, "spec": {"hard": {"services": "1"}}}
        cluster.user.create(RESOURCE_QUOTAS, quota)
        any_rule = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["services"]}
        configured(cluster, rules=[any_rule])
        service = {"metadata": {"name": "s", "namespace": "default"}, "spec": {"ports": [{"port": 80}]}}
        cluster.user.create(SERVICES, service)
        cluster.user.delete(SERVICES, ObjectKey("s", "default"))
        assert webhook.calls == 2


def test_outside_of_a_simulation_a_webhook_is_called_on_the_thread_of_the_request() -> None:
    webhook = Slow()
    with EmbeddedCluster(SystemHost(), webhooks={"default/webhooks": webhook}) as cluster:
        configured(cluster)
        assert write(cluster) == ""
        assert webhook.calls == 1


def test_webhooks_are_given_with_a_new_server_alone() -> None:
    with EmbeddedCluster(SystemHost()) as cluster, pytest.raises(UsageError, match="not both"):
        EmbeddedCluster(SystemHost(), server=cluster.server, webhooks={"default/webhooks": Slow()})

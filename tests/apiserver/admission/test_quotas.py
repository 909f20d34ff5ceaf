# SPDX-License-Identifier: Apache-2.0
"""Quotas count what is there, after each write; limit ranges fill in what a quota asks for."""

from __future__ import annotations

from typing import Any

import pytest
from kit.apiserver.asking import MERGE, PODS, Asking, pod

from apimachinery.host import Host
from apimachinery.quantities import parse_quantity
from apimachinery.stop import Stop, spawn
from apimachinery.system import SystemHost
from embedded_apiserver.server import APIServer

QUOTAS = "/api/v1/namespaces/default/resourcequotas"
MAPS = "/api/v1/namespaces/default/configmaps"
SECRETS = "/api/v1/namespaces/default/secrets"


def quota(ask: Asking, name: str = "q", **spec: Any) -> None:
    ask.ok("POST", QUOTAS, {"metadata": {"name": name}, "spec": spec})


def used(ask: Asking, name: str = "q") -> dict[str, str]:
    answer: dict[str, str] = ask.ok("GET", f"{QUOTAS}/{name}")["status"]["used"]
    return answer


def test_a_count_follows_each_write(ask: Asking) -> None:
    ask.ok("POST", MAPS, {"metadata": {"name": "before"}})
    quota(ask, hard={"configmaps": "2", "count/secrets": "1"})
    counts = [used(ask)]

    ask.ok("POST", MAPS, {"metadata": {"name": "a"}})
    counts.append(used(ask))
    refused = ask("POST", MAPS, {"metadata": {"name": "b"}})
    ask("POST", MAPS, {"metadata": {"name": "b"}}, dryRun="All")
    ask.ok("DELETE", f"{MAPS}/before")
    counts.append(used(ask))
    ask.ok("POST", MAPS, {"metadata": {"name": "b"}})
    ask.ok("DELETE", MAPS)
    counts.append(used(ask))

    assert [one["configmaps"] for one in counts] == ["1", "2", "1", "0"]
    assert refused[0] == 403
    assert refused[1]["message"].endswith(
        "exceeded quota: q, requested: configmaps=1, used: configmaps=2, limited: configmaps=2"
    )
    assert ask.ok("GET", f"{QUOTAS}/q")["status"]["hard"] == {"configmaps": "2", "count/secrets": "1"}


def test_a_refused_object_counts_for_nothing(ask: Asking) -> None:
    quota(ask, hard={"secrets": "1"})

    assert ask("POST", SECRETS, {"metadata": {"name": "Not A Name"}})[0] == 422
    assert used(ask) == {"secrets": "0"}
    assert ask("POST", SECRETS, {"metadata": {"name": "a"}})[0] == 201
    assert ask("POST", SECRETS, {"metadata": {"name": "a"}})[0] == 403  # the quota is asked before the name


def test_pods_that_have_ended_use_nothing_but_their_place_in_the_store(ask: Asking) -> None:
    quota(ask, hard={"pods": "1", "requests.cpu": "1", "count/pods": "5"})
    resources = {"requests": {"cpu": "700m"}}
    ask.ok("POST", PODS, pod("a", containers=[{"name": "c", "image": "i", "resources": resources}]))
    running = used(ask)

    ask("PATCH", f"{PODS}/a/status", {"status": {"phase": "Succeeded"}}, headers={"content-type": MERGE})

    assert running == {"pods": "1", "requests.cpu": "700m", "count/pods": "1"}
    assert used(ask) == {"pods": "0", "requests.cpu": "0", "count/pods": "1"}


def test_a_change_is_charged_by_its_difference(ask: Asking) -> None:
    path = "/api/v1/namespaces/default/services"
    quota(ask, hard={"services.nodeports": "1", "services": "5"})
    ask.ok(
        "POST",
        path,
        {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 1, "name": "a"}, {"port": 2, "name": "b"}]}},
    )

    status, body = ask("PATCH", f"{path}/s", {"spec": {"type": "NodePort"}}, headers={"content-type": MERGE})

    assert (status, "requested: services.nodeports=2, used: services.nodeports=0" in body["message"]) == (403, True)
    assert used(ask) == {"services.nodeports": "0", "services": "1"}


@pytest.mark.parametrize(
    ("scope", "spec", "counts"),
    [
        pytest.param("Terminating", {"activeDeadlineSeconds": 5}, True, id="it has a deadline"),
        pytest.param("NotTerminating", {"activeDeadlineSeconds": 5}, False, id="it must have none"),
        pytest.param("BestEffort", {}, True, id="it asks for nothing"),
        pytest.param("NotBestEffort", {}, False, id="it must ask for something"),
        pytest.param("PriorityClass", {"priorityClassName": "system-node-critical"}, True, id="it has a class"),
        pytest.param("PriorityClass", {}, False, id="it must have a class"),
    ],
)
def test_scopes_select_pods(ask: Asking, scope: str, spec: dict[str, Any], counts: bool) -> None:
    quota(ask, hard={"pods": "1"}, scopes=[scope]) if scope != "PriorityClass" else quota(
        ask, hard={"pods": "1"}, scopeSelector={"matchExpressions": [{"scopeName": scope, "operator": "Exists"}]}
    )

    ask.ok("POST", PODS, pod("a", **spec))

    assert used(ask) == {"pods": "1" if counts else "0"}


def test_defaults_of_a_namespace_are_what_its_quota_counts(ask: Asking) -> None:
    limit = {"type": "Container", "default": {"memory": "64Mi"}, "defaultRequest": {"memory": "32Mi"}}
    limits = {"metadata": {"name": "l"}, "spec": {"limits": [limit]}}
    ask.ok("POST", "/api/v1/namespaces/default/limitranges", limits)
    quota(ask, hard={"limits.memory": "100Mi", "requests.memory": "1Gi"})

    ask.ok("POST", PODS, pod("a"))
    second = ask("POST", PODS, pod("b"))

    assert used(ask) == {"limits.memory": "64Mi", "requests.memory": "32Mi"}
    assert second[0] == 403


def test_of_many_that_come_at_once_only_so_many_pass() -> None:
    host: Host = SystemHost()
    server = APIServer(host)
    ask, stop = Asking(server), Stop(host, "over")
    quota(ask, hard={"configmaps": "5"})

    def create(number: int) -> None:
        for each in range(4):
            ask("POST", MAPS, {"metadata": {"name": f"m-{number}-{each}"}})

    threads = [spawn(host, stop, f"writer {number}", lambda number=number: create(number)) for number in range(6)]
    for thread in threads:
        thread.join_until(None)
    left = len(ask.ok("GET", MAPS)["items"])
    counted = parse_quantity(used(ask)["configmaps"])
    server.close()

    assert (stop.failure, left, counted) == (None, 5, 5)

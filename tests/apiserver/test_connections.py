# SPDX-License-Identifier: Apache-2.0
"""Requests that a server hands on to kubelets, pods and services, compared with the recorded answers of a real one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from kit.apiserver.asking import PODS, Asking, node, pod

from apimachinery.system import SystemHost
from embedded_apiserver.server import APIServer

FILE = Path(__file__).parents[1] / "data" / "recordings" / "connections-1.36.2.jsonl"
RECORDED = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]
UPGRADE = {"connection": "Upgrade", "upgrade": "SPDY/3.1"}
ADDRESS = {
    "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
    "daemonEndpoints": {"kubeletEndpoint": {"Port": 1}},
}


def containers(*names: str) -> list[dict[str, str]]:
    return [{"name": name, "image": "i"} for name in names]


@pytest.fixture(scope="module")
def asking() -> Asking:
    """Return a client of a server with the objects that the recorded one had."""
    asking = Asking(APIServer(SystemHost()))
    asking.ok("POST", PODS, pod("p"))
    two = pod("two", containers=containers("c", "d"), initContainers=containers("n"))
    asking.ok("POST", PODS, two)
    for name, machine in (("bound", "n1"), ("bound2", "nope"), ("bound3", "n2"), ("runs", "n2")):
        asking.ok("POST", PODS, pod(name, nodeName=machine))
    asking.patch(f"{PODS}/runs/status", {"status": {"phase": "Running", "podIP": "10.1.1.1"}})
    asking.ok("POST", "/api/v1/nodes", node("n1"))
    asking.ok("POST", "/api/v1/nodes", node("n2", status=ADDRESS))
    asking.ok(
        "POST", "/api/v1/namespaces/default/services", {"metadata": {"name": "svc"}, "spec": {"ports": [{"port": 80}]}}
    )
    return asking


@pytest.mark.parametrize("case", RECORDED, ids=lambda case: f"{case['method']} {case['path']}")
def test_an_answer_is_that_of_a_real_server(asking: Asking, case: dict[str, Any]) -> None:
    url = urlsplit(case["path"])
    headers = {"content-type": "application/json"}

    response = asking.response(case["method"], url.path, case["body"], headers=headers, **dict(parse_qsl(url.query)))

    told = json.loads(response.body) if response.body else {}
    assert (response.status, told.get("message", "")) == (case["code"], case["message"])


@pytest.mark.parametrize("part", ["exec", "attach", "portforward"])
def test_a_stream_to_a_node_says_that_no_kubelet_is_there(asking: Asking, part: str) -> None:
    code, told = asking("POST", f"{PODS}/bound3/{part}", headers=UPGRADE)

    assert (code, told["message"]) == (500, "error dialing backend: no kubelet can be reached on node n2")


def test_the_log_of_a_pod_that_a_hollow_node_runs_is_empty(asking: Asking) -> None:
    response = asking.response("GET", f"{PODS}/runs/log")

    assert (response.status, response.headers["content-type"], response.body) == (200, "text/plain; charset=utf-8", b"")


def test_the_log_of_a_pod_that_does_not_run_yet_says_so(asking: Asking) -> None:
    code, told = asking("GET", f"{PODS}/bound3/log")

    assert (code, told["message"]) == (400, 'container "c" in pod "bound3" is waiting to start: ContainerCreating')


def test_a_proxy_to_a_pod_reaches_nothing(asking: Asking) -> None:
    code, told = asking("GET", f"{PODS}/runs/proxy/a/b")

    assert (code, told["reason"]) == (503, "ServiceUnavailable")


@pytest.mark.parametrize(
    ("ready", "message"),
    [
        (False, 'no endpoints available for service "svc"'),
        (True, "error trying to reach service: 10.1.1.1 cannot be reached from this server"),
    ],
)
def test_a_proxy_to_a_service_follows_its_slices(asking: Asking, ready: bool, message: str) -> None:
    path = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
    slice_ = {
        "metadata": {"name": "svc-a", "labels": {"kubernetes.io/service-name": "svc"}},
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["10.1.1.1"], "conditions": {"ready": ready}}],
        "ports": [{"port": 80}],
    }
    asking.ok("POST", path, slice_)

    code, told = asking("GET", "/api/v1/namespaces/default/services/svc:80/proxy/x")
    asking.ok("DELETE", f"{path}/svc-a")

    assert (code, told["message"]) == (503, message)

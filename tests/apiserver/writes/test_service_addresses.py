# SPDX-License-Identifier: Apache-2.0
"""Services have addresses and ports, each of them one service at a time."""

from __future__ import annotations

from typing import Any

import pytest
from kit.apiserver.asking import Asking

SERVICES = "/api/v1/namespaces/default/services"
NODE_PORT = {"type": "NodePort"}
MERGE = {"content-type": "application/merge-patch+json"}


def service(name: str = "s", **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}], "selector": {"a": "b"}, **spec}}


def made(ask: Asking, name: str = "s", **spec: Any) -> Any:
    return ask.ok("POST", SERVICES, service(name, **spec))["spec"]


def patched(ask: Asking, **spec: Any) -> Any:
    code, answer = ask("PATCH", f"{SERVICES}/s", {"spec": spec}, headers=MERGE)
    assert code == 200, answer
    return answer["spec"]


def refusal(ask: Asking, **spec: Any) -> tuple[str, str]:
    _, answer = ask("POST", SERVICES, service("other", **spec))
    (cause,) = answer["details"]["causes"]
    return cause["field"], cause["message"]


def test_each_service_has_an_address_of_its_own(ask: Asking) -> None:
    addresses = {made(ask, f"s{number}")["clusterIP"] for number in range(20)}

    assert len(addresses) == 20


def test_a_given_address_is_kept_and_refused_to_others(ask: Asking) -> None:
    assert made(ask, clusterIP="10.0.0.77")["clusterIPs"] == ["10.0.0.77"]

    assert refusal(ask, clusterIP="10.0.0.77") == (
        "spec.clusterIPs",
        'Invalid value: ["10.0.0.77"]: failed to allocate IP 10.0.0.77: provided IP is already allocated',
    )


def test_an_address_is_free_again_when_its_service_is_gone(ask: Asking) -> None:
    made(ask, clusterIP="10.0.0.77")
    ask.ok("DELETE", f"{SERVICES}/s")

    assert made(ask, clusterIP="10.0.0.77")["clusterIP"] == "10.0.0.77"


def test_a_refused_service_leaves_its_address_free(ask: Asking) -> None:
    assert ask("POST", SERVICES, service("s", clusterIP="10.0.0.77", ports=[]))[0] == 422

    assert made(ask, clusterIP="10.0.0.77")["clusterIP"] == "10.0.0.77"


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        pytest.param({"clusterIP": "11.0.0.1"}, "spec.clusterIPs", id="another network"),
        pytest.param({"clusterIP": "x"}, "spec.clusterIPs[0]", id="no address"),
        pytest.param({"clusterIPs": ["10.0.0.9"]}, "spec.clusterIPs", id="the first one is missing"),
        pytest.param({"clusterIP": "10.0.0.8", "clusterIPs": ["10.0.0.9"]}, "spec.clusterIPs", id="two opinions"),
        pytest.param({"ipFamilyPolicy": "RequireDualStack"}, "spec.ipFamilyPolicy", id="two families"),
        pytest.param({"ipFamilies": ["IPv6"]}, "spec.ipFamilies[0]", id="another family"),
    ],
)
def test_what_no_service_can_have_is_refused(ask: Asking, spec: dict[str, Any], field: str) -> None:
    assert refusal(ask, **spec)[0] == field


def test_node_ports_are_given_kept_and_given_back(ask: Asking) -> None:
    port = made(ask, **NODE_PORT)["ports"][0]["nodePort"]
    asked = [{"port": 80, "nodePort": port}]

    renamed = ask.ok("PUT", f"{SERVICES}/s", service(**NODE_PORT))["spec"]
    taken = refusal(ask, ports=asked, **NODE_PORT)
    closed = patched(ask, type="ClusterIP")
    given = made(ask, "other", ports=asked, **NODE_PORT)

    assert renamed["ports"][0]["nodePort"] == port
    assert taken == ("spec.ports[0].nodePort", f"Invalid value: {port}: provided port is already allocated")
    assert "nodePort" not in closed["ports"][0]
    assert "externalTrafficPolicy" not in closed
    assert given["ports"][0]["nodePort"] == port


def test_two_protocols_of_a_port_share_their_node_port(ask: Asking) -> None:
    ports = [{"name": name, "port": 53, "protocol": name.upper()} for name in ("tcp", "udp")]
    first, second = made(ask, ports=ports, **NODE_PORT)["ports"]

    assert first["nodePort"] == second["nodePort"]


def test_an_address_never_changes_but_a_name_has_none(ask: Asking) -> None:
    first = made(ask)["clusterIP"]

    code, answer = ask("PATCH", f"{SERVICES}/s", {"spec": {"clusterIP": "10.0.0.200"}}, headers=MERGE)
    named = patched(ask, type="ExternalName", externalName="a.b")
    back = patched(ask, type="ClusterIP", externalName=None)

    assert (code, answer["details"]["causes"][0]["message"]) == (
        422,
        'Invalid value: ["10.0.0.200"]: may not change once set',
    )
    assert not named.keys() & {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"}
    assert back["clusterIP"] != first


def test_a_headless_service_without_a_selector_may_have_both_families(ask: Asking) -> None:
    spec = made(ask, clusterIP="None", selector={})

    assert (spec["ipFamilies"], spec["ipFamilyPolicy"]) == (["IPv4", "IPv6"], "RequireDualStack")

# SPDX-License-Identifier: Apache-2.0
"""Network policies: a server takes them, and they open the ports of a program to its readers and callers alone."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
import yaml
from kit.crd.cabins import Cabin
from kit.manifests.bundles import IMAGE, cabins_bundle, chart_data
from kit.manifests.go_templates import render

from apimachinery.errors import UsageError
from controller_runtime import Manager, ObjectKey, SystemHost
from controller_runtime.manifests.bundles import Bundle
from controller_runtime.manifests.chart import chart
from controller_runtime.manifests.facts import facts_of, unconnected_manager
from controller_runtime.manifests.network import peers_of
from controller_runtime.manifests.settings import METRICS_PORT, PROBES_PORT, WEBHOOKS_PORT, plain_settings
from controller_runtime.resources import NAMESPACES, NETWORK_POLICIES
from controller_runtime.testing import EmbeddedCluster
from controller_runtime.webhooks import Checks

SERVER, OTHER = "10.0.0.0/24", "192.0.2.7"


def setup(manager: Manager) -> None:
    manager.install(Cabin)
    manager.webhooks.add(Checks(Cabin, lambda *_: None))


def hooked(*cidrs: str) -> Bundle:
    manager = unconnected_manager(SystemHost())
    setup(manager)
    settings = plain_settings("cabins", namespace="cabins-system", image=IMAGE, replicas=2)
    settings = attrs.evolve(settings, has_webhooks=True, webhook_from=peers_of(cidrs))
    return Bundle(facts_of(manager), settings, None)


def opened(bundle: Bundle) -> list[tuple[int, list[Any]]]:
    """Return the ports that policies open, each with the peers that may connect; no peers are all."""
    policies = [one["spec"] for one in bundle.objects() if one["kind"] == "NetworkPolicy"]
    assert all(each["policyTypes"] == ["Ingress"] for each in policies)
    rules = [rule for each in policies for rule in each["ingress"]]
    return [(port["port"], rule.get("from", [])) for rule in rules for port in rule["ports"]]


PODS = [{"namespaceSelector": {}}]


@pytest.mark.parametrize(
    ("bundle", "ports"),
    [
        pytest.param(cabins_bundle(), [(METRICS_PORT, PODS)], id="no webhooks"),
        pytest.param(hooked(), [(METRICS_PORT, PODS), (WEBHOOKS_PORT, [])], id="called by all"),
        pytest.param(
            hooked(SERVER, OTHER),
            [
                (METRICS_PORT, PODS),
                (WEBHOOKS_PORT, [{"ipBlock": {"cidr": SERVER}}, {"ipBlock": {"cidr": "192.0.2.7/32"}}]),
            ],
            id="called by the API server",
        ),
    ],
)
def test_ports_are_open_to_their_readers_and_callers_and_that_of_the_probes_to_no_pod(
    bundle: Bundle, ports: list[tuple[int, list[Any]]]
) -> None:
    assert opened(bundle) == ports
    assert PROBES_PORT not in dict(ports)


@pytest.mark.parametrize("bundle", [cabins_bundle(), hooked(), hooked(SERVER)])
def test_a_server_takes_them_and_they_select_the_pods_of_the_deployment(
    cluster: EmbeddedCluster, bundle: Bundle
) -> None:
    cluster.user.create(NAMESPACES, {"metadata": {"name": "cabins-system"}})
    [deployment] = [one for one in bundle.objects() if one["kind"] == "Deployment"]
    for policy in (one for one in bundle.objects() if one["kind"] == "NetworkPolicy"):
        cluster.user.create(NETWORK_POLICIES, policy)
        stored = cluster.user.get(NETWORK_POLICIES, ObjectKey(policy["metadata"]["name"], "cabins-system"), dict)

        assert stored["spec"] == policy["spec"]
        selected = stored["spec"]["podSelector"]["matchLabels"]
        assert selected.items() <= deployment["spec"]["template"]["metadata"]["labels"].items()


@pytest.mark.parametrize(
    ("values", "cidrs", "is_there"),
    [
        pytest.param({}, [SERVER], True, id="as it was made"),
        pytest.param({"networkPolicy": {"webhookFrom": []}}, [], True, id="called by all"),
        pytest.param({"networkPolicy": {"webhookFrom": peers_of([OTHER])}}, [OTHER], True, id="another cluster"),
        pytest.param({"networkPolicy": {"enabled": False}}, [], False, id="none"),
    ],
)
def test_the_values_of_a_chart_choose_the_callers(values: dict[str, Any], cidrs: list[str], is_there: bool) -> None:
    files = dict(chart(hooked(SERVER)))
    data = chart_data(files, "cabins", "cabins-system", values)
    texts = [render(files[f"templates/{name}.yaml"], data) for name in ("network_policy", "webhook_network_policy")]
    made = [one for text in texts for one in yaml.safe_load_all(text) if one]
    plain = [one for one in hooked(*cidrs).objects() if one["kind"] == "NetworkPolicy"]

    assert [one["spec"]["ingress"] for one in made] == [one["spec"]["ingress"] for one in plain if is_there]


@pytest.mark.parametrize(
    ("cidr", "remedy"),
    [
        ("10.0.0.1/8", "has host bits set: write 10.0.0.0/8"),
        ("fd00::1/8", "has host bits set: write fd00::/8"),
        ("10.0.0.0/33", "give one such as 10.0.0.0/24, or an address"),
        ("kubernetes.default", "give one such as 10.0.0.0/24, or an address"),
        ("", "give one such as 10.0.0.0/24, or an address"),
    ],
)
def test_a_text_that_is_no_range_of_addresses_is_refused_with_the_remedy(cidr: str, remedy: str) -> None:
    with pytest.raises(UsageError, match=f"^--webhook-from: .*{remedy}"):
        peers_of([cidr])

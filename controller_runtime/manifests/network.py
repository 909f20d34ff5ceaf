# SPDX-License-Identifier: Apache-2.0
"""The network policies of a program: from where its metrics are read and its webhooks called."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import ip_network
from typing import Any

from apimachinery.errors import UsageError
from controller_runtime.manifests.objects import METRICS_SUFFIX, Object, metadata
from controller_runtime.manifests.settings import METRICS_PORT, WEBHOOKS_PORT, ManifestSettings
from controller_runtime.manifests.text import when

_PODS: list[Object] = [{"namespaceSelector": {}}]
"""The pods of every namespace, and no address outside of the cluster."""


def metrics_policy(settings: ManifestSettings) -> Object:
    """Return the NetworkPolicy by which only pods can read the metrics, and only the kubelet (without a rule) the
    probes.

    A NetworkPolicy closes all ports that no policy opens. So this one also opens the port of the webhooks, unless
    `webhook_policy` opens it for known addresses.
    """
    return _policy(
        settings,
        f"{settings.name}{METRICS_SUFFIX}",
        [
            when(settings.has_metrics, {"from": _PODS, "ports": _ports(METRICS_PORT)}),
            when(settings.has_webhooks, when(settings.is_called_by_all, {"ports": _ports(WEBHOOKS_PORT)})),
        ],
    )


def webhook_policy(settings: ManifestSettings) -> list[Object]:
    """Return the NetworkPolicy by which only the chosen addresses can call the webhooks; empty if none are chosen."""
    if not settings.webhook_from:
        return []
    return [
        _policy(settings, settings.webhooks_name, [{"ports": _ports(WEBHOOKS_PORT), "from": settings.webhook_from}])
    ]


def peers_of(cidrs: Sequence[str]) -> list[Object]:
    """Return the peers of a NetworkPolicy for the address ranges of `--webhook-from`.

    Raises:
        UsageError: A text is not an address range.
    """
    return [{"ipBlock": {"cidr": _cidr(text)}} for text in cidrs]


def _cidr(text: str) -> str:
    try:
        return str(ip_network(text))
    except ValueError as error:
        try:
            meant = f"write {ip_network(text, strict=False)}"
        except ValueError:
            meant = "give one such as 10.0.0.0/24, or an address"
        raise UsageError(f"--webhook-from: {error}: {meant}") from error


def _policy(settings: ManifestSettings, name: str, rules: Sequence[Any]) -> Object:
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": metadata(settings, name),
        "spec": {
            "podSelector": {"matchLabels": dict(settings.selector)},
            "policyTypes": ["Ingress"],
            "ingress": rules,
        },
    }


def _ports(number: int) -> list[Object]:
    return [{"protocol": "TCP", "port": number}]

# SPDX-License-Identifier: Apache-2.0
"""Makes the objects that register webhooks with an API server, and those of a service in front of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from controller_runtime.webhooks.converting import CONVERT_PATH
from controller_runtime.webhooks.hooks import DefaultsHook, Hook

_VERSION = "admissionregistration.k8s.io/v1"
_NAMESPACE_LABEL = "kubernetes.io/metadata.name"

SYSTEM = "kube-system"
"""The namespace of a cluster's own parts."""

SERVICE_PORT = 443
"""The port of the service; what API servers take if a configuration names none."""


@attrs.frozen(kw_only=True)
class WebhookPlace:
    """The address at which an API server calls the webhooks of a program.

    Attributes:
        name: The name of the webhook configurations and of the service.
        namespace: The namespace of the service, in which the program runs.
        url: The URL of a program without a service, such as `https://127.0.0.1:9443`; empty to use the service.
        bundle: The authorities that verify its certificate, in base64; empty if they are added later.
    """

    name: str
    namespace: str
    url: str = ""
    bundle: str = ""

    def client_config(self, path: str) -> dict[str, Any]:
        """Return the `clientConfig` of a webhook at this path."""
        bundle = {"caBundle": self.bundle} if self.bundle else {}
        if self.url:
            return {"url": f"{self.url}{path}", **bundle}
        service = {"name": self.name, "namespace": self.namespace, "path": path, "port": SERVICE_PORT}
        return {"service": service, **bundle}

    def is_of(self, client_config: Mapping[str, Any]) -> bool:
        """Return whether a `clientConfig` has this address."""
        if self.url:
            return str(client_config.get("url", "")).startswith(f"{self.url}/")
        service = client_config.get("service") or {}
        return (service.get("name"), service.get("namespace")) == (self.name, self.namespace)


def configurations(hooks: Sequence[Hook[Any]], place: WebhookPlace) -> list[dict[str, Any]]:
    """Return the webhook configurations: a mutating one for `Defaults`, a validating one for `Checks`.

    A webhook whose failure refuses writes excludes two namespaces: its own, whose pods must start before it serves, and
    `kube-system`, without which a cluster does not recover.
    """
    made = []
    for kind, group in (
        ("MutatingWebhookConfiguration", [hook for hook in hooks if isinstance(hook, DefaultsHook)]),
        ("ValidatingWebhookConfiguration", [hook for hook in hooks if not isinstance(hook, DefaultsHook)]),
    ):
        if group:
            webhooks = [_webhook(hook, place) for hook in group]
            made.append({"apiVersion": _VERSION, "kind": kind, "metadata": {"name": place.name}, "webhooks": webhooks})
    return made


def _webhook(hook: Hook[Any], place: WebhookPlace) -> dict[str, Any]:
    resource = hook.resource
    rule = {
        "apiGroups": [resource.group],
        "apiVersions": [resource.version],
        "resources": [resource.plural],
        "operations": list(hook.operations),
        "scope": "Namespaced" if resource.namespaced else "Cluster",
    }
    made: dict[str, Any] = {
        "name": hook.name,
        "admissionReviewVersions": ["v1"],
        "clientConfig": place.client_config(hook.path),
        "rules": [rule],
        "failurePolicy": hook.failure_policy,
        "matchPolicy": "Equivalent",
        "sideEffects": "NoneOnDryRun" if hook.has_effects else "None",
        "timeoutSeconds": hook.timeout,
    }
    if hook.failure_policy == "Fail":
        values = [place.namespace] if place.namespace == SYSTEM else [place.namespace, SYSTEM]
        own = {"key": _NAMESPACE_LABEL, "operator": "NotIn", "values": values}
        made["namespaceSelector"] = {"matchExpressions": [own]}
    if hook.object_selector is not None:
        made["objectSelector"] = dict(hook.object_selector)
    if hook.match_conditions:
        made["matchConditions"] = [{"name": name, "expression": text} for name, text in hook.match_conditions.items()]
    return made


def conversion_of(place: WebhookPlace) -> dict[str, Any]:
    """Return `spec.conversion` for a definition whose versions are converted at this address."""
    config = place.client_config(CONVERT_PATH)
    return {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": config}}

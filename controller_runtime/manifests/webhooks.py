# SPDX-License-Identifier: Apache-2.0
"""The objects of a program's webhooks: service, configurations, conversions, and the rights that certificates need."""

from __future__ import annotations

import copy

from controller_runtime.crd.definitions import DEFINITIONS
from controller_runtime.manifests.facts import Facts
from controller_runtime.manifests.objects import Object, bound
from controller_runtime.manifests.settings import ManifestSettings
from controller_runtime.webhooks.certificates import SUFFIX
from controller_runtime.webhooks.configurations import SERVICE_PORT, WebhookPlace, configurations, conversion_of
from controller_runtime.webhooks.injecting import MUTATING, VALIDATING

_GROUP = MUTATING.group


def webhook_objects(facts: Facts, settings: ManifestSettings) -> list[Object]:
    """Return the Service and the configurations of the webhooks.

    The program adds its certificate authority to the latter.
    """
    if not facts.has_webhooks:
        return []
    port = {"name": "webhooks", "port": SERVICE_PORT, "targetPort": "webhooks"}
    service: Object = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": settings.webhooks_name,
            "namespace": settings.namespace,
            "labels": dict(settings.labels),
        },
        "spec": {"selector": dict(settings.selector), "ports": [port]},
    }
    made = configurations(list(facts.hooks), _place(settings))
    for each in made:
        each["metadata"]["labels"] = dict(settings.labels)
    return [service, *made]


def converted_definitions(facts: Facts, settings: ManifestSettings) -> list[Object]:
    """Return the definitions, with the address of the conversion webhook for those that the program converts."""
    made = []
    for body in facts.definitions:
        if str(body["metadata"]["name"]) in facts.converted:
            body = copy.copy(body)
            body["spec"] = {**body["spec"], "conversion": conversion_of(_place(settings))}
        made.append(body)
    return made


def webhook_roles(facts: Facts, settings: ManifestSettings) -> list[Object]:
    """Return the roles for maintaining the certificates of webhooks, and their bindings.

    The verb `create` cannot be limited by name; the other verbs are.
    """
    if not facts.has_webhooks:
        return []
    name = settings.webhooks_name
    secrets = {"apiGroups": [""], "resources": ["secrets"]}
    own = [
        {**secrets, "verbs": ["create"]},
        {**secrets, "resourceNames": [f"{name}{SUFFIX}"], "verbs": ["get", "update"]},
    ]
    kinds = {each["kind"] for each in configurations(list(facts.hooks), _place(settings))}
    plurals = [each.plural for each in (MUTATING, VALIDATING) if each.kind in kinds]
    verbs = ["get", "patch"]
    shared = []
    if facts.converted:
        names = sorted(facts.converted)
        shared.append(
            {
                "apiGroups": [DEFINITIONS.group],
                "resources": [DEFINITIONS.plural],
                "resourceNames": names,
                "verbs": verbs,
            }
        )
    if plurals:
        shared.append({"apiGroups": [_GROUP], "resources": plurals, "resourceNames": [name], "verbs": verbs})
    return [
        *bound(settings, "ClusterRole", None, name, shared, are_own=True),
        *bound(settings, "Role", settings.namespace, name, own, are_own=True),
    ]


def _place(settings: ManifestSettings) -> WebhookPlace:
    return WebhookPlace(name=settings.webhooks_name, namespace=settings.namespace)

# SPDX-License-Identifier: Apache-2.0
"""Writes the bundle of authorities into the objects that register webhooks and conversions. Decisions are pure."""

from __future__ import annotations

import base64
import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from apimachinery.errors import Forbidden, NotFound
from apimachinery.objects import ObjectKey
from controller_runtime.api.resources import Resource
from controller_runtime.client.client import Client
from controller_runtime.crd.definitions import DEFINITIONS
from controller_runtime.webhooks.configurations import WebhookPlace

_GROUP = "admissionregistration.k8s.io"
MUTATING: Resource[dict[str, Any]] = Resource(
    _GROUP, "v1", "MutatingWebhookConfiguration", "mutatingwebhookconfigurations", namespaced=False
)
"""The configurations of webhooks that fill in; their objects are read as dicts."""

VALIDATING: Resource[dict[str, Any]] = Resource(
    _GROUP, "v1", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations", namespaced=False
)
"""The configurations of webhooks that check; their objects are read as dicts."""


@attrs.frozen
class Target:
    """An object whose `caBundle` fields have the certificate authorities of webhooks: its resource and name."""

    resource: Resource[dict[str, Any]]
    name: str

    def __str__(self) -> str:
        return f"{self.resource.kind} {self.name}"


@attrs.frozen
class FoundTargets:
    """The targets as the server has them.

    Attributes:
        objects: The targets that exist and can be read.
        absent: A line with a remedy for each target that does not exist, so that no server calls its webhooks.
        unknown: A line with a remedy for each target that this program has no right to read.
    """

    objects: Mapping[Target, Mapping[str, Any]]
    absent: Sequence[str] = ()
    unknown: Sequence[str] = ()


def find(client: Client, targets: Sequence[Target]) -> FoundTargets:
    """Read the targets from the server."""
    objects, absent, unknown = {}, [], []
    for target in targets:
        try:
            objects[target] = client.get(target.resource, ObjectKey(target.name))
        except NotFound:
            absent.append(
                f"{target} is missing, so no API server calls its webhooks: apply the manifests of this program "
                "(python -m controller_runtime manifests)"
            )
        except Forbidden:
            unknown.append(_without_rights(target, "get"))
    return FoundTargets(objects, absent, unknown)


def _without_rights(target: Target, verb: str) -> str:
    return (
        f"no right to {verb} {target}: apply roles.yaml of this program's manifests (python -m controller_runtime "
        "manifests), or set its caBundle to ca.crt of the Secret yourself"
    )


def trusts(target: Target, obj: Mapping[str, Any], place: WebhookPlace, bundle: bytes) -> bool:
    """Return whether an object has the bundle wherever it refers to this address."""
    return injection(target, obj, place, bundle) is None


def bundles(found: FoundTargets, place: WebhookPlace) -> list[bytes]:
    """Return the distinct bundles that the targets have for this address; invalid base64 is skipped."""
    texts = {
        str(config["caBundle"]): None
        for target, obj in found.objects.items()
        for config in _configs(target, obj)
        if place.is_of(config) and config.get("caBundle")
    }
    made = []
    for text in texts:
        with contextlib.suppress(ValueError):
            made.append(base64.b64decode(text))
    return made


def injection(target: Target, obj: Mapping[str, Any], place: WebhookPlace, bundle: bytes) -> dict[str, Any] | None:
    """Return the merge patch that writes the bundle into an object; None if the object has it already.

    The patch has the resourceVersion of the object, because it replaces the whole list of webhooks.
    """
    text = base64.b64encode(bundle).decode()
    metadata = {"resourceVersion": obj["metadata"]["resourceVersion"]}
    configs = [*_configs(target, obj)]
    if all(not place.is_of(config) or config.get("caBundle") == text for config in configs):
        return None
    if target.resource is DEFINITIONS:
        return {"metadata": metadata, "spec": {"conversion": {"webhook": {"clientConfig": {"caBundle": text}}}}}
    webhooks = [
        {**webhook, "clientConfig": {**config, "caBundle": text}} if place.is_of(config) else webhook
        for webhook, config in zip(obj.get("webhooks") or (), configs, strict=True)
    ]
    return {"metadata": metadata, "webhooks": webhooks}


def _configs(target: Target, obj: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    if target.resource is DEFINITIONS:
        conversion = (obj.get("spec") or {}).get("conversion") or {}
        yield (conversion.get("webhook") or {}).get("clientConfig") or {}
    else:
        for webhook in obj.get("webhooks") or ():
            yield webhook.get("clientConfig") or {}


def inject(client: Client, found: FoundTargets, place: WebhookPlace, bundle: bytes) -> list[str]:
    """Write the bundle where it is missing; return a line with the reason and a remedy for each failure.

    Raises:
        Conflict: Another client has changed an object meanwhile; read the objects again.
        NotFound: An object has been deleted meanwhile; read the objects again.
    """
    problems = []
    for target, obj in found.objects.items():
        patch = injection(target, obj, place, bundle)
        if patch is None:
            continue
        try:
            client.patch(target.resource, ObjectKey(target.name), patch)
        except Forbidden:
            problems.append(_without_rights(target, "patch"))
    return problems

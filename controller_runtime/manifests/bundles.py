# SPDX-License-Identifier: Apache-2.0
"""The manifests of a program: as one text of YAML documents, or as the files of a kustomization."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from controller_runtime.manifests.deployment import deployment
from controller_runtime.manifests.facts import Facts
from controller_runtime.manifests.network import metrics_policy, webhook_policy
from controller_runtime.manifests.objects import (
    Object,
    deletion_roles,
    disruption_budget,
    lease_roles,
    metrics_service,
    namespace_of,
    ring_roles,
    roles,
    service_account,
    service_monitor,
)
from controller_runtime.manifests.rights import Rights
from controller_runtime.manifests.settings import ManifestSettings
from controller_runtime.manifests.text import document, plain
from controller_runtime.manifests.webhooks import converted_definitions, webhook_objects, webhook_roles

MARK = "# Made by `python -m controller_runtime manifests`; what you change here is lost when it is made again.\n"
"""The first line of each file that is made; a file with another one is never overwritten."""

TEMPLATE_MARK = f"{{{{- /* {MARK[2:].strip()} */ -}}}}\n"
"""The same for a template, whose result may have to be nothing at all."""

Files = Mapping[str, str]
"""Texts by the names of files."""


@attrs.frozen
class Bundle:
    """The data from which the manifests of a program are made.

    Attributes:
        facts: The facts that are derived from the code.
        settings: The settings of the deployment.
        rights: The rights of the program; None omits its roles.
        has_monitor: Whether to make a ServiceMonitor, whose kind a cluster may lack.
    """

    facts: Facts
    settings: ManifestSettings
    rights: Rights | None
    has_monitor: bool = False

    def parts(self) -> dict[str, list[Object]]:
        """Return the objects by file name, in an order in which they can be applied."""
        settings = self.settings
        granted = [] if self.rights is None else roles(settings, self.rights)
        found = {
            "namespace": namespace_of(settings),
            "definitions": converted_definitions(self.facts, settings),
            "service_account": [service_account(settings)],
            "roles": [
                *granted,
                *(lease_roles(settings) if settings.elects else ()),
                *ring_roles(settings, self.facts.shared),
                *webhook_roles(self.facts, settings),
                *deletion_roles(settings, self.facts),
            ],
            "metrics_service": [metrics_service(settings)],
            "network_policy": [metrics_policy(settings)],
            "webhooks": webhook_objects(self.facts, settings),
            "webhook_network_policy": webhook_policy(settings),
            "deployment": [deployment(settings)],
            "disruption_budget": [disruption_budget(settings)],
            "service_monitor": [service_monitor(settings)] if self.has_monitor else [],
        }
        return {f"{name}.yaml": objects for name, objects in found.items() if objects}

    def objects(self) -> list[Object]:
        """Return all objects, for settings without template expressions."""
        return [plain(obj) for part in self.parts().values() for obj in part]


def yaml_of(objects: Sequence[Mapping[str, Any]]) -> str:
    """Return objects as one text of several YAML documents."""
    return "---\n".join(document(obj) for obj in objects)


def kustomization(bundle: Bundle) -> Files:
    """Return the files of a kustomization.

    Each object has its namespace, because a role may be in another namespace than the program; so the kustomization
    sets none.
    """
    name = bundle.settings.program
    named = attrs.evolve(bundle, settings=attrs.evolve(bundle.settings, image=name))
    parts = named.parts()
    whole = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": list(parts),
        "images": [{"name": name, **_kustomized(bundle.settings.image)}],
    }
    texts = {file: yaml_of(objects) for file, objects in parts.items()}
    return {file: MARK + text for file, text in {"kustomization.yaml": document(whole), **texts}.items()}


def _kustomized(image: str) -> dict[str, str]:
    repository, tag, digest = image_parts(image)
    version = {"digest": digest} if digest else {"newTag": tag}
    return {"newName": repository, **version}


def image_parts(image: str) -> tuple[str, str, str]:
    """Return the repository, the tag and the digest of an image. Without tag and digest, the tag is `latest`."""
    repository, _, digest = image.partition("@")
    head, slash, last = repository.rpartition("/")
    last, _, tag = last.partition(":")
    return f"{head}{slash}{last}", tag or ("" if digest else "latest"), digest

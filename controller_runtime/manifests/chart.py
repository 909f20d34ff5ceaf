# SPDX-License-Identifier: Apache-2.0
"""The manifests of a program as a Helm chart, made by the same functions as the plain ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from apimachinery.errors import UsageError
from controller_runtime.manifests.bundles import MARK, TEMPLATE_MARK, Bundle, Files, image_parts
from controller_runtime.manifests.objects import Object
from controller_runtime.manifests.settings import RESOURCES, chart_settings
from controller_runtime.manifests.text import ToYaml, document, literal

VERSION = "0.1.0"
"""The version of a chart; `helm package --version` gives another one."""

_CONDITIONS = {
    "definitions.yaml": ".Values.installCRDs",
    "service_account.yaml": ".Values.serviceAccount.create",
    "metrics_service.yaml": ".Values.metrics.enabled",
    "service_monitor.yaml": "and .Values.metrics.enabled .Values.serviceMonitor.enabled",
    "disruption_budget.yaml": ".Values.podDisruptionBudget.enabled",
    "network_policy.yaml": ".Values.networkPolicy.enabled",
    "webhook_network_policy.yaml": "and .Values.networkPolicy.enabled .Values.networkPolicy.webhookFrom",
}
"""The conditions under which the objects of a file are there, as templates have them."""

_KEPT = "helm.sh/resource-policy"

_VALUES = """\
# The image of the program; an empty tag is the chart's appVersion.
{image}
{replicas}
# Definitions stay when the release is uninstalled, because all their objects would be deleted with them.
installCRDs: true

# Metrics are served at port 8080 of each pod; the monitor needs the Prometheus operator.
metrics:
  enabled: true
serviceMonitor:
  enabled: {monitor}

podDisruptionBudget:
  enabled: true

# {network_about}
{network}
# An empty name is that of the release.
serviceAccount:
  create: true
  name: ""
  annotations: {{}}

# The request is an idle program; raise the limit with the number of objects that it caches.
{resources}
nodeSelector: {{}}
tolerations: []
imagePullSecrets: []
"""


def chart(bundle: Bundle) -> Files:
    """Return the files of a Helm chart for a program.

    Raises:
        UsageError: The image has a digest, for which the chart has no value.
    """
    plain = bundle.settings
    repository, tag, digest = image_parts(plain.image)
    if digest:
        raise UsageError(f"a chart needs an image with a tag, such as {repository}:1.0, not a digest")
    # The monitor is there in any case, behind its value.
    templates = attrs.evolve(bundle, facts=_kept(bundle), settings=chart_settings(plain), has_monitor=True).parts()
    templates.pop("namespace.yaml", None)
    _annotate_account(templates["service_account.yaml"])
    about = {
        "apiVersion": "v2",
        "name": plain.program,
        "description": f"The operator {plain.program}",
        "type": "application",
        "version": VERSION,
        "appVersion": tag,
    }
    files = {"Chart.yaml": document(about), "values.yaml": _values(bundle, repository)}
    for name, objects in templates.items():
        files[f"templates/{name}"] = _template(name, objects, may_elect=plain.ring_by is None)
    return {name: (TEMPLATE_MARK if name.startswith("templates/") else MARK) + text for name, text in files.items()}


def _kept(bundle: Bundle) -> Any:
    """Return the facts with definitions that an uninstalled release leaves behind."""
    definitions = [literal(body) for body in bundle.facts.definitions]
    for body in definitions:
        body["metadata"] = {**body["metadata"], "annotations": {_KEPT: "keep"}}
    return attrs.evolve(bundle.facts, definitions=definitions)


def _annotate_account(objects: Sequence[Object]) -> None:
    for obj in objects:
        obj["metadata"] = {
            **obj["metadata"],
            "annotations": ToYaml(".Values.serviceAccount.annotations", optional=True),
        }


def _template(name: str, objects: Sequence[Mapping[str, Any]], *, may_elect: bool) -> str:
    texts = []
    for obj in objects:
        text = document(obj, template=True)
        if may_elect and obj["metadata"]["name"] == "{{ .Release.Name }}-leader-election":
            text = f"{{{{- if .Values.leaderElection.enabled }}}}\n---\n{text}{{{{- end }}}}\n"
        else:
            text = f"---\n{text}"
        texts.append(text)
    text = "".join(texts)
    condition = _CONDITIONS.get(name)
    return f"{{{{- if {condition} }}}}\n{text}{{{{- end }}}}\n" if condition else text


def _values(bundle: Bundle, repository: str) -> str:
    settings = bundle.settings
    image = {"image": {"repository": repository, "tag": "", "pullPolicy": "IfNotPresent"}}
    replicas: dict[str, Any] = {"replicas": settings.replicas}
    about = "# Several replicas need the election: without it there is one, whatever this number is.\n"
    if settings.ring_by is None:
        replicas["leaderElection"] = {"enabled": bool(settings.elects)}
    else:
        about = "# All of them work, each for a share of the objects.\n"
    network: dict[str, Any] = {"enabled": True}
    network_about = "Pods alone read the metrics."
    if settings.has_webhooks:
        network["webhookFrom"] = [*settings.webhook_from]
        network_about += (
            " The peers of webhookFrom call the webhooks, such as ipBlock: {cidr: 10.0.0.0/24}; with none all do."
        )
    return _VALUES.format(
        network_about=network_about,
        network=document({"networkPolicy": network}),
        image=document(image),
        replicas=about + document(replicas),
        monitor="true" if bundle.has_monitor else "false",
        resources=document({"resources": RESOURCES}),
    )

# SPDX-License-Identifier: Apache-2.0
"""The choices for a program on a cluster: as values, or as the template expressions of a chart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from controller_runtime.manager.lifecycle import CANCEL_GRACE
from controller_runtime.manifests.text import ABSENT, Bare, ToYaml
from controller_runtime.ring.by import RingBy

METRICS_PORT, PROBES_PORT, WEBHOOKS_PORT = 8080, 8081, 9443
"""The ports of the container."""

GRACE = 20
"""Seconds that running reconciles have to end; the default of programs on a cluster."""

TERMINATION = int(GRACE + 8 * CANCEL_GRACE)
"""Seconds after which the pod is killed: the grace; then 5 s for each group of threads that must be cancelled, which
are the controllers, the election, runnables, event recorders, caches and requests of coroutines; and 10 s more, of
which the release of the lease takes up to 4."""

RESOURCES: Mapping[str, Any] = {"requests": {"cpu": "10m", "memory": "64Mi"}, "limits": {"memory": "256Mi"}}
"""The request is what an idle leader takes, rounded up: `examples/cabins.py` on Kubernetes 1.36, with its metrics
collected, has 58 MiB and 0.1 % of a core. The limit is room for caches of about 70,000 objects of 1.5 KB, by the table
in README. CPU has no limit, since leadership is a deadline: a replica that is throttled loses it."""


@attrs.frozen(kw_only=True)
class ManifestSettings:
    """The settings of one deployment. A value may be a template expression, a flag also the condition of a template.

    Attributes:
        program: The program's name; never a template.
        name: The name of the Deployment and of its other objects.
        namespace: The namespace in which the program runs.
        labels: The labels of every object.
        selector: The labels of the pods.
        image: The image; `ABSENT` for a comparison without it.
        pull_policy: The deployment's `imagePullPolicy`, unless it is absent.
        replicas: The number of replicas.
        elects: Whether the replicas elect a leader.
        ring_by: The property of requests by which the replicas divide the work in a ring; None for no ring. Never a
            template.
        watch_namespace: The only namespace that the program watches; empty for all.
        has_metrics: Whether metrics are served.
        account: The name of the service account.
        resources: The container's resources.
        placement: Additional fields of the pod's spec.
        has_webhooks: Whether the program serves webhooks.
        webhook_from: The NetworkPolicy peers that may call the webhooks; empty for all.
    """

    program: str
    name: str
    namespace: str
    labels: Mapping[str, Any]
    selector: Mapping[str, Any]
    image: Any
    pull_policy: Any = ABSENT
    replicas: Any = 2
    elects: bool | str = True
    ring_by: RingBy | None = None
    watch_namespace: str = ""
    has_metrics: bool | str = True
    account: str = ""
    resources: Any = attrs.field(factory=lambda: RESOURCES)
    placement: Mapping[str, Any] = attrs.field(factory=dict)
    has_webhooks: bool = False
    webhook_from: Any = ()

    @property
    def webhooks_name(self) -> str:
        """The name of the webhooks' service and configurations."""
        return f"{self.name}-webhooks"

    @property
    def is_called_by_all(self) -> bool | str:
        """Whether the webhooks may be called from any address."""
        chosen = self.webhook_from
        return f"not {chosen.path}" if isinstance(chosen, ToYaml) else not chosen


def plain_settings(
    program: str, *, namespace: str, image: str, replicas: int, watch_namespace: str = "", name: str | None = None
) -> ManifestSettings:
    """Return the settings for manifests with fixed values; `chart_settings` has those for a Helm chart.

    If there are several replicas, they elect a leader.
    """
    labels = {"app.kubernetes.io/name": program}
    return ManifestSettings(
        program=program,
        name=name or program,
        namespace=namespace,
        labels=labels,
        selector=labels,
        image=image,
        replicas=replicas,
        elects=replicas > 1,
        watch_namespace=watch_namespace,
        account=name or program,
    )


def chart_settings(plain: ManifestSettings) -> ManifestSettings:
    """Return settings whose values are the template expressions of a Helm chart.

    The chart's `values.yaml` has the values of `plain` as the defaults.
    """
    release = "{{ .Release.Name }}"
    selector = {"app.kubernetes.io/name": plain.program, "app.kubernetes.io/instance": release}
    replicas = "{{ if .Values.leaderElection.enabled }}{{ .Values.replicas }}{{ else }}1{{ end }}"
    if plain.ring_by is not None:
        replicas = "{{ .Values.replicas }}"
    return ManifestSettings(
        program=plain.program,
        name=release,
        namespace="{{ .Release.Namespace }}",
        labels={**selector, "app.kubernetes.io/managed-by": "{{ .Release.Service }}"},
        selector=selector,
        image="{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}",
        pull_policy=Bare("{{ .Values.image.pullPolicy | quote }}"),
        replicas=Bare(replicas),
        elects=".Values.leaderElection.enabled" if plain.ring_by is None else plain.elects,
        ring_by=plain.ring_by,
        watch_namespace=plain.watch_namespace,
        has_metrics=".Values.metrics.enabled",
        account="{{ .Values.serviceAccount.name | default .Release.Name }}",
        resources=ToYaml(".Values.resources"),
        placement={
            "nodeSelector": ToYaml(".Values.nodeSelector", optional=True),
            "tolerations": ToYaml(".Values.tolerations", optional=True),
            "imagePullSecrets": ToYaml(".Values.imagePullSecrets", optional=True),
        },
        has_webhooks=plain.has_webhooks,
        webhook_from=ToYaml(".Values.networkPolicy.webhookFrom") if plain.has_webhooks else (),
    )

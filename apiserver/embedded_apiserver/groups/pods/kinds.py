# SPDX-License-Identifier: Apache-2.0
"""Pods, templates of pods, and claims of volumes."""

from __future__ import annotations

from functools import partial

from embedded_apiserver.groups.pods import (
    claim_spec,
    claims,
    columns,
    pod_changes,
    pod_parts,
    pod_status,
    pods,
    strategy,
)
from embedded_apiserver.groups.pods.claim_warnings import of_claim
from embedded_apiserver.kinds.checks import Checks
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.kinds.policy import Policy, changed, warned
from embedded_apiserver.objects import part

_core = partial(Kind, group="", version="v1")
POD = _core(
    kind="Pod",
    plural="pods",
    tableless=("ephemeralcontainers", "resize"),
    short_names=("po",),
    categories=("all",),
    subresources=(
        *("status", "attach", "binding", "ephemeralcontainers", "eviction", "exec", "log", "portforward", "proxy"),
        "resize",
    ),
    deletes_with_object=True,
    fields={
        "spec.nodeName": "",
        "spec.restartPolicy": "",
        "spec.schedulerName": "",
        "spec.serviceAccountName": "",
        "spec.hostNetwork": "false",
        "status.phase": "",
        "status.podIP": "",
        "status.podIPs": "",
        "status.nominatedNodeName": "",
    },
    names_known_fields=False,
    policy=Policy(
        generation=changed("spec"),
        created=strategy.new_pod,
        isolated=strategy.isolated_pod,
        warnings=strategy.pod_warnings,
        first_warnings=strategy.profile_warnings,
    ),
    metadata="uw",
    checks=Checks(
        pods.new_pod,
        pod_changes.pod_change,
        pod_status.pod_status_change,
        parts={"ephemeralcontainers": pod_parts.ephemeral_containers, "resize": pod_parts.resize},
    ),
    cells=columns.PODS,
    row_conditions=columns.pod_conditions,
)
POD_TEMPLATE = _core(
    kind="PodTemplate",
    plural="podtemplates",
    template=("template",),
    deletes_with_object=True,
    policy=Policy(generation=changed("template"), warnings=strategy.template_warnings),
    checks=Checks(pods.new_template, pods.template_change),
    cells=columns.TEMPLATES,
)
BINDING = _core(kind="Binding", plural="bindings", verbs=("create",))
CLAIM = _core(
    kind="PersistentVolumeClaim",
    plural="persistentvolumeclaims",
    short_names=("pvc",),
    subresources=("status",),
    deletes_with_object=True,
    policy=Policy(
        status={"phase": "Pending"},
        created=strategy.new_claim,
        isolated=strategy.isolated_claim,
        warnings=warned(of_claim),
    ),
    metadata="uw",
    checks=Checks(
        lambda obj: claim_spec.claim_spec(part(obj, "spec"), "spec"), claims.claim_change, claims.claim_status
    ),
    cells=columns.CLAIMS,
)
KINDS = (POD, POD_TEMPLATE, BINDING, CLAIM)

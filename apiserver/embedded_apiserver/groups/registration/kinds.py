# SPDX-License-Identifier: Apache-2.0
"""Extensions of the server: webhooks and policies of admission, and API services."""

from __future__ import annotations

from functools import partial

from embedded_apiserver.groups.registration import api_services, columns, hooks, mutating_policies, policies
from embedded_apiserver.kinds.checks import Checks
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.kinds.policy import ALL, Policy, changed
from embedded_apiserver.objects import Object, part

_LOCAL = {"type": "Available", "status": "True", "reason": "Local", "message": "Local APIServices are always available"}

_registration = partial(
    Kind,
    group="admissionregistration.k8s.io",
    version="v1",
    namespaced=False,
    categories=("api-extensions",),
    unconditional_update=False,
    policy=Policy(generation=changed("spec")),
    metadata="m",
)
_hooks = partial(
    _registration,
    policy=Policy(generation=changed("webhooks")),
    checks=Checks(hooks.configuration),
    cells=columns.CONFIGURATIONS,
)
MUTATING_HOOKS = _hooks(kind="MutatingWebhookConfiguration", plural="mutatingwebhookconfigurations")
VALIDATING_HOOKS = _hooks(kind="ValidatingWebhookConfiguration", plural="validatingwebhookconfigurations")
MUTATING_POLICY = _registration(
    kind="MutatingAdmissionPolicy",
    plural="mutatingadmissionpolicies",
    hashed_version="v1beta1",
    checks=Checks(mutating_policies.policy, mutating_policies.policy_change),
    cells=columns.POLICIES,
)
MUTATING_POLICY_BINDING = _registration(
    kind="MutatingAdmissionPolicyBinding",
    plural="mutatingadmissionpolicybindings",
    hashed_version="v1beta1",
    checks=Checks(mutating_policies.binding),
    cells=columns.BINDINGS,
)
VALIDATING_POLICY = _registration(
    kind="ValidatingAdmissionPolicy",
    plural="validatingadmissionpolicies",
    creates_by_status=True,
    subresources=("status",),
    policy=Policy(status={}, generation=changed("spec")),
    checks=Checks(policies.policy, policies.policy_change),
    cells=columns.POLICIES,
)
VALIDATING_POLICY_BINDING = _registration(
    kind="ValidatingAdmissionPolicyBinding",
    plural="validatingadmissionpolicybindings",
    checks=Checks(policies.binding),
    cells=columns.BINDINGS,
)


def _new_api_service(obj: Object) -> Object:
    """Return a new API service; one without a backend is served here, and nothing asks the others."""
    if part(obj, "spec").get("service") is not None:
        return obj
    condition = {**_LOCAL, "lastTransitionTime": obj["metadata"]["creationTimestamp"]}
    return {**obj, "status": {"conditions": [condition]}}


API_SERVICE = Kind(
    group="apiregistration.k8s.io",
    version="v1",
    kind="APIService",
    plural="apiservices",
    tableless=("status",),
    namespaced=False,
    categories=("api-extensions",),
    subresources=("status",),
    unconditional_update=False,
    name_rule="path",
    scheme="k8s.io/kube-aggregator/pkg/apiserver/scheme/scheme.go:28",
    policy=Policy(status={}, created=_new_api_service, freezes=ALL),
    metadata="gm",
    checks=Checks(api_services.api_service, status=api_services.api_service_status),
    cells=columns.API_SERVICES,
)
KINDS = (
    *(MUTATING_HOOKS, VALIDATING_HOOKS, MUTATING_POLICY, MUTATING_POLICY_BINDING),
    *(VALIDATING_POLICY, VALIDATING_POLICY_BINDING, API_SERVICE),
)

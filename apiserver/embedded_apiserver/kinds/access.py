# SPDX-License-Identifier: Apache-2.0
"""The built-in kinds about who may do what, as data: reviews, roles, webhooks and policies of admission."""

from __future__ import annotations

from functools import partial

from embedded_apiserver.kinds.kind import Kind

_review = partial(Kind, version="v1", verbs=("create",))
SELF_REVIEW = _review(
    group="authentication.k8s.io", kind="SelfSubjectReview", plural="selfsubjectreviews", namespaced=False
)
TOKEN_REVIEW = _review(group="authentication.k8s.io", kind="TokenReview", plural="tokenreviews", namespaced=False)
_may = partial(_review, group="authorization.k8s.io")
LOCAL_ACCESS_REVIEW = _may(kind="LocalSubjectAccessReview", plural="localsubjectaccessreviews")
SELF_ACCESS_REVIEW = _may(kind="SelfSubjectAccessReview", plural="selfsubjectaccessreviews", namespaced=False)
SELF_RULES_REVIEW = _may(kind="SelfSubjectRulesReview", plural="selfsubjectrulesreviews", namespaced=False)
ACCESS_REVIEW = _may(kind="SubjectAccessReview", plural="subjectaccessreviews", namespaced=False)

_rbac = partial(Kind, group="rbac.authorization.k8s.io", version="v1", create_on_update=True, name_rule="path")
CLUSTER_ROLE_BINDING = _rbac(kind="ClusterRoleBinding", plural="clusterrolebindings", namespaced=False)
CLUSTER_ROLE = _rbac(kind="ClusterRole", plural="clusterroles", namespaced=False)
ROLE_BINDING = _rbac(kind="RoleBinding", plural="rolebindings")
ROLE = _rbac(kind="Role", plural="roles")

_hooks = partial(
    Kind,
    group="admissionregistration.k8s.io",
    version="v1",
    namespaced=False,
    categories=("api-extensions",),
    unconditional_update=False,
)
MUTATING_HOOKS = _hooks(kind="MutatingWebhookConfiguration", plural="mutatingwebhookconfigurations")
VALIDATING_HOOKS = _hooks(kind="ValidatingWebhookConfiguration", plural="validatingwebhookconfigurations")
MUTATING_POLICY = _hooks(kind="MutatingAdmissionPolicy", plural="mutatingadmissionpolicies")
MUTATING_POLICY_BINDING = _hooks(kind="MutatingAdmissionPolicyBinding", plural="mutatingadmissionpolicybindings")
VALIDATING_POLICY = _hooks(
    kind="ValidatingAdmissionPolicy", plural="validatingadmissionpolicies", subresources=("status",)
)
VALIDATING_POLICY_BINDING = _hooks(kind="ValidatingAdmissionPolicyBinding", plural="validatingadmissionpolicybindings")

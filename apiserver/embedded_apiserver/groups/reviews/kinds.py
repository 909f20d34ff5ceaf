# SPDX-License-Identifier: Apache-2.0
"""Reviews: questions about users and what they may do, which are answered and not stored."""

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
KINDS = (SELF_REVIEW, TOKEN_REVIEW, LOCAL_ACCESS_REVIEW, SELF_ACCESS_REVIEW, SELF_RULES_REVIEW, ACCESS_REVIEW)

# SPDX-License-Identifier: Apache-2.0
"""Custom resource definitions."""

from __future__ import annotations

from embedded_apiserver.custom import definition
from embedded_apiserver.kinds.checks import Checks
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.kinds.policy import Policy

DEFINITION = Kind(
    group="apiextensions.k8s.io",
    version="v1",
    kind="CustomResourceDefinition",
    plural="customresourcedefinitions",
    place="apiextensions.k8s.io/customresourcedefinitions",
    tableless=("status",),
    hashed_version="v1beta1",
    namespaced=False,
    short_names=("crd", "crds"),
    categories=("api-extensions",),
    subresources=("status",),
    unconditional_update=False,
    deletes_with_object=True,
    scheme="",
    policy=Policy(
        generation=definition.is_other,
        created=definition.new,
        updated=definition.updated,
        deleted=definition.terminating,
        warnings=definition.warnings,
    ),
    metadata="g",
    status_metadata="g",
    checks=Checks(definition.new_causes, definition.change_causes),
)
KINDS = (DEFINITION,)

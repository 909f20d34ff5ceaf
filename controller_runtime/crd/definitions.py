# SPDX-License-Identifier: Apache-2.0
"""Custom resource definitions, made of declared classes."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from controller_runtime.api.resources import Resource
from controller_runtime.crd.declaration import Declaration, declaration_of
from controller_runtime.crd.types import CustomResource

DEFINITIONS: Resource[dict[str, Any]] = Resource(
    "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", namespaced=False
)
"""The definitions of custom resources; their objects are read as dicts."""


def schema_of(cls: type[CustomResource]) -> dict[str, Any]:
    """Return the structural schema of a declared class. The caller must not change it.

    Raises:
        TypeError: The class is not declared with `custom_resource`.
    """
    return declaration_of(cls).schema


def definition(*classes: type[CustomResource], storage: type[CustomResource] | None = None) -> dict[str, Any]:
    """Return the custom resource definition of one kind, for `kubectl apply` or `Client.apply`.

    The result is a new dict, which the caller may change.

    Args:
        *classes: The classes of the kind's versions, each declared with `custom_resource`.
        storage: The class of the version in which the server stores objects; by default the first one.

    Raises:
        TypeError: A class is not declared with `custom_resource`.
        ValueError: No class is given, two have the same version, they differ in group, names or scope, or `storage` is
            not among them.
    """
    if not classes:
        raise ValueError("a definition needs a class")
    stored = storage or classes[0]
    if stored not in classes:
        raise ValueError(f"{stored.__name__} is not among the versions: {', '.join(cls.__name__ for cls in classes)}")
    declared = [declaration_of(cls) for cls in classes]
    _refuse_different_kinds(declared, classes)
    resource = declared[0].resource
    names: dict[str, Any] = {
        "kind": resource.kind,
        "listKind": f"{resource.kind}List",
        "plural": resource.plural,
        "singular": resource.kind.lower(),
    }
    for field, found in (
        ("shortNames", [name for each in declared for name in each.short_names]),
        ("categories", [name for each in declared for name in each.categories]),
    ):
        if found:
            names[field] = [*dict.fromkeys(found)]
    return {
        "apiVersion": DEFINITIONS.api_version,
        "kind": DEFINITIONS.kind,
        "metadata": {"name": f"{resource.plural}.{resource.group}"},
        "spec": {
            "group": resource.group,
            "names": names,
            "scope": "Namespaced" if resource.namespaced else "Cluster",
            "versions": [_version(each, cls is stored) for each, cls in zip(declared, classes, strict=True)],
        },
    }


def _refuse_different_kinds(declared: Sequence[Declaration], classes: Sequence[type[CustomResource]]) -> None:
    versions: dict[str, str] = {}
    first = declared[0].resource
    for each, cls in zip(declared, classes, strict=True):
        one = each.resource
        same = (one.group, one.kind, one.plural, one.namespaced)
        if same != (first.group, first.kind, first.plural, first.namespaced):
            raise ValueError(
                f"{cls.__name__} and {classes[0].__name__} differ in group, kind, plural or scope, so they are not "
                "versions of one kind"
            )
        if one.version in versions:
            raise ValueError(f"{cls.__name__} and {versions[one.version]} are both version {one.version}")
        versions[one.version] = cls.__name__


def _version(declared: Declaration, stored: bool) -> dict[str, Any]:
    version: dict[str, Any] = {
        "name": declared.resource.version,
        "served": declared.served,
        "storage": stored,
        "schema": {"openAPIV3Schema": copy.deepcopy(declared.schema)},
    }
    if declared.deprecated:
        version["deprecated"] = True
        if isinstance(declared.deprecated, str):
            version["deprecationWarning"] = declared.deprecated
    if declared.columns:
        version["additionalPrinterColumns"] = [column.body() for column in declared.columns]
    if declared.selectable:
        version["selectableFields"] = [{"jsonPath": path} for path in declared.selectable]
    subresources: dict[str, Any] = {"status": {}} if declared.has_status else {}
    if declared.scale is not None:
        subresources["scale"] = declared.scale.body()
    if subresources:
        version["subresources"] = subresources
    return version

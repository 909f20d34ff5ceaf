# SPDX-License-Identifier: Apache-2.0
"""What goes along with a write: options of the query and of deletions, kind and version, names."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any

import attrs

from controller_runtime.api.objects import ObjectKey
from controller_runtime.api.resources import Resource
from controller_runtime.client.bodies import Body, mapping_of

Query = tuple[tuple[str, str], ...]


class FieldValidation(enum.Enum):
    """What the server does about fields that its schema does not have, or that stand there twice."""

    STRICT = "Strict"
    """Refuses the write."""
    WARN = "Warn"
    """Drops them, and warns: what servers do if they are told nothing."""
    IGNORE = "Ignore"
    """Drops them."""


@attrs.frozen
class WriteOptions:
    """What a client says with each write.

    Attributes:
        field_manager: Who owns the fields that are written; None is the user agent up to its slash.
        field_validation: None is the server's own choice.
        dry_run: Answer as if, and change nothing.
    """

    field_manager: str | None = None
    field_validation: FieldValidation | None = None
    dry_run: bool = False

    def query(self, **more: str) -> Query:
        """The parameters of a create, update or patch, with `more` of them."""
        validation = self.field_validation.value if self.field_validation else None
        own = {"fieldManager": self.field_manager, "fieldValidation": validation, "dryRun": self._dry_run}
        return tuple((name, value) for name, value in {**own, **more}.items() if value is not None)

    def deletion(self, grace: int | None, policy: str | None, only: Mapping[str, str | None] | None = None) -> object:
        """The body of a deletion, under the preconditions `only`; None if there is nothing to say in it."""
        said = present(
            preconditions=present(**only or {}) or None,
            gracePeriodSeconds=grace,
            propagationPolicy=policy,
            dryRun=[self._dry_run] if self.dry_run else None,
        )
        return {"kind": "DeleteOptions", "apiVersion": "v1", **said} if said else None

    @property
    def _dry_run(self) -> str | None:
        return "All" if self.dry_run else None


# What is sent to a part of an object, where that is no form of the object itself.
_SENT: Mapping[str, Resource[Any]] = {
    "binding": Resource("", "v1", "Binding", "bindings"),
    "eviction": Resource("policy", "v1", "Eviction", "evictions"),
    "scale": Resource("autoscaling", "v1", "Scale", "scales"),
    "token": Resource("authentication.k8s.io", "v1", "TokenRequest", "tokenrequests"),
}


def kind_of(resource: Resource[Any], subresource: str) -> Resource[Any]:
    """Whose kind is sent and answered at a part of an object: often the object's own."""
    return _SENT.get(subresource, resource)


def typed(resource: Resource[Any], obj: Body, subresource: str = "") -> dict[str, Any]:
    """An object with its kind and version, and metadata that is the caller's own to change."""
    kind = kind_of(resource, subresource)
    body = {"apiVersion": kind.api_version, "kind": kind.kind, **present(**mapping_of(obj))}
    metadata = body.get("metadata")
    if metadata is not None:
        body["metadata"] = mapping_of(metadata)
    return body


def addressed(body: Mapping[str, Any], key: ObjectKey) -> dict[str, Any]:
    """A typed body with the name and namespace of `key`, where it says none itself."""
    own = {"name": key.name, **({"namespace": key.namespace} if key.namespace else {})}
    return {**body, "metadata": {**own, **(body.get("metadata") or {})}}


def named(body: Mapping[str, Any]) -> ObjectKey:
    """The name and namespace that a typed body says; empty where it says none."""
    metadata = body.get("metadata") or {}
    return ObjectKey(str(metadata.get("name") or ""), str(metadata.get("namespace") or ""))


def present(**fields: Any) -> dict[str, Any]:
    """Those that are not None."""
    return {name: value for name, value in fields.items() if value is not None}

# SPDX-License-Identifier: Apache-2.0
"""The parameters with which a binding has its policy evaluated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from apimachinery.selectors import LabelSelector
from embedded_apiserver.custom import forms
from embedded_apiserver.kinds.kind import Kind, Kinds
from embedded_apiserver.objects import Object
from embedded_apiserver.storage.storage import Storage
from embedded_apiserver.storage.stored import Stored


class Misconfigured(Exception):
    """A policy or a binding cannot be used for a write; the message is that of a real API server."""


def kind_of_params(kinds: Kinds, param_kind: Mapping[str, Any] | None) -> Kind | None:
    """Return the kind of a policy's parameter objects; None if the policy has no parameters.

    Raises:
        Misconfigured: The server does not serve the kind.
    """
    if param_kind is None:
        return None
    version, name = param_kind["apiVersion"], param_kind["kind"]
    found = kinds.named(version, name)
    if found is None:
        raise Misconfigured(f"failed to find resource referenced by paramKind: '{version}, Kind={name}'")
    return found


def params_of(
    storage: Storage, kind: Kind | None, ref: Mapping[str, Any] | None, namespace: str
) -> list[Object | None]:
    """Return the parameter objects of a binding, one for each evaluation; None stands for an evaluation without one.

    Args:
        storage: The objects.
        kind: The kind of the parameter objects; None if the policy has no parameters.
        ref: The `paramRef` of the binding; None if it has none.
        namespace: The namespace of the write.

    Raises:
        Misconfigured: A required parameter object does not exist, or `paramRef` is invalid.
    """
    if kind is None or ref is None:
        return [None]
    place = ref.get("namespace", "")
    if kind.namespaced:
        place = place or namespace
        if not place:
            text = "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
            raise Misconfigured(text)
    elif place:
        raise Misconfigured("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
    found: Sequence[Object | None] = [_shown(kind, item) for item in _chosen(storage, kind, ref, place)]
    if not found and ref.get("parameterNotFoundAction") == "Deny":
        raise Misconfigured("no params found for policy binding with `Deny` parameterNotFoundAction")
    return list(found)


def _chosen(storage: Storage, kind: Kind, ref: Mapping[str, Any], namespace: str) -> Iterator[Stored]:
    if name := ref.get("name"):
        item = storage.get(kind.stored.resource, f"{namespace}/{name}" if namespace else name)
        if item is not None:
            yield item
        return
    selector = LabelSelector.from_object(ref.get("selector") or {})
    for item in storage.read(kind.stored.resource, f"{namespace}/" if namespace else "").items:
        if selector.matches(item.labels()):
            yield item


def _shown(kind: Kind, item: Stored) -> Object:
    return {"apiVersion": kind.api_version, "kind": kind.kind, **forms.shown(kind, item.decode())}

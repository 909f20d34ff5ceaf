# SPDX-License-Identifier: Apache-2.0
"""Writes as webhooks and policies see them."""

from __future__ import annotations

from typing import Any

from embedded_apiserver.admission.step import Attributes, Operation
from embedded_apiserver.custom import forms
from embedded_apiserver.groups.core.kinds import NAMESPACE
from embedded_apiserver.groups.parts import SCALE
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.objects import Object
from embedded_apiserver.scale import scale_of, scaled


def request_of(attributes: Attributes, seen_as: Kind, uid: str) -> dict[str, Any]:
    """Return the `request` of an AdmissionReview as decoded JSON.

    Args:
        attributes: The write.
        seen_as: The kind and version to which the object is converted.
        uid: The identifier of the review.
    """
    kind, part, user = attributes.kind, attributes.subresource, attributes.user
    shown_kind, asked_kind = attributes.sent or seen_as, attributes.sent or kind
    namespace = attributes.name if kind == NAMESPACE else attributes.namespace
    request: dict[str, Any] = {"uid": uid, "kind": kind_shown(shown_kind), "resource": resource_shown(seen_as)}
    if part:
        request["subResource"] = part
    request |= {"requestKind": kind_shown(asked_kind), "requestResource": resource_shown(kind)}
    if part:
        request["requestSubResource"] = part
    if attributes.name:
        request["name"] = attributes.name
    if namespace:
        request["namespace"] = namespace
    is_deletion, old = attributes.operation is Operation.DELETE, attributes.old
    return {
        **request,
        "operation": attributes.operation.value,
        "userInfo": user.info(),
        "object": None if is_deletion else shown(attributes, seen_as, attributes.obj),
        "oldObject": None if old is None else shown(attributes, seen_as, old),
        "dryRun": attributes.dry_run,
        "options": attributes.options(),
    }


def kind_shown(kind: Kind) -> dict[str, str]:
    """Return the group, version and kind of a kind, as JSON for an AdmissionReview."""
    return {"group": kind.group, "version": kind.version, "kind": kind.kind}


def resource_shown(kind: Kind) -> dict[str, str]:
    """Return the group, version and resource of a kind, as JSON for an AdmissionReview."""
    return {"group": kind.group, "version": kind.version, "resource": kind.plural}


def shown(attributes: Attributes, seen_as: Kind, obj: Object) -> dict[str, Any]:
    """Return the new or old object of a write (`obj`) as one of the kind `sent`, or of `seen_as` if that is None."""
    kind, sent = attributes.kind, attributes.sent
    if sent is SCALE:
        obj = scale_of(kind, obj)
    elif sent is None:
        obj = converted(kind, seen_as, obj)
    head = sent or seen_as
    metadata = obj.get("metadata", {})
    if kind.namespaced and "namespace" not in metadata:
        metadata = {**metadata, "namespace": attributes.namespace}
    return {"kind": head.kind, "apiVersion": head.api_version, **obj, "metadata": metadata}


def taken(attributes: Attributes, seen_as: Kind, changed: Object) -> Object:
    """Return the object that a webhook has changed, converted back to the kind of the write; the reverse of `shown`."""
    if attributes.sent is SCALE:
        return scaled(attributes.kind, attributes.obj, changed)
    return changed if attributes.sent is not None else converted(seen_as, attributes.kind, changed)


def converted(source: Kind, target: Kind, obj: Object) -> Object:
    """Return an object of the kind `source` converted to `target`, another version of the same objects."""
    if source is target:
        return obj
    return forms.shown(target, forms.closed(source, source.policy.stored_form(obj)))

# SPDX-License-Identifier: Apache-2.0
"""Decides which webhooks are called for a write, and in which API version they get its object."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from embedded_apiserver.admission.step import Attributes, Operation
from embedded_apiserver.admission.webhooks.hooks import Hook
from embedded_apiserver.groups.core.kinds import NAMESPACE
from embedded_apiserver.kinds.kind import Kind, Kinds
from embedded_apiserver.objects import Object
from embedded_apiserver.status import not_found
from embedded_apiserver.storage.storage import Storage

Rule = Mapping[str, Any]


def called_as(storage: Storage, kinds: Kinds, hook: Hook, attributes: Attributes) -> Kind | None:
    """Return the kind and version to which the object of a write is converted for a webhook; None if it is not called.

    Args:
        storage: The objects, including the namespaces.
        kinds: The currently served kinds.
        hook: The webhook.
        attributes: The write.

    Raises:
        StatusError: 404, the webhook selects namespaces by labels, and the namespace does not exist.
    """
    if not hook.objects.is_everything and not _selects(hook, attributes):
        return None
    found = _named_as(kinds, hook.content, attributes)
    if found is None or hook.namespaces.is_everything:
        return found
    if not attributes.kind.namespaced and attributes.kind != NAMESPACE:
        return found
    return found if hook.namespaces.matches(_labels_of_namespace(storage, attributes)) else None


def _selects(hook: Hook, attributes: Attributes) -> bool:
    objects = (attributes.obj or None, attributes.old)
    return any(hook.objects.matches(_labels(obj)) for obj in objects if obj is not None)


def _labels(obj: Object) -> Mapping[str, str]:
    return obj.get("metadata", {}).get("labels") or {}


def _labels_of_namespace(storage: Storage, attributes: Attributes) -> Mapping[str, str]:
    is_own = attributes.kind == NAMESPACE and not attributes.subresource
    if is_own and attributes.operation is not Operation.DELETE:
        return _labels(attributes.obj)
    name = attributes.name if attributes.kind == NAMESPACE else attributes.namespace
    found = storage.get(NAMESPACE.resource, name)
    if found is None:
        raise not_found(NAMESPACE, name)
    return found.labels()


def _named_as(kinds: Kinds, content: Rule, attributes: Attributes) -> Kind | None:
    """Return the kind, of those that show the same objects, that the rules name; first that of the request."""
    rules: Sequence[Rule] = content.get("rules") or ()
    if any(matches(rule, attributes, attributes.kind) for rule in rules):
        return attributes.kind
    if content.get("matchPolicy") == "Exact":
        return None
    others = list(equivalents(kinds, attributes.kind, attributes.subresource))
    return next((kind for rule in rules for kind in others if matches(rule, attributes, kind)), None)


def equivalents(kinds: Kinds, kind: Kind, subresource: str) -> Iterable[Kind]:
    """Yield the kinds of other groups or versions that represent the same objects as `kind`."""
    for other in kinds:
        is_other = other.resource == kind.resource and (other.group, other.version) != (kind.group, kind.version)
        if is_other and (not subresource or subresource in other.subresources):
            yield other


def matches(rule: Rule, attributes: Attributes, kind: Kind) -> bool:
    """Return whether a rule of a webhook or policy matches a write, if its object is regarded as one of `kind`."""
    is_namespaced = kind.namespaced  # a namespace itself is not in a namespace
    return (
        rule.get("scope", "*") in ("*", "Namespaced" if is_namespaced else "Cluster")
        and _names(rule, "operations", attributes.operation.value)
        and _names(rule, "apiGroups", kind.group)
        and _names(rule, "apiVersions", kind.version)
        and any(_names_resource(text, kind.plural, attributes.subresource) for text in rule.get("resources") or ())
        and (not rule.get("resourceNames") or attributes.name in rule["resourceNames"])
    )


def _names(rule: Rule, field: str, value: str) -> bool:
    words = rule.get(field) or ()
    return "*" in words or value in words


def _names_resource(text: str, plural: str, subresource: str) -> bool:
    resource, _, part = text.partition("/")
    return resource in ("*", plural) and part in ("*", subresource)

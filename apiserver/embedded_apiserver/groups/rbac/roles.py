# SPDX-License-Identifier: Apache-2.0
"""The checks of roles and of their bindings."""

from __future__ import annotations

from collections.abc import Iterator

from apimachinery.names import path_segment_errors, subdomain_errors
from embedded_apiserver.causes import invalid, not_supported, required
from embedded_apiserver.checks.selectors import label_selector
from embedded_apiserver.kinds.checks import Checks
from embedded_apiserver.objects import Object, part
from embedded_apiserver.status import Cause

_GROUP = "rbac.authorization.k8s.io"
_SUBJECTS = ("ServiceAccount", "User", "Group")


def role(obj: Object) -> Iterator[Cause]:
    """Return the validation errors of a Role, whose rules must be about resources."""
    for index, rule in enumerate(obj.get("rules") or ()):
        yield from _rule_causes(rule, f"rules[{index}]", namespaced=True)


def cluster_role(obj: Object) -> Iterator[Cause]:
    """Return the validation errors of a ClusterRole, whose rules are about either resources or URL paths."""
    for index, rule in enumerate(obj.get("rules") or ()):
        yield from _rule_causes(rule, f"rules[{index}]", namespaced=False)
    if (aggregation := obj.get("aggregationRule")) is not None:
        yield from _aggregation_causes(aggregation, "aggregationRule.clusterRoleSelectors")


def _rule_causes(rule: Object, field: str, *, namespaced: bool) -> Iterator[Cause]:
    if not rule.get("verbs"):
        yield required(f"{field}.verbs", "verbs must contain at least one value")
    if urls := rule.get("nonResourceURLs"):
        if namespaced:
            yield invalid(f"{field}.nonResourceURLs", urls, "namespaced rules cannot apply to non-resource URLs")
        if any(rule.get(name) for name in ("apiGroups", "resources", "resourceNames")):
            text = "rules cannot apply to both regular resources and non-resource URLs"
            yield invalid(f"{field}.nonResourceURLs", urls, text)
        return
    if not rule.get("apiGroups"):
        yield required(f"{field}.apiGroups", "resource rules must supply at least one api group")
    if not rule.get("resources"):
        yield required(f"{field}.resources", "resource rules must supply at least one resource")


def binding(*roles: str) -> Checks:
    """Return the validation rules for bindings to roles of these kinds.

    The reference to the role must not change, and each subject needs the fields of its kind. If only `ClusterRole` is
    allowed, the binding is cluster-scoped.
    """

    def new(obj: Object) -> Iterator[Cause]:
        reference = part(obj, "roleRef")
        if (group := reference.get("apiGroup", "")) != _GROUP:
            yield not_supported("roleRef.apiGroup", group, (_GROUP,))
        if (kind := reference.get("kind", "")) not in roles:
            yield not_supported("roleRef.kind", kind, roles)
        if not (name := reference.get("name")):
            yield required("roleRef.name")
        else:
            for text in path_segment_errors(name):
                yield invalid("roleRef.name", name, text)
        for index, subject in enumerate(obj.get("subjects") or ()):
            yield from _subject_causes(subject, f"subjects[{index}]", namespaced=len(roles) > 1)

    def change(old: Object, obj: Object) -> Iterator[Cause]:
        yield from new(obj)
        after = part(obj, "roleRef")
        if part(old, "roleRef") != after:
            names = (("APIGroup", "apiGroup"), ("Kind", "kind"), ("Name", "name"))
            yield invalid("roleRef", {name: after.get(key, "") for name, key in names}, "cannot change roleRef")

    return Checks(new, change)


def _subject_causes(subject: Object, field: str, *, namespaced: bool) -> Iterator[Cause]:
    name, kind, group = subject.get("name", ""), subject.get("kind", ""), subject.get("apiGroup", "")
    if not name:
        yield required(f"{field}.name")
    match kind:
        case "ServiceAccount":
            for text in subdomain_errors(name) if name else ():
                yield invalid(f"{field}.name", name, text)
            if group:
                yield not_supported(f"{field}.apiGroup", group, ("",))
            if not namespaced and not subject.get("namespace"):
                yield required(f"{field}.namespace")
        case "User" | "Group":
            if group != _GROUP:
                yield not_supported(f"{field}.apiGroup", group, (_GROUP,))
        case _:
            yield not_supported(f"{field}.kind", kind, _SUBJECTS)


def _aggregation_causes(aggregation: Object, field: str) -> Iterator[Cause]:
    if not (selectors := aggregation.get("clusterRoleSelectors")):
        yield required(field, "at least one clusterRoleSelector required if aggregationRule is non-nil")
    for index, selector in enumerate(selectors or ()):
        place = f"{field}[{index}]"
        found = list(label_selector(selector, place))
        yield from found
        if found:
            yield invalid(place, None, "invalid label selector.")

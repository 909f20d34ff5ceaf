# SPDX-License-Identifier: Apache-2.0
"""`ResourceQuota`: no object that exceeds the quotas of its namespace.

The usage is counted from the objects themselves, so it is right at each write. `writes.quota_counts` shows it in
the status of the quotas and keeps two writes from passing with the same remainder.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from decimal import Decimal

from embedded_apiserver.admission.quota_usage import count_name, hard_of, is_selected, missing_in, usage_of
from embedded_apiserver.admission.step import Attributes, Operation, Step
from embedded_apiserver.groups.all import KINDS
from embedded_apiserver.groups.core.kinds import QUOTA
from embedded_apiserver.groups.pods.kinds import POD
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.objects import Object
from embedded_apiserver.storage.storage import Storage
from embedded_apiserver.typed.pod_amounts import Amounts
from embedded_apiserver.typed.quantity_text import quantity_text

_NOTHING = Decimal(0)


class ResourceQuota(Step):
    """Refuses writes that would exceed a resource quota.

    The status of the quota contains the usage as soon as the client has the response. A quota with the scope
    `CrossNamespacePodAffinity` counts nothing.
    """

    name = "ResourceQuota"
    counts = True

    def is_idle(self) -> bool:
        return self._storage.is_empty(QUOTA.resource)

    def validate(self, attributes: Attributes) -> None:
        kind = attributes.kind
        for item in self._storage.read(QUOTA.resource, f"{attributes.namespace}/").items if kind.namespaced else ():
            quota = item.decode()
            if is_selected(quota, kind, attributes.obj):
                self._check(attributes, quota)

    def _check(self, attributes: Attributes, quota: Object) -> None:
        kind, obj, name = attributes.kind, attributes.obj, quota["metadata"]["name"]
        hard = hard_of(quota)
        if kind == POD and attributes.operation is Operation.CREATE and (missing := missing_in(obj, hard)):
            raise attributes.refused(f"failed quota: {name}: must specify {missing}")
        asked = _added(kind, obj, attributes.old)
        asked = {resource: amount for resource, amount in asked.items() if amount > 0 and resource in hard}
        if not asked:
            return
        used = used_of(self._storage, attributes.namespace, quota, asked, [kind])
        over = [resource for resource in asked if used[resource] + asked[resource] > hard[resource]]
        if over:
            raise attributes.refused(
                f"exceeded quota: {name}, requested: {_listed(asked, over)}, used: {_listed(used, over)}, "
                f"limited: {_listed(hard, over)}"
            )


def _added(kind: Kind, obj: Object, old: Object | None) -> Amounts:
    """Return what an object uses more than before."""
    before = {} if old is None else usage_of(kind, old)
    return {name: amount - before.get(name, _NOTHING) for name, amount in usage_of(kind, obj).items()}


def _listed(values: Amounts, names: Iterable[str]) -> str:
    return ",".join(f"{name}={quantity_text(name, values[name])}" for name in sorted(names))


def used_of(
    storage: Storage, namespace: str, quota: Object, resources: Iterable[str], kinds: Iterable[Kind]
) -> Amounts:
    """Return the usage of some resources of a quota by all objects of a namespace, by resource name.

    Args:
        storage: The objects.
        namespace: The namespace.
        quota: The quota, whose scopes select the objects.
        resources: The names of the resources.
        kinds: The kinds of objects that use these resources.
    """
    used = dict.fromkeys(resources, _NOTHING)
    for kind in kinds:
        for item in storage.read(kind.resource, f"{namespace}/").items:
            obj = item.decode()
            if is_selected(quota, kind, obj):
                for name, amount in usage_of(kind, obj).items():
                    if name in used:
                        used[name] += amount
    return used


def kinds_of(resources: Iterable[str]) -> Iterator[Kind]:
    """Yield the built-in kinds whose objects may use at least one of these resources."""
    names = set(resources)
    for kind in KINDS.stored:
        if kind.namespaced and (kind.plural in names or count_name(kind) in names or kind in _USING):
            yield kind


_USING = (POD, *(kind for kind in KINDS.stored if kind.plural in ("persistentvolumeclaims", "services")))

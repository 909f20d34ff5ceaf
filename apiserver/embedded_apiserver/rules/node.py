# SPDX-License-Identifier: Apache-2.0
"""Rules of nodes: default capacity, taints, and pod address ranges, which never change once they are set."""

from __future__ import annotations

from embedded_apiserver.kinds.registry import Kind
from embedded_apiserver.objects import Object, part
from embedded_apiserver.rules.rules import Rules

_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_ONCE = 'node updates may not change {} except from "" to valid'


class NodeRules(Rules):
    """Taints are told apart by key and effect, and a node's addresses for pods never change once they are set."""

    def on_create(self, obj: Object) -> Object:
        return _without_configuration({**obj, "status": _without_config(part(obj, "status"))})

    def on_update(self, kind: Kind, old: Object, new: Object, subresource: str) -> Object:
        made = super().on_update(kind, old, new, subresource)
        if subresource == "status" and "config" in part(made, "status") and "config" not in part(old, "status"):
            made = {**made, "status": _without_config(part(made, "status"))}
        return made if "configSource" in part(old, "spec") else _without_configuration(made)

    def warnings(self, obj: Object, old: Object | None) -> list[str]:
        spec = part(obj, "spec")
        found = ["spec.configSource: the feature is removed"] if _keeps(spec, old) else []
        if spec.get("externalID"):
            found.append("spec.externalID: this field is deprecated, and is unused by Kubernetes")
        return found


def _keeps(spec: Object, old: Object | None) -> bool:
    """Return whether an updated node still has the source of its kubelet's configuration."""
    return "configSource" in spec and "configSource" in part(old or {}, "spec")


def _without_config(status: Object) -> Object:
    return {name: value for name, value in status.items() if name != "config"}


def _without_configuration(obj: Object) -> Object:
    """Return a node without the source of its kubelet's configuration, which no server takes any more."""
    spec = part(obj, "spec")
    if "configSource" not in spec:
        return obj
    return {**obj, "spec": {name: value for name, value in spec.items() if name != "configSource"}}


def _identity(taint: Object) -> tuple[object, object]:
    return taint.get("key"), taint.get("effect")

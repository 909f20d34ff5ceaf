# SPDX-License-Identifier: Apache-2.0
"""Rules of the configurations of admission webhooks."""

from __future__ import annotations

from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.objects import Object
from embedded_apiserver.rules.rules import Rules


class HookRules(Rules):
    """A configuration counts the generations of its webhooks."""

    counted = "webhooks"

    def on_create(self, obj: Object) -> Object:
        return {**obj, "metadata": {**obj["metadata"], "generation": 1}}

    def on_update(self, kind: Kind, old: Object, new: Object, subresource: str) -> Object:
        if old.get(self.counted) == new.get(self.counted):
            return new
        metadata = new["metadata"]
        return {**new, "metadata": {**metadata, "generation": old["metadata"].get("generation", 0) + 1}}


class PolicyBindingRules(HookRules):
    """A binding of a policy counts the generations of its spec."""

    counted = "spec"

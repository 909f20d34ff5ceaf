# SPDX-License-Identifier: Apache-2.0
"""Defaults of persistent volume claims."""

from __future__ import annotations

from collections.abc import Mapping

from controller_runtime.apiserver.kinds.kind import Kind
from controller_runtime.apiserver.rules.rules import Object, part
from controller_runtime.apiserver.rules.small_kinds import StatusRules

_DEFAULTS: Mapping[str, str] = {"volumeMode": "Filesystem"}


class ClaimRules(StatusRules):
    """A new claim is pending, and its volume a file system."""

    def __init__(self) -> None:
        super().__init__({"phase": "Pending"})

    def on_create(self, obj: Object) -> Object:
        return super().on_create(_defaulted(obj))

    def on_update(self, kind: Kind, old: Object, new: Object, subresource: str) -> Object:
        made = super().on_update(kind, old, new, subresource)
        return made if subresource == "status" else _defaulted(made)


def _defaulted(obj: Object) -> Object:
    return {**obj, "spec": {**_DEFAULTS, **part(obj, "spec")}}

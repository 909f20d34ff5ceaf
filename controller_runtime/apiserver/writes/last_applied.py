# SPDX-License-Identifier: Apache-2.0
"""From client-side to server-side apply: what kubectl noted in an annotation counts as applied by it.

Without this, everybody who changes to server-side apply would be in conflict with himself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from controller_runtime.apiserver.kinds.kind import Kind
from controller_runtime.apiserver.rules.shape import Misshapen
from controller_runtime.apiserver.writes.body import configuration
from controller_runtime.apiserver.writes.fieldset import NOTHING, Fields
from controller_runtime.apiserver.writes.fieldtree import Changes, compare, fields_of

ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"
_MANAGER = "kubectl"  # any other name opts out

Object = Mapping[str, Any]


def unchanged_since(kind: Kind, live: Object, manager: str) -> Fields:
    """The fields this manager applied on the client's side, as far as they still have that value."""
    noted = _note(live, manager)
    if not noted:
        return NOTHING
    try:
        raw = msgspec.json.decode(noted, type=dict[str, Any])
        if raw.get("apiVersion") != kind.api_version:
            return NOTHING
        last, _ = configuration(kind, raw)
    except (msgspec.MsgspecError, Misshapen):
        return NOTHING
    since = Changes(set(), set(), set())
    compare(kind.schema, last, live, (), since)
    return frozenset(fields_of(kind.schema, last)) - since.taken - since.removed


def noted_anew(kind: Kind, live: Object, obj: dict[str, Any], config: Object, manager: str) -> dict[str, Any]:
    """`obj` with `config` in the annotation, if `live` has one: so client-side apply may go on from here."""
    if not _note(live, manager):
        return obj
    metadata = config["metadata"]
    annotations = {name: text for name, text in (metadata.get("annotations") or {}).items() if name != ANNOTATION}
    plain = {**config, "metadata": {**metadata, "annotations": annotations}}
    note = msgspec.json.encode({"apiVersion": kind.api_version, "kind": kind.kind, **plain}, order="sorted").decode()
    noted = {**obj["metadata"].get("annotations", {}), ANNOTATION: f"{note}\n"}
    return {**obj, "metadata": {**obj["metadata"], "annotations": noted}}


def _note(live: Object, manager: str) -> str:
    if manager != _MANAGER:
        return ""
    note: str = live.get("metadata", {}).get("annotations", {}).get(ANNOTATION, "")
    return note

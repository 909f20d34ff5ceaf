# SPDX-License-Identifier: Apache-2.0
"""Migration from client-side to server-side apply, by the annotation in which kubectl recorded its configuration.

Client-side apply leaves an Update entry of the client in `managedFields`. Without this migration, the first
server-side apply by the same user would conflict with that entry.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.typed.body import configuration
from embedded_apiserver.typed.fieldset import NOTHING, Fields
from embedded_apiserver.typed.fieldtree import Changes, compare, fields_of
from embedded_apiserver.typed.shape import Misshapen

ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"
_MANAGER = "kubectl"  # the default of `kubectl apply --server-side`; another manager's name opts out

Object = Mapping[str, Any]


def unchanged_since(kind: Kind, live: Object, manager: str) -> Fields:
    """Return the fields that client-side `kubectl apply` set last, and whose values have not changed since.

    They are read from the annotation `kubectl.kubernetes.io/last-applied-configuration`. The result is empty if the
    annotation is absent or invalid, or has another API version, whose fields may differ.

    Args:
        kind: The kind of the object.
        live: The stored object.
        manager: The field manager of the apply request. For any other than `kubectl` the result is empty, as on a real
            API server.
    """
    recorded = _recorded(live, manager)
    if not recorded:
        return NOTHING
    try:
        raw = msgspec.json.decode(recorded, type=dict[str, Any])
        if raw.get("apiVersion") != kind.api_version:
            return NOTHING
        last, _ = configuration(kind, raw)
    except (msgspec.MsgspecError, Misshapen):
        return NOTHING
    since = Changes(set(), set(), set())
    compare(kind.schema, last, live, (), since)
    return frozenset(fields_of(kind.schema, last)) - since.taken - since.removed


def with_annotation(kind: Kind, live: Object, obj: dict[str, Any], config: Object, manager: str) -> dict[str, Any]:
    """Return `obj` with `config` recorded in kubectl's annotation if `live` has that annotation and `manager` is
    `kubectl`; otherwise `obj`.

    So a user who returns to client-side apply continues from the current configuration.
    """
    if not _recorded(live, manager):
        return obj
    metadata = dict(config["metadata"])
    sent = metadata.pop("annotations", None)
    if sent is not None:
        metadata["annotations"] = {name: text for name, text in sent.items() if name != ANNOTATION}
    plain = {**config, "metadata": metadata}
    text = msgspec.json.encode({"apiVersion": kind.api_version, "kind": kind.kind, **plain}, order="sorted").decode()
    annotated = {**obj["metadata"].get("annotations", {}), ANNOTATION: f"{text}\n"}
    return {**obj, "metadata": {**obj["metadata"], "annotations": annotated}}


def _recorded(live: Object, manager: str) -> str:
    if manager != _MANAGER:
        return ""
    text: str = live.get("metadata", {}).get("annotations", {}).get(ANNOTATION, "")
    return text

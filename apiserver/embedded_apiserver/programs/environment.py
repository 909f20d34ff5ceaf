# SPDX-License-Identifier: Apache-2.0
"""The environment of a container: the values that its `env` and `envFrom` set or refer to."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from embedded_apiserver.groups.core.kinds import CONFIG_MAP, SECRET
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.objects import Object, part
from embedded_apiserver.storage.storage import Storage
from embedded_apiserver.storage.stored import key_of


def environment_of(storage: Storage, pod: Object, container: Mapping[str, Any]) -> dict[str, str]:
    """Return the environment variables of a container. References to missing objects, keys or fields, and to
    resources, are left out.
    """
    namespace = pod["metadata"].get("namespace", "")
    found = {"HOSTNAME": str(part(pod, "spec").get("hostname") or pod["metadata"]["name"])}
    for one in container.get("envFrom") or ():
        for field, kind in (("configMapRef", CONFIG_MAP), ("secretRef", SECRET)):
            if field in one:
                values = _values(storage, kind, namespace, one[field].get("name", ""))
                found |= {f"{one.get('prefix') or ''}{name}": value for name, value in values.items()}
    for one in container.get("env") or ():
        value = one.get("value", "") if "valueFrom" not in one else _referred(storage, pod, one["valueFrom"])
        if value is not None:
            found[one["name"]] = value
    return found


def _referred(storage: Storage, pod: Object, source: Mapping[str, Any]) -> str | None:
    namespace = pod["metadata"].get("namespace", "")
    for field, kind in (("configMapKeyRef", CONFIG_MAP), ("secretKeyRef", SECRET)):
        if reference := source.get(field):
            return _values(storage, kind, namespace, reference.get("name", "")).get(reference.get("key", ""))
    value: Any = pod
    for name in str(part(source, "fieldRef").get("fieldPath") or "").split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value if isinstance(value, str) else None


def _values(storage: Storage, kind: Kind, namespace: str, name: str) -> dict[str, str]:
    stored = storage.get(kind.resource, key_of(namespace, name))
    data: dict[str, str] = dict(part(stored.decode(), "data")) if stored is not None else {}
    return {key: _decoded(value) for key, value in data.items()} if kind == SECRET else data


def _decoded(value: str) -> str:
    try:
        return base64.b64decode(value).decode(errors="replace")
    except binascii.Error:
        return value

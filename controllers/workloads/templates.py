# SPDX-License-Identifier: Apache-2.0
"""Pods made from templates, and the hash by which the objects made from one template are told from others."""

from __future__ import annotations

import copy
from typing import Any

import msgspec

from controllers.workloads.pods import Template

POD_TEMPLATE_HASH = "pod-template-hash"
# The letters of Kubernetes' generated names: none by which a word could be made.
_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
_FNV_OFFSET, _FNV_PRIME, _FNV_BITS = 0x811C9DC5, 0x01000193, 0xFFFFFFFF


def pod_of(template: Template, *, name: str = "", generate_name: str = "") -> dict[str, Any]:
    """Return a pod made from a template, whose metadata and spec are copied."""
    of_template = template.get("metadata") or {}
    metadata: dict[str, Any] = {
        part: dict(of_template[part]) for part in ("labels", "annotations") if of_template.get(part)
    }
    if of_template.get("finalizers"):
        metadata["finalizers"] = [*of_template["finalizers"]]
    named: dict[str, Any] = {"name": name} if name else {"generateName": generate_name}
    return {"metadata": {**named, **metadata}, "spec": copy.deepcopy(template.get("spec") or {})}


def without_hash(template: Template) -> Template:
    """Return a template without the label `pod-template-hash`."""
    metadata = dict(template.get("metadata") or {})
    labels = {name: value for name, value in (metadata.get("labels") or {}).items() if name != POD_TEMPLATE_HASH}
    metadata.pop("labels", None)
    metadata.pop("creationTimestamp", None)
    return {**template, "metadata": {**metadata, **({"labels": labels} if labels else {})}}


def hash_of(content: Any, collisions: int = 0) -> str:
    """Return a short hash of any JSON value, made of the letters of generated names.

    It is FNV-1a over the value's JSON. Kubernetes hashes a dump of its own Go structs, so the two differ; neither
    reads the hash of the other, because objects are found by the template itself.
    """
    found = _FNV_OFFSET
    for byte in msgspec.json.encode(content, order="sorted") + (str(collisions).encode() if collisions else b""):
        found = ((found ^ byte) * _FNV_PRIME) & _FNV_BITS
    return "".join(_LETTERS[ord(digit) % len(_LETTERS)] for digit in str(found))

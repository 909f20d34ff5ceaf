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
    """Return a pod object made from a template, with copies of its labels, annotations, finalizers and spec."""
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
    """Return a short hash of a JSON value, with the letters that generated names use.

    It is FNV-1a over the JSON text. Kubernetes hashes a dump of its Go structs, so its hashes differ. That does not
    matter, because objects are found by their template, not by the hash.
    """
    found = _FNV_OFFSET
    for byte in msgspec.json.encode(content, order="sorted") + (str(collisions).encode() if collisions else b""):
        found = ((found ^ byte) * _FNV_PRIME) & _FNV_BITS
    return "".join(_LETTERS[ord(digit) % len(_LETTERS)] for digit in str(found))

# SPDX-License-Identifier: Apache-2.0
"""Definitions of kinds, in as few words as a test can bear."""

from __future__ import annotations

from typing import Any

from kit.asking import Asking, Object

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GROUP = "demo.example.com"
WIDGETS = f"/apis/{GROUP}/v1/namespaces/default/widgets"
ANYTHING: Object = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def structure(spec: Object | None = None, **root: Any) -> Object:
    """The schema of objects whose spec has a schema, or may be anything."""
    return {"type": "object", **root, "properties": {"spec": spec or ANYTHING, "status": ANYTHING}}


def version(name: str = "v1", schema: Object | None = None, **parts: Any) -> Object:
    """One version of a definition: served, and the storage version if it is `v1`."""
    served = {"name": name, "served": True, "storage": name == "v1"}
    return {**served, "schema": {"openAPIV3Schema": schema or structure()}, **parts}


def definition(*versions: Object, plural: str = "widgets", kind: str = "Widget", **spec: Any) -> Object:
    """The definition of a kind of the group `demo.example.com`."""
    names = {"plural": plural, "kind": kind, **spec.pop("names", {})}
    group = spec.pop("group", GROUP)
    whole = {"group": group, "scope": "Namespaced", "names": names, "versions": list(versions or (version(),)), **spec}
    return {"metadata": {"name": f"{plural}.{group}"}, "spec": whole}


def define(ask: Asking, *versions: Object, **spec: Any) -> Object:
    """Make a definition; how it is once the server has settled it."""
    made = ask.ok("POST", DEFINITIONS, definition(*versions, **spec))
    return ask.ok("GET", f"{DEFINITIONS}/{made['metadata']['name']}")


def widget(name: str = "w", version: str = "v1", **parts: Any) -> Object:
    """An object of the kind that is defined."""
    return {"apiVersion": f"{GROUP}/{version}", "kind": "Widget", "metadata": {"name": name}, **parts}


def conditions(definition: Object) -> dict[str, tuple[str, str]]:
    """Status and reason of each condition."""
    return {one["type"]: (one["status"], one["reason"]) for one in definition["status"]["conditions"] or ()}

# SPDX-License-Identifier: Apache-2.0
"""Short functions for custom resource definitions in tests."""

from __future__ import annotations

from typing import Any

from kit.apiserver.asking import Asking, Object

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GROUP = "demo.example.com"
WIDGETS = f"/apis/{GROUP}/v1/namespaces/default/widgets"
ANYTHING: Object = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
WHOLE: Object = {"type": "integer"}
TEXT: Object = {"type": "string"}


def fields(**properties: Object) -> Object:
    """Return a schema of objects with these fields."""
    return {"type": "object", "properties": properties}


def structure(spec: Object | None = None, **root: Any) -> Object:
    """Return a schema of objects; their spec has the schema `spec`, or any content."""
    return {"type": "object", **root, "properties": {"spec": spec or ANYTHING, "status": ANYTHING}}


def version(name: str = "v1", schema: Object | None = None, **parts: Any) -> Object:
    """Return a version of a definition. It is served, and it is the storage version if it is `v1`."""
    served = {"name": name, "served": True, "storage": name == "v1"}
    return {**served, "schema": {"openAPIV3Schema": schema or structure()}, **parts}


def definition(*versions: Object, plural: str = "widgets", kind: str = "Widget", **spec: Any) -> Object:
    """Return the definition of a kind of the group `demo.example.com`."""
    names = {"plural": plural, "kind": kind, **spec.pop("names", {})}
    group = spec.pop("group", GROUP)
    whole = {"group": group, "scope": "Namespaced", "names": names, "versions": list(versions or (version(),)), **spec}
    return {"metadata": {"name": f"{plural}.{group}"}, "spec": whole}


def define(ask: Asking, *versions: Object, **spec: Any) -> Object:
    """Create a definition, and return it as it is once the server has acted on it."""
    made = ask.ok("POST", DEFINITIONS, definition(*versions, **spec))
    return ask.ok("GET", f"{DEFINITIONS}/{made['metadata']['name']}")


def widget(name: str = "w", version: str = "v1", **parts: Any) -> Object:
    """Return an object of the kind that `definition` defines."""
    return {"apiVersion": f"{GROUP}/{version}", "kind": "Widget", "metadata": {"name": name}, **parts}


def define_spec(ask: Asking, spec: Object, **parts: Any) -> None:
    """Create the definition of `Widget`, with a schema for the spec of its objects."""
    define(ask, version(schema=structure(spec), **parts))


def spec_of(ask: Asking, spec: Any) -> Any:
    """Create a `Widget`, and return its spec as stored."""
    return ask.ok("POST", WIDGETS, widget(spec=spec))["spec"]


def conditions(definition: Object) -> dict[str, tuple[str, str]]:
    """Return status and reason of each condition of a definition."""
    return {one["type"]: (one["status"], one["reason"]) for one in definition["status"]["conditions"] or ()}

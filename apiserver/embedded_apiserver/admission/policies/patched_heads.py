# SPDX-License-Identifier: Apache-2.0
"""Checks the kind, the apiVersion and the metadata that a policy's JSON patch leaves, as a real API server does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from embedded_apiserver.admission.policies.expressions import Failed
from embedded_apiserver.audit_annotations import as_json
from embedded_apiserver.bounds import abbreviated
from embedded_apiserver.custom.forms import of_own_type
from embedded_apiserver.groups.all import KINDS
from embedded_apiserver.kinds.kind import SCHEME, Kind
from embedded_apiserver.objects import Object
from embedded_apiserver.quoting import quoted
from embedded_apiserver.status import internal
from embedded_apiserver.typed import values

_GO_TYPES = {bool: "bool", int: "number", float: "number", list: "array", dict: "object"}


def other_version(kind: Kind, root: Object) -> Kind | None:
    """Return the built-in kind of a patched object if it is another version of `kind`; None if it is `kind` itself.

    Raises:
        StatusError: 500, the object has another kind, or an unknown one.
    """
    _check_texts(root)
    name, version = root.get("kind") or kind.kind, root.get("apiVersion") or kind.api_version
    if (name, version) == (kind.kind, kind.api_version):
        return None
    found = next((one for one in KINDS if (one.kind, one.api_version) == (name, version)), None)
    if found is None:
        raise internal(f"no kind {quoted(name)} is registered for version {quoted(version)} in scheme {quoted(SCHEME)}")
    if name != kind.kind:
        before, after = f"{found.version}.{name}", f"{kind.group.partition('.')[0] or 'core'}.{kind.kind}"
        raise internal(f"failed to convert object: converting ({before}) to ({after}): unknown conversion")
    return found


def unconvertible(other: Kind, kind: Kind) -> Failed:
    """Return the error of a mutating policy that changed the object's apiVersion."""
    return Failed(f"converting ({other.version}.{kind.kind}) to ({kind.version}.{kind.kind}): unknown conversion")


def custom(kind: Kind, root: Any) -> Object:
    """Return `root`, a custom object after a patch, in the version of `kind`, without metadata fields of wrong types.

    Raises:
        StatusError: 422, the object has another kind; 500, it is not an object, or cannot be converted.
    """
    if type(root) is dict:
        _check_texts(root)
    name = root.get("kind") if type(root) is dict else None
    if not name:
        raise internal(f"Object 'Kind' is missing in '{abbreviated(as_json(root))}'")
    version = root.get("apiVersion") or ""
    if version != kind.api_version:
        root = _in_version(kind, root, name, version)
    if "metadata" in root and type(root["metadata"]) is not dict:
        raise internal("system metadata was not initialized")
    of_own_type(kind, root.get("metadata", {}).get("name", ""), root if name != kind.kind else {})
    return _with_usable_metadata(root)


def _in_version(kind: Kind, root: Object, name: str, version: str) -> Object:
    group, _, _ = version.rpartition("/")
    if group != kind.group:
        shown = version or "/"
        text = f"{shown}, Kind={name} is unstructured and is not suitable for converting to {quoted(kind.api_version)}"
        raise internal(f"failed to convert object: {text}")
    if version not in kind.versions:
        raise internal(f"failed to convert object: request to convert CR from an invalid group/version: {version}")
    if kind.conversion is not None:
        bare = {field: value for field, value in root.items() if field not in ("kind", "apiVersion")}
        (root,) = kind.conversion.converted([bare], version, kind.api_version)
    return {**root, "kind": name, "apiVersion": kind.api_version}


def _check_texts(root: Object) -> None:
    for field in ("apiVersion", "kind"):
        value = root.get(field)
        if value is not None and type(value) is not str:
            found = (
                f"cannot unmarshal {_GO_TYPES.get(type(value), 'value')} into Go struct field .{field} of type string"
            )
            raise internal(f"couldn't get version/kind; json parse error: json: {found}")
    version = root.get("apiVersion") or ""
    if version.count("/") > 1:
        raise internal(f"unexpected GroupVersion string: {version}")


def _is_text(value: Any) -> bool:
    return type(value) is str


def _is_whole(value: Any) -> bool:
    return type(value) is int


def _are_texts(value: Any) -> bool:
    return type(value) is dict and all(item is None or type(item) is str for item in value.values())


def _is_time(value: Any) -> bool:
    try:
        values.time(value)
    except ValueError:
        return False
    return True


def _list_of(kind: type) -> Callable[[Any], bool]:
    return lambda value: type(value) is list and all(type(item) is kind for item in value)


_USABLE: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("name", "generateName", "namespace", "selfLink", "uid", "resourceVersion"), _is_text),
    **dict.fromkeys(("generation", "deletionGracePeriodSeconds"), _is_whole),
    **dict.fromkeys(("creationTimestamp", "deletionTimestamp"), _is_time),
    **dict.fromkeys(("labels", "annotations"), _are_texts),
    **dict.fromkeys(("ownerReferences", "managedFields"), _list_of(dict)),
    "finalizers": _list_of(str),
}


def _with_usable_metadata(root: Object) -> Object:
    """Return a custom object without the fields of its metadata that are of another type: readers do not see them."""
    metadata = root.get("metadata") or {}
    kept = {
        name: value
        for name, value in metadata.items()
        if value is None or (usable := _USABLE.get(name)) is None or usable(value)
    }
    return root if len(kept) == len(metadata) else {**root, "metadata": kept}

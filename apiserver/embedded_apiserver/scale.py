# SPDX-License-Identifier: Apache-2.0
"""The `scale` subresource: a workload or custom object, read and written by its number of replicas only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from embedded_apiserver import status
from embedded_apiserver.causes import invalid
from embedded_apiserver.groups.parts import SCALE
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.label_match import selector_text
from embedded_apiserver.objects import Object, part

_SHOWN = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
_ASKED = ("name", "namespace", "uid", "resourceVersion")

_NO_CONVERSION = f"request to convert CR to an invalid group/version: {SCALE.api_version}"


def scale_of(kind: Kind, obj: Object) -> dict[str, Any]:
    """Return the `Scale` of a workload as a new dict, which the caller may modify."""
    metadata, paths = obj["metadata"], kind.scale
    shown: dict[str, Any] = {"replicas": _at(obj, paths.present) or 0}
    selector = _at(obj, paths.selector) or {}
    if isinstance(selector, str):
        shown["selector"] = selector
    elif kind.definition is None and (text := selector_text(selector)):
        shown["selector"] = text
    replicas = _at(obj, paths.wanted) or 0
    return {
        "metadata": {name: metadata[name] for name in _SHOWN if name in metadata},
        "spec": {"replicas": replicas} if replicas else {},  # zero is left out, as a real server does
        "status": shown,
    }


def replicas_of(kind: Kind, obj: Object) -> Any:
    """Return the desired number of replicas in an object; None if the object does not set it."""
    return _at(obj, kind.scale.wanted)


def scale_to_show(kind: Kind, obj: Object) -> dict[str, Any]:
    """Return the `Scale` of a workload for a client that reads it.

    Raises:
        StatusError: 500, a custom object lacks the field that its definition declares as `specReplicasPath`.
    """
    if kind.definition is not None and _at(obj, kind.scale.wanted) is None:
        raise status.internal(f'the spec replicas field ".{".".join(kind.scale.wanted)}" does not exist')
    return scale_of(kind, obj)


def scaled(kind: Kind, obj: Object, scale: Object) -> dict[str, Any]:
    """Return a workload with the desired number of replicas from `scale`.

    The name, namespace, uid and resourceVersion of `scale` are copied as well, so that `prepare_update` checks them as
    in any update.

    Args:
        kind: The kind of the workload.
        obj: The stored workload.
        scale: The `Scale` from the client, as returned by `decode` or `admit`.

    Raises:
        StatusError: 422, the number of replicas of a built-in kind is negative; 409, `scale` has another uid.
    """
    replicas = part(scale, "spec").get("replicas", 0)
    if replicas < 0 and kind.definition is None:  # a custom kind has a rule of its own
        cause = invalid("spec.replicas", replicas, "must be greater than or equal to 0")
        raise status.invalid(SCALE, obj["metadata"]["name"], [cause])
    uid = scale["metadata"].get("uid") or obj["metadata"]["uid"]
    if uid != obj["metadata"]["uid"]:
        text = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {obj['metadata']['uid']}"
        raise status.conflict(
            status.Options(kind.kind, kind.group, f"{kind.plural}/scale"), obj["metadata"]["name"], text
        )
    own = {name: value for name, value in obj["metadata"].items() if name not in _ASKED}
    asked = {name: value for name, value in scale["metadata"].items() if name in _ASKED}
    return {**_with(obj, kind.scale.wanted, replicas), "metadata": {**own, **asked}}


def scale_applied(kind: Kind, config: Object) -> dict[str, Any]:
    """Return an applied `Scale` as an applied configuration of its workload, in which field ownership is tracked."""
    spec = part(config, "spec")
    said = _with({}, kind.scale.wanted, spec["replicas"]) if "replicas" in spec else {}
    return {"metadata": {name: value for name, value in config["metadata"].items() if name in _SHOWN}, **said}


def check_custom_scale(kind: Kind, old: Object, new: Object) -> None:
    """Refuse to apply a `Scale` that would change the replicas of a custom object.

    This reproduces an error of a real API server, which cannot convert the configuration back. The client can only
    share the ownership of the field, or give it up.

    Raises:
        StatusError: 500, the object has no number of replicas, no manager owns it, or it changes.
    """
    wanted = kind.scale.wanted
    before, after = _at(old, wanted), _at(new, wanted)
    if before is None:
        raise status.internal(f'the spec replicas field ".{".".join(wanted)}" does not exist')
    owned = any(
        _at(entry["fieldsV1"], [f"f:{step}" for step in wanted]) is not None
        for entry in old["metadata"].get("managedFields", ())
    )
    if not owned:
        raise status.untyped(
            "failed to create manager for existing fields: failed to convert live object "
            f"(/; {SCALE.api_version}, Kind={SCALE.kind}) to proper version: {_NO_CONVERSION}"
        )
    if before != after:
        raise status.untyped(
            f"failed to convert new object (/{old['metadata']['name']}; {SCALE.api_version}, Kind={SCALE.kind}) "
            f"to proper version: {_NO_CONVERSION}"
        )


def _at(obj: Object, path: Sequence[str]) -> Any:
    value: Any = obj if path else None
    for step in path:
        value = value.get(step) if isinstance(value, Mapping) else None
    return value


def _with(obj: Object, path: Sequence[str], value: object) -> dict[str, Any]:
    """Return `obj` with a value at a path."""
    step, *rest = path
    inner = obj.get(
        step
    )  # a value on the way that is not an object is replaced; the schema check refuses the result if it must
    return {**obj, step: _with(inner if isinstance(inner, Mapping) else {}, rest, value) if rest else value}

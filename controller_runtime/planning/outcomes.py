# SPDX-License-Identifier: Apache-2.0
"""The state of an object after a write, from its state before and the server's answer to a dry run. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import attrs
import msgspec

from apimachinery.http import HTTPRequest, HTTPResponse
from controller_runtime.api.differ import merge_patch, merge_patched
from controller_runtime.planning.overlay import PLANNED_VERSION, Object, PlannedObject
from controller_runtime.planning.patching import json_patched, merged_by_keys

APPLY = "application/apply-patch+yaml"
JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"

_NO_DRY_RUN = re.compile(r'admission webhook \\?"([^"\\]*)\\?" does not support dry run')


def content_type(request: HTTPRequest) -> str:
    """Return the media type of a request's body."""
    return request.headers.get("content-type", "").partition(";")[0].strip()


def document(body: bytes) -> Any:
    """Return a body as decoded JSON; an empty dict if the body is empty or is not JSON."""
    try:
        return msgspec.json.decode(body) if body else {}
    except msgspec.DecodeError:
        return {}


def with_version(obj: Object) -> dict[str, Any]:
    """Return a copy of `obj` with an invented resourceVersion if it has none.

    The answer to a dry run of a creation has none.
    """
    metadata = {"resourceVersion": PLANNED_VERSION, **(obj.get("metadata") or {})}
    return {**obj, "metadata": metadata}


def locally(state: Object, request: HTTPRequest, subresource: str) -> dict[str, Any]:
    """Return the state of an object after a write, computed here without the server; only the written part changes.

    Raises:
        PatchFailed: A JSON patch cannot be applied.
    """
    body, kind = document(request.body), content_type(request)
    if subresource == "scale":
        spec = body.get("spec") if isinstance(body, dict) else None
        return merge_patched(state, {"spec": spec or {}})
    if request.method == "PUT":
        wanted = {**body, "metadata": {**_identity(state), **(body.get("metadata") or {})}}
    elif kind == JSON_PATCH:
        wanted = json_patched(state, body)
    elif kind == MERGE_PATCH:
        wanted = merge_patched(state, body)
    else:
        wanted = merged_by_keys(state, body)
    wanted["metadata"] = {**wanted.get("metadata", {}), **_identity(state)}
    return part_of(state, wanted, subresource)


def part_of(state: Object, wanted: Object, subresource: str) -> dict[str, Any]:
    """Return `state` with the part of `wanted` that a write to this subresource may change."""
    if subresource == "status":
        return _with_status(state, wanted)
    return {**wanted}


def with_identity(obj: Object, state: Object) -> dict[str, Any]:
    """Return an object with the uid, resourceVersion and creationTimestamp of `state`."""
    return {**obj, "metadata": {**meta_of(obj), **_identity(state)}}


def answered(planned: PlannedObject, answer: Object, subresource: str) -> dict[str, Any]:
    """Return the state of an object after a write whose dry run the server answered with `answer`.

    In the answer, the written part is as it will be, and the rest is as the server has it. For the rest, earlier
    planned changes are kept.
    """
    state = planned.state or {}
    if subresource == "scale":
        return merge_patched(state, {"spec": {"replicas": (answer.get("spec") or {}).get("replicas")}})
    if subresource:
        kept = {**state, "metadata": {**meta_of(state), **_version(answer)}}
        if subresource == "status":
            return _with_status(kept, answer)
        return merge_patched(kept, merge_patch(planned.live or {}, answer))
    marks = {name: value for name, value in meta_of(state).items() if name in _MARKS}
    marked = {**answer, "metadata": {**marks, **meta_of(answer)}}  # the server knows nothing of a planned deletion
    return _with_status(marked, state) if planned.has_status else marked


def applied(planned: PlannedObject, answer: Object, subresource: str) -> dict[str, Any]:
    """Return the state of an object after an apply; the server could compute it only without the earlier planned
    writes.
    """
    live, state = planned.live or {}, planned.state or {}
    change = merge_patch(live, answer)
    if subresource == "status":
        change = {"status": change["status"]} if "status" in change else {}
    elif planned.has_status:
        change.pop("status", None)
    return merged_by_keys(state, change)  # type: ignore[no-any-return]


def cumulative(planned: PlannedObject, wanted: Object, subresource: str) -> dict[str, Any]:
    """Return the merge patch of a subresource that turns the server's state into `wanted`."""
    patch = merge_patch(planned.live or {}, wanted)
    if subresource == "status":
        return {"status": patch["status"]} if "status" in patch else {}
    if planned.has_status:
        patch.pop("status", None)
    metadata = {name: value for name, value in (patch.get("metadata") or {}).items() if name not in _SERVERS}
    patch.pop("metadata", None)
    return {**patch, "metadata": metadata} if metadata else patch


def is_gone(state: Object) -> bool:
    """Return whether an object is being deleted and nothing delays that, so that it no longer exists."""
    metadata = state.get("metadata") or {}
    waits = metadata.get("finalizers") or metadata.get("deletionGracePeriodSeconds")
    return bool(metadata.get("deletionTimestamp")) and not waits and not (state.get("spec") or {}).get("finalizers")


def after_deletion(state: Object, answer: Object, now: str) -> dict[str, Any] | None:
    """Return the state of an object after its deletion: marked as being deleted if something delays that, otherwise
    None.

    Args:
        state: The object before the deletion.
        answer: The server's answer to the dry run: a Status, or the marked object.
        now: The current time, for the deletionTimestamp if only a planned finalizer delays the deletion.
    """
    metadata = dict(state.get("metadata") or {})
    shown = answer.get("metadata") or {} if answer.get("kind") != "Status" else {}
    for name in _MARKS:
        if name in shown:
            metadata[name] = shown[name]
    if added := [each for each in shown.get("finalizers") or () if each not in (metadata.get("finalizers") or ())]:
        metadata["finalizers"] = [*(metadata.get("finalizers") or ()), *added]
    metadata.setdefault("deletionTimestamp", now)
    marked = {**state, "metadata": metadata}
    return None if is_gone(marked) else marked


def written(planned: PlannedObject, state: Object, subresource: str) -> PlannedObject:
    """Return what is planned for an object after a write that leads to `state`: no state (None) if it `is_gone`."""
    has_status = subresource == "status" or planned.has_status
    return attrs.evolve(planned, state=None if is_gone(state) else state, has_status=has_status)


def response(status: int, body: Object) -> HTTPResponse:
    """Return an HTTP answer with a JSON body."""
    return HTTPResponse(status, {"content-type": "application/json"}, msgspec.json.encode(body))


def done(status: int) -> HTTPResponse:
    """Return the answer to a successful write without an object."""
    return response(status, {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"})


def is_success(answer: HTTPResponse) -> bool:
    """Return whether the status of an answer is 2xx."""
    return 200 <= answer.status < 300


def webhook_without_dry_runs(answer: HTTPResponse) -> str:
    """Return the name of the webhook because of which the server refused a dry run; empty for other answers."""
    found = _NO_DRY_RUN.search(answer.body.decode(errors="replace"))
    return "" if found is None else found.group(1)


def refusal(code: int, reason: str, message: str) -> HTTPResponse:
    """Return an error answer as an API server would send it."""
    body = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
    return response(code, {**body, "message": message, "reason": reason, "code": code})


def scale_of(obj: Object) -> dict[str, Any]:
    """Return the Scale of an object that has its replicas in `spec.replicas` and `status.replicas`."""
    metadata = {name: value for name, value in meta_of(obj).items() if name in ("name", "namespace", "uid")}
    spec = {"replicas": (obj.get("spec") or {}).get("replicas", 0)}
    status = {"replicas": (obj.get("status") or {}).get("replicas", 0)}
    return {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": metadata, "spec": spec, "status": status}


def as_merge_patch(request: HTTPRequest, patch: Object) -> HTTPRequest:
    """Return a request with a merge patch as its body."""
    headers = {**request.headers, "content-type": MERGE_PATCH}
    return request._replace(headers=headers, body=msgspec.json.encode(patch))


def absent(plural: str, name: str) -> HTTPResponse:
    """Return the 404 answer for an object whose deletion is planned."""
    return refusal(404, "NotFound", f'{plural} "{name}" not found: its deletion is planned')


def exists(plural: str, name: str) -> HTTPResponse:
    """Return the 409 answer to the creation of an object that is planned already."""
    return refusal(409, "AlreadyExists", f'{plural} "{name}" already exists: it is planned')


_MARKS = ("deletionTimestamp", "deletionGracePeriodSeconds")
"""Fields of metadata that a deletion sets."""

_SERVERS = ("resourceVersion", "managedFields", "generation", "creationTimestamp", "uid", "selfLink", *_MARKS)
"""Fields of metadata that the server sets."""


def _identity(state: Object) -> dict[str, Any]:
    metadata = state.get("metadata") or {}
    names = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    return {name: metadata[name] for name in names if name in metadata}


def _version(answer: Object) -> dict[str, Any]:
    version = (answer.get("metadata") or {}).get("resourceVersion")
    return {"resourceVersion": version} if version else {}


def _with_status(obj: Object, source: Object) -> dict[str, Any]:
    result = {name: value for name, value in obj.items() if name != "status"}
    if "status" in source:
        result["status"] = source["status"]
    return result


def meta_of(obj: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an object's metadata; empty if it has none."""
    return obj.get("metadata") or {}

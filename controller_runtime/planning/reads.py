# SPDX-License-Identifier: Apache-2.0
"""Answers the reads of a plan: the server's state, with what is planned in the place of what it replaces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from apimachinery.http import HTTPRequest, HTTPResponse
from controller_runtime.api.differ import merge_patched
from controller_runtime.core.resource_paths import ResourcePath
from controller_runtime.planning.outcomes import absent, document, meta_of, response, scale_of
from controller_runtime.planning.overlay import Object, Overlay, PlannedObject
from controller_runtime.planning.selection import Selection, only_metadata

_PARTIAL = "as=PartialObjectMetadata"
_SHOWS_THE_OBJECT = ("", "status")


def planned_answer(overlay: Overlay, request: HTTPRequest, target: ResourcePath) -> HTTPResponse | None:
    """Return the answer to a read of an object that the plan wrote; None if the server must be asked."""
    planned = overlay.get(target)
    if planned is None:
        return None
    if planned.state is None:
        return absent(target.plural, target.name)
    if target.subresource in _SHOWS_THE_OBJECT:
        return response(200, _shown(planned.state, request))
    return response(200, scale_of(planned.state)) if target.subresource == "scale" and planned.is_only_planned else None


def with_planned(overlay: Overlay, request: HTTPRequest, target: ResourcePath, answer: HTTPResponse) -> HTTPResponse:
    """Return the server's answer to a read, with planned changes included.

    Args:
        overlay: The plan.
        request: The read of a collection, or of a scale.
        target: The path of the request.
        answer: The server's answer.
    """
    if answer.status != 200 or "as=Table" in request.headers.get("accept", ""):
        return answer
    if target.name:
        planned = overlay.get(target)
        if planned is None or planned.state is None or target.subresource != "scale":
            return answer
        replicas = (planned.state.get("spec") or {}).get("replicas")
        return response(200, merge_patched(document(answer.body), {"spec": {"replicas": replicas}}))
    changes, _ = overlay.since(target, 0)
    if not changes:
        return answer
    try:
        selection = Selection.asked(target.namespace, dict(request.query))
    except ValueError:
        return answer
    page = document(answer.body)
    if not str(page.get("kind", "")).endswith("List"):
        return answer
    items = _merged_page(page.get("items") or [], changes, selection, is_last=not meta_of(page).get("continue"))
    return response(200, {**page, "items": [_shown(item, request) for item in items]})


def _merged_page(items: list[Any], changes: list[PlannedObject], selection: Selection, *, is_last: bool) -> list[Any]:
    """Return a page with planned states in place; those that the server would not list come on the last page."""
    left = {(each.target.name, each.target.namespace): each for each in changes}
    found: list[Any] = []
    for item in items:
        planned = left.pop(_key(item), None)
        state = item if planned is None else planned.state
        if state is not None and (planned is None or selection.has(state)):
            found.append(state)
    if is_last:
        # On an earlier page such an object could be there as well; it is left to that page if the server listed it.
        found += [
            each.state
            for each in left.values()
            if each.state is not None and selection.has(each.state) and not (each.live and selection.has(each.live))
        ]
    return found


def _key(item: Mapping[str, Any]) -> tuple[str, str]:
    metadata = meta_of(item)
    return metadata.get("name", ""), metadata.get("namespace", "")


def _shown(obj: Object, request: HTTPRequest) -> Object:
    return only_metadata(obj) if _PARTIAL in request.headers.get("accept", "") else obj


def listed(answer: HTTPResponse) -> list[Object]:
    """Return the objects in the answer to a list request."""
    items = document(answer.body).get("items")
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def encoded(obj: Object) -> bytes:
    """Return an object as JSON bytes."""
    return msgspec.json.encode(obj)

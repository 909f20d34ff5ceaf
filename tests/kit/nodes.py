# SPDX-License-Identifier: Apache-2.0
"""Nodes as a server writes them, for the tests in this folder."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from apimachinery.objects import Cached, PlainKey, cached_from_bytes
from controller_runtime.client.decoding import EventType, WatchEvent


def node(name: str, version: int, *, uid: str = "", **labels: str) -> dict[str, Any]:
    """Return a node as a dict."""
    metadata = {"name": name, "uid": uid or f"uid-{name}", "resourceVersion": str(version), "labels": labels}
    return {"kind": "Node", "apiVersion": "v1", "metadata": metadata}


def packed(obj: Any) -> bytes:
    """Return JSON as a server writes it."""
    return json.dumps(obj, separators=(",", ":")).encode()


def cached(name: str, version: int, *, uid: str = "", **labels: str) -> Cached:
    """Return a node as the store keeps it."""
    return cached_from_bytes(packed(node(name, version, uid=uid, **labels)))


def content(obj: Cached | None) -> tuple[str, str, bytes] | None:
    """Return what makes two states of one key the same: uid, version and bytes; None for an absence."""
    return None if obj is None else (obj.uid, obj.resource_version, obj.raw)


def contents(objects: Iterable[Cached]) -> dict[PlainKey, tuple[str, str, bytes] | None]:
    """Return the content of each object by its key."""
    return {obj.plain_key: content(obj) for obj in objects}


def listed(*objects: Cached) -> dict[PlainKey, Cached]:
    """Return the objects that a list of these passes to the store."""
    return {obj.plain_key: obj for obj in objects}


def added(obj: Cached) -> WatchEvent:
    """Return an ADDED event."""
    return WatchEvent(EventType.ADDED, obj, obj.resource_version)


def modified(obj: Cached) -> WatchEvent:
    """Return a MODIFIED event."""
    return WatchEvent(EventType.MODIFIED, obj, obj.resource_version)


def deleted(obj: Cached) -> WatchEvent:
    """Return a DELETED event."""
    return WatchEvent(EventType.DELETED, obj, obj.resource_version)


def bookmark(version: int) -> WatchEvent:
    """Return a BOOKMARK event."""
    return WatchEvent(EventType.BOOKMARK, None, str(version))


def line(kind: str, obj: dict[str, Any]) -> bytes:
    """Return a line of a watch."""
    return packed({"type": kind, "object": obj})


def bookmark_line(version: int, *, ends_initial: str = "") -> bytes:
    """Return a BOOKMARK line; `ends_initial` is the value of the annotation, if it is to have one."""
    annotations = {"k8s.io/initial-events-end": ends_initial} if ends_initial else {}
    metadata = {"resourceVersion": str(version), "annotations": annotations}
    return line("BOOKMARK", {"kind": "Node", "apiVersion": "v1", "metadata": metadata})


def error_line(code: int, reason: str) -> bytes:
    """Return an ERROR line."""
    return line("ERROR", status(code, reason))


def status(code: int, reason: str, message: str = "", **details: Any) -> dict[str, Any]:
    """Return a Status of failure."""
    body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message or reason}
    return {**body, "reason": reason, "code": code, "details": details}

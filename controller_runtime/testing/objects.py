# SPDX-License-Identifier: Apache-2.0
"""Sample objects for tests: plain dicts that the API server accepts, with no fields but those that are asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def a_node(
    name: str,
    *,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    ready: bool | None = True,
) -> dict[str, Any]:
    """Return a node.

    Args:
        name: Its name.
        labels: Its labels.
        annotations: Its annotations.
        ready: The status of its Ready condition: `True`, `False`, or `Unknown` for None.
    """
    status = "Unknown" if ready is None else str(ready)
    return {
        "metadata": _metadata(name, labels, annotations),
        "status": {"conditions": [{"type": "Ready", "status": status, "reason": "Test"}]},
    }


def a_pod(
    name: str,
    namespace: str = "default",
    *,
    node: str = "",
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return a pod of one container.

    Args:
        name: Its name.
        namespace: Its namespace, which must exist.
        node: The node that it is bound to; empty for none.
        labels: Its labels.
        annotations: Its annotations.
    """
    spec: dict[str, Any] = {"containers": [{"name": "main", "image": "example.com/image"}]}
    if node:
        spec["nodeName"] = node
    return {"metadata": _metadata(name, labels, annotations, namespace), "spec": spec}


def a_lease(
    name: str, namespace: str = "default", *, holder: str = "", duration: int = 15, renew_time: str = ""
) -> dict[str, Any]:
    """Return a lease.

    Args:
        name: Its name.
        namespace: Its namespace, which must exist.
        holder: The identity of its holder; empty for none.
        duration: Seconds for which a renewal is valid.
        renew_time: When it was last renewed, as `microtime` writes it; empty for never.
    """
    spec: dict[str, Any] = {"leaseDurationSeconds": duration}
    if holder:
        spec["holderIdentity"] = holder
    if renew_time:
        spec["renewTime"] = renew_time
    return {"metadata": _metadata(name, None, None, namespace), "spec": spec}


def _metadata(
    name: str, labels: Mapping[str, str] | None, annotations: Mapping[str, str] | None, namespace: str = ""
) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    if labels:
        metadata["labels"] = {**labels}
    if annotations:
        metadata["annotations"] = {**annotations}
    return metadata

# SPDX-License-Identifier: Apache-2.0
"""Sample objects for tests: plain dicts that the API server accepts, with only the given fields."""

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
        name: The name.
        labels: The labels; None for none.
        annotations: The annotations; None for none.
        ready: The status of the Ready condition: `True`, `False`, or `Unknown` for None.
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
    """Return a pod with one container.

    Args:
        name: The name.
        namespace: The namespace, which must exist.
        node: The name of the node that it is bound to; empty for none.
        labels: The labels; None for none.
        annotations: The annotations; None for none.
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
        name: The name.
        namespace: The namespace, which must exist.
        holder: The identity of the holder; empty for none.
        duration: Seconds for which a renewal is valid.
        renew_time: The time of the last renewal, in the form of `microtime`; empty for never.
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

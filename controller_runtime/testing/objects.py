# SPDX-License-Identifier: Apache-2.0
"""Objects to begin a test with: plain dicts that the API server accepts, and nothing in them but what was asked for."""

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
    """A node.

    Args:
        name: Its name.
        labels: Its labels.
        annotations: Its annotations.
        ready: What its Ready condition says: `True`, `False`, or `Unknown` for None.
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
    """A pod of one container.

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
    """A lease.

    Args:
        name: Its name.
        namespace: Its namespace, which must exist.
        holder: Who holds it; empty for nobody.
        duration: Seconds that it is good for.
        renew_time: When it was renewed last, as `microtime` writes it; empty for never.
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

# SPDX-License-Identifier: Apache-2.0
"""The namespace in which this process runs, if it runs in a pod."""

from __future__ import annotations

from pathlib import Path

POD_NAMESPACE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")


def pod_namespace() -> str:
    """Return the namespace of the pod that this process runs in; `default` outside of a pod, or if no file names it."""
    try:
        return POD_NAMESPACE.read_text(encoding="utf-8").strip() or "default"
    except OSError:
        return "default"

# SPDX-License-Identifier: Apache-2.0
"""Comparing resource versions, in the one place that does.

A resource version is a decimal number without leading zeros, of any length
(guaranteed since Kubernetes 1.35; true of every etcd-backed server before), so the
longer one is the newer one, and among equals in length text order is number order.
"""

from __future__ import annotations


def compare_versions(a: str, b: str) -> int:
    """Negative when `a` is older than `b`, zero when equal, positive when newer. The empty version is the oldest."""
    if a == b:
        return 0
    return -1 if (len(a), a) < (len(b), b) else 1


def newest(a: str, b: str) -> str:
    """The newer of two versions."""
    return a if compare_versions(a, b) >= 0 else b

# SPDX-License-Identifier: Apache-2.0
"""Compares resourceVersions; no other module does.

A resourceVersion is a decimal number without leading zeros, of any length (guaranteed since Kubernetes 1.35, and
true of all earlier servers that store in etcd). So a longer one is newer, and two of the same length compare as texts.
"""

from __future__ import annotations


def compare_versions(a: str, b: str) -> int:
    """Compare two resourceVersions: return -1 if `a` is older than `b`, 0 if equal, 1 if newer.

    Empty text is the oldest.
    """
    if a == b:
        return 0
    return -1 if (len(a), a) < (len(b), b) else 1


def newest(a: str, b: str) -> str:
    """Return the newer of two resourceVersions."""
    return a if compare_versions(a, b) >= 0 else b

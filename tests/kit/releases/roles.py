# SPDX-License-Identifier: Apache-2.0
"""Reads the roles in a source tree of Kubernetes: the files with which its own tests compare what its code makes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

_FILES = {
    "clusterroles": ("cluster-roles.yaml", "controller-roles.yaml"),
    "roles": ("namespace-roles.yaml",),
}


def rules(folder: Path) -> dict[str, Any]:
    """Return the rules of each role with its features as they are by default, by `collection/namespace/name`."""
    found = {}
    for plural, names in _FILES.items():
        for name in names:
            for role in yaml.safe_load((folder / name).read_text(encoding="utf-8"))["items"]:
                metadata = role["metadata"]
                key = f"{plural}.rbac.authorization.k8s.io/{metadata.get('namespace', '')}/{metadata['name']}"
                found[key] = role["rules"]
    return found

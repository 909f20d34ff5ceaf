# SPDX-License-Identifier: Apache-2.0
"""Types and functions with which scenarios reach their servers."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import yaml

Serve = Callable[[], AbstractContextManager[Path]]
"""Runs a server without objects inside the block; the value is its kubeconfig."""


def rerouted(folder: Path, kubeconfig: Path, port: int) -> Path:
    """Write a kubeconfig that reaches the same cluster by way of another port; return its path."""
    document = yaml.safe_load(kubeconfig.read_text(encoding="utf-8"))
    document["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{port}"
    path = folder / "by-proxy"
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    return path

# SPDX-License-Identifier: Apache-2.0
"""Config maps, the simplest objects of the API."""

from __future__ import annotations

from typing import Any

CONFIGS = "/api/v1/namespaces/default/configmaps"


def config(name: str = "a", **parts: Any) -> dict[str, Any]:
    """Return a config map; `parts` are fields such as `data`."""
    return {"metadata": {"name": name}, **parts}

# SPDX-License-Identifier: Apache-2.0
"""How an older release differs from the newest, as data."""

from __future__ import annotations

from typing import Any

from embedded_apiserver.kinds.recorded import GONE


def difference(newest: Any, older: Any) -> Any:
    """Return how an older value differs from the newest one, in the form that `recorded.adapted` reads."""
    if not (isinstance(newest, dict) and isinstance(older, dict)):
        return older
    found = {
        key: difference(newest[key], value) if key in newest else value
        for key, value in older.items()
        if key not in newest or newest[key] != value
    }
    return {**found, GONE: gone} if (gone := sorted(newest.keys() - older.keys())) else found

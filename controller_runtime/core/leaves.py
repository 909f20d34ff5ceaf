# SPDX-License-Identifier: Apache-2.0
"""The values of a JSON document that have no parts, each with the way to it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Steps = tuple[str | int, ...]
"""The way to a value: names of fields, and positions in lists."""


def leaves(value: Any, steps: Steps = ()) -> Iterator[tuple[Steps, Any]]:
    """Yield the values without parts, in the order of the document; an empty object or list is one, too."""
    if isinstance(value, dict) and value:
        for name, part in value.items():
            yield from leaves(part, (*steps, name))
    elif isinstance(value, list) and value:
        for index, part in enumerate(value):
            yield from leaves(part, (*steps, index))
    else:
        yield steps, value

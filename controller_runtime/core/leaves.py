# SPDX-License-Identifier: Apache-2.0
"""The values of a JSON document that have no parts, each with its path."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Steps = tuple[str | int, ...]
"""The path to a value: names of fields, and positions in lists."""


def leaves(value: Any, steps: Steps = ()) -> Iterator[tuple[Steps, Any]]:
    """Yield each value of a JSON document that has no parts, with its path, in the order of the document.

    A value without parts is a scalar, or an empty object or list. `steps` is the path of `value` itself.
    """
    if isinstance(value, dict) and value:
        for name, part in value.items():
            yield from leaves(part, (*steps, name))
    elif isinstance(value, list) and value:
        for index, part in enumerate(value):
            yield from leaves(part, (*steps, index))
    else:
        yield steps, value

# SPDX-License-Identifier: Apache-2.0
"""Compares JSON values. Python's `==` is not enough: to it, True is 1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec


def same_json(one: Any, other: Any, *, exact: bool = True) -> bool:
    """Return whether two values are equal as JSON. True never equals 1, at any depth; the order of fields does not
    matter.

    Args:
        one: A decoded JSON value.
        other: The value to compare with.
        exact: True to compare as a server that stores its input: 1 differs from 1.0, and a null field from an absent
            one. False to compare as a client that decides about a patch: numbers by value, null as absent, and tuples
            as lists. (A client that patched 1 to 1.0 would never finish, because a server may store either number as
            1.)
    """
    if exact:
        # `==` is quick and finds nearly every difference; the encoded texts tell True from 1, and 1 from 1.0.
        return bool(one == other) and _encoded(one) == _encoded(other)
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return all(same_json(one.get(name), other.get(name), exact=False) for name in one.keys() | other.keys())
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(same_json(a, b, exact=False) for a, b in zip(one, other, strict=True))
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def _encoded(value: Any) -> bytes:
    return msgspec.json.encode(value, order="sorted")

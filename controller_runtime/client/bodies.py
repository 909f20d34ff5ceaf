# SPDX-License-Identifier: Apache-2.0
"""What a request carries: dicts, official models and structs, as JSON that an API server accepts.

Every instant is written with six digits and in UTC. A MicroTime must be, and the
models do not (`isoformat` leaves out a fraction that is zero); a Time may be.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from controller_runtime.api.objects import HasMetadata, microtime

Body = Mapping[str, Any] | HasMetadata
"""An object to write: a dict, an official model, or a `msgspec.Struct` with wire names."""


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return microtime(value)
    if hasattr(value, "model_dump"):  # the official client's models
        return value.model_dump(by_alias=True, exclude_none=True)
    if isinstance(value, msgspec.Struct):
        return msgspec.to_builtins(value, builtin_types=(datetime,))
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a {type(value).__name__} has no form on the wire")


_encoder = json.JSONEncoder(default=_plain, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def encoded(value: Any) -> bytes:
    """`value` as JSON.

    Raises:
        TypeError: Something in it has no form on the wire.
        ValueError: An instant without a time zone, or a number that is none.
    """
    return _encoder.encode(value).encode()


def mapping_of(body: Body) -> dict[str, Any]:
    """The object as a dict of its wire names, one level deep the caller's own.

    Raises:
        TypeError: It is no object.
    """
    plain = dict(body) if isinstance(body, Mapping) else _plain(body)
    if not isinstance(plain, dict):
        raise TypeError(f"a {type(body).__name__} is no object")
    return plain

# SPDX-License-Identifier: Apache-2.0
"""Objects of declared classes as they are sent: dicts with the API's names."""

from __future__ import annotations

import dataclasses
import enum
import functools
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import attrs
import msgspec
from msgspec import inspect

from apimachinery.models import fields_of, is_model
from apimachinery.objects import ObjectMeta, OwnerReference
from controller_runtime.crd.types import Condition

# The fields that only the server sets.
_OF_THE_SERVER = ("generation", "creationTimestamp", "deletionTimestamp")


class Whole(dict[str, Any]):
    """A JSON object for a write, from a class that has all fields of the API's type."""


def written(value: Any, *, defaults: bool = False) -> Any:
    """Return a value as it is sent: instances as dicts with the API's names.

    Fields that are unset are left out, and so are those that are None, unless they are required.

    Args:
        value: A `Struct`, a model of the official client, a collection of them, or a plain value. Times are not
            changed; the client encodes them.
        defaults: Whether to include fields that have the default of their class. If not, the server uses its own
            defaults, and an apply does not own the fields.
    """
    if isinstance(value, msgspec.Struct):
        return _written_struct(value, defaults)
    if isinstance(value, Mapping):
        return {name: written(item, defaults=defaults) for name, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        items = [written(item, defaults=defaults) for item in value]
        return sorted(items) if isinstance(value, set | frozenset) else items  # in an order that does not change
    if isinstance(value, enum.Enum):
        return value.value
    if is_model(value):
        return written(fields_of(value, defaults=defaults))
    if attrs.has(type(value)) or dataclasses.is_dataclass(value):
        return _written_class(value, defaults)
    if isinstance(value, str | int | float | bool | datetime) or value is None:
        return value
    return msgspec.to_builtins(value, builtin_types=(datetime,))


def _written_struct(value: msgspec.Struct, defaults: bool) -> dict[str, Any]:
    omits = (value.__struct_config__.omit_defaults and not defaults) or isinstance(value, ObjectMeta)
    made: dict[str, Any] = {}
    for field in _fields(type(value)):
        item = getattr(value, field.name)
        if item is msgspec.UNSET or (item is None and not field.required) or (omits and _is_default(item, field)):
            continue
        made[field.encode_name] = written(item, defaults=defaults)
    if isinstance(value, ObjectMeta):
        return {name: item for name, item in made.items() if name not in _OF_THE_SERVER}
    return Whole(made) if isinstance(value, Condition | OwnerReference) else made


@functools.lru_cache(maxsize=1024)
def _fields(cls: type[msgspec.Struct]) -> tuple[msgspec.structs.FieldInfo, ...]:
    """Return the fields of a class; cached, since msgspec evaluates the annotations of all its bases at each call."""
    return msgspec.structs.fields(cls)


def _is_default(item: Any, field: msgspec.structs.FieldInfo | inspect.Field) -> bool:
    if field.default_factory is not msgspec.NODEFAULT:
        default = field.default_factory()
    elif field.default is not msgspec.NODEFAULT:
        default = field.default
    else:
        return False
    return type(item) is type(default) and bool(item == default)


def _written_class(value: Any, defaults: bool) -> dict[str, Any]:
    """Return the fields of an attrs class or a dataclass, whose names are those of the API."""
    made: dict[str, Any] = {}
    shape = inspect.type_info(type(value))
    assert isinstance(shape, inspect.DataclassType), "attrs classes and dataclasses are both of this type"
    for field in shape.fields:
        item = getattr(value, field.name)
        if (item is None and not field.required) or (not defaults and _is_default(item, field)):
            continue
        made[field.encode_name] = written(item, defaults=defaults)
    return made

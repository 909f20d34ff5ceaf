# SPDX-License-Identifier: Apache-2.0
"""From an object's bytes to the class its reader wants.

A class of one's own that declares just the fields it reads is the cheapest, and the
most dangerous: a field that no object has would silently read as its default. So its
fields are held against the kind's schema when the decoder is made.
"""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, cast

import msgspec
from msgspec import inspect

from controller_runtime.api.objects import cached_from_bytes
from controller_runtime.api.resources import Resource
from controller_runtime.api.schema import Schema, schema_for
from controller_runtime.core.errors import UNREADABLE, DecodeError

T = TypeVar("T")

Decoder = Callable[[bytes], T]

_PARTIAL = ("kind", "apiVersion", "metadata")
_MODEL_NAME = re.compile(r"[A-Za-z]*?V\d+(?:(?:alpha|beta)\d+)?([A-Z]\w*)")


def decoder_for(view: type[T] | None, resource: Resource[T] | Resource[Any]) -> Decoder[T]:
    """What decodes objects of `resource` into `view`; each call gives a new object, the caller's own.

    Args:
        view: `dict`; a model of the official client; a `msgspec.Struct`, an attrs class or
            a dataclass with the fields one reads, by their names on the wire or renamed
            (`rename="camel"`). None is the resource's own class.
        resource: The collection; its kind says which fields there can be.

    Returns:
        A function of the object's JSON that raises `DecodeError`, naming the object.

    Raises:
        ValueError: `view` has fields that objects of this kind cannot have, is a model of
            another kind, or is a class that cannot be decoded at all.
    """
    chosen: Any = resource.default_view() if view is None else view
    return cast("Decoder[T]", _decoder_for(chosen, resource))


@functools.lru_cache
def _decoder_for(chosen: type[Any], resource: Resource[Any]) -> Decoder[Any]:
    """Made once for a class: to look at all its fields takes a hundred microseconds, and each read by a client asks."""
    if hasattr(chosen, "model_validate_json"):
        _refuse_other_models(chosen, resource)
        return _naming(_model_decoder(chosen))
    try:
        decode = msgspec.json.Decoder(dict[str, Any] if chosen is dict else chosen).decode
        shape = inspect.type_info(chosen)
    except (TypeError, NameError) as error:  # a class inside a function cannot name its neighbours
        raise ValueError(f"{chosen.__name__} cannot be a view of {resource}: {error}") from error
    if not isinstance(shape, _OBJECTS):
        raise ValueError(f"{chosen.__name__} cannot be a view of {resource}: it is no class with fields")
    _refuse_what_is_not_served(shape, resource)
    schema = schema_for(resource.group, resource.version, resource.kind)
    if schema is not None:
        for mismatch in _mismatches(shape, schema, resource.kind):
            raise ValueError(mismatch)
    return _naming(decode)


def _refuse_what_is_not_served(shape: inspect.Type, resource: Resource[Any]) -> None:
    if resource.is_partial and isinstance(shape, _Fields):
        for field in shape.fields:
            if field.encode_name not in _PARTIAL:
                name = f"{shape.cls.__name__}.{field.name}"
                raise ValueError(f"{name} reads {field.encode_name!r}, which {resource} does not have")


def _model_decoder(model: Any) -> Decoder[Any]:
    # A server newer than the client sends fields that the models do not know.
    return lambda raw: model.model_validate_json(raw, extra="ignore")


def _naming(decode: Decoder[T]) -> Decoder[T]:
    def decode_or_name(raw: bytes) -> T:
        try:
            return decode(raw)
        except UNREADABLE as error:
            raise DecodeError(f"{cached_from_bytes(raw).key}: {error}") from error

    return decode_or_name


def _refuse_other_models(model: type, resource: Resource[Any]) -> None:
    """The models ignore what they do not know, so one of another kind might read as empty."""
    if resource.is_partial:
        raise ValueError(f"{model.__name__} reads more than {resource} has")
    official = next((base for base in model.__mro__ if base.__module__.partition(".")[0] == "kubernetes"), None)
    if official is None:
        raise ValueError(
            f"{model.__name__} is no model of the official client: make it a msgspec.Struct to use it as a view"
        )
    name = _MODEL_NAME.fullmatch(official.__name__)
    if name is None or name[1] != resource.kind:
        raise ValueError(f"{model.__name__} is not a model of {resource.kind}, the kind of {resource}")


_Fields = inspect.StructType | inspect.DataclassType | inspect.TypedDictType
_LISTS = (inspect.ListType, inspect.SetType, inspect.FrozenSetType, inspect.VarTupleType)
_ARRAYS = (*_LISTS, inspect.TupleType, inspect.NamedTupleType)
_OBJECTS = (inspect.StructType, inspect.DataclassType, inspect.TypedDictType, inspect.DictType)
_NUMBERS = (inspect.IntType, inspect.FloatType, inspect.DecimalType, inspect.EnumType, inspect.LiteralType)
_ANYTHING = (inspect.NoneType, inspect.AnyType, inspect.RawType, inspect.CustomType, inspect.ExtType)


def _mismatches(shape: inspect.Type, schema: Schema, where: str) -> Iterator[str]:
    """What in `shape` no object could fill, in words; nothing where the schema leaves it open."""
    match shape:
        case inspect.UnionType(types=types):
            for one in types:
                yield from _mismatches(one, schema, where)
        case inspect.Metadata(type=inner):
            yield from _mismatches(inner, schema, where)
        case _ if isinstance(shape, _ANYTHING) or not schema.type:
            return
        case _ if not _fits(shape, schema):
            yield f"{where} is of type {schema.type}, which cannot be read as {_type_name(shape)}"
        case inspect.StructType() | inspect.DataclassType() | inspect.TypedDictType() if schema.properties:
            for field in shape.fields:
                yield from _field_mismatches(shape, field, schema, where)
        case inspect.DictType(value_type=inner) if schema.additional is not None:
            yield from _mismatches(inner, schema.additional, f"{where}[…]")
        case _ if isinstance(shape, _LISTS) and schema.items is not None:
            yield from _mismatches(shape.item_type, schema.items, f"{where}[]")


def _fits(shape: inspect.Type, schema: Schema) -> bool:
    match schema.type:
        case "object":
            return isinstance(shape, _OBJECTS)
        case "array":
            return isinstance(shape, _ARRAYS)
        case "boolean":
            return isinstance(shape, inspect.BoolType)
        case "integer" | "number":
            return isinstance(shape, _NUMBERS)
        case _ if schema.format == "int-or-string":
            return not isinstance(shape, (*_OBJECTS, *_ARRAYS))
        case _:  # text, and the many things that are written as text
            return not isinstance(shape, (*_OBJECTS, *_ARRAYS, inspect.BoolType, inspect.IntType, inspect.FloatType))


def _field_mismatches(shape: _Fields, field: inspect.Field, schema: Schema, where: str) -> Iterator[str]:
    wire = field.encode_name
    known = schema.properties.get(wire)
    if known is not None:
        yield from _mismatches(field.type, known, f"{where}.{wire}")
        return
    text = f"{shape.cls.__name__}.{field.name} reads {wire!r}, which {where} does not have"
    nearest = _nearest(wire, [*schema.properties])
    yield f"{text}; did you mean {nearest!r}?" if nearest else text


def _nearest(wire: str, names: list[str]) -> str:
    plain = {name.lower(): name for name in names}
    close = difflib.get_close_matches(wire.lower().replace("_", ""), plain, n=1)
    return plain[close[0]] if close else ""


def _type_name(shape: inspect.Type) -> str:
    if isinstance(shape, (inspect.StructType, inspect.DataclassType, inspect.TypedDictType)):
        return shape.cls.__name__
    return type(shape).__name__.removesuffix("Type").lower()

# SPDX-License-Identifier: Apache-2.0
"""Decodes an object's bytes into a class that its reader chooses, called the view.

The cheapest view is a class that declares only the fields that its reader needs. It is also the most error-prone: a
misspelt field would silently read as its default. So when a decoder is made, the fields of its view are compared with
the schema of the kind.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, cast

from msgspec import inspect

from apimachinery.decoding import decoder_of
from apimachinery.errors import UNREADABLE
from apimachinery.models import is_model, model_decoder, model_of, official_base
from apimachinery.objects import cached_from_bytes
from apimachinery.schema import Schema, schema_for
from controller_runtime.api.resources import Resource
from controller_runtime.api.unreadable import UnreadableObject

T = TypeVar("T")

Decoder = Callable[[bytes], T]
"""Decodes one object's JSON; raises `UnreadableObject`, a `DecodeError`."""

# The fields that an object has of which only the metadata is served.
_PARTIAL = ("kind", "apiVersion", "metadata")
# Matches the class names of the official client's models, such as V1Node and V1beta1LeaseCandidate; finds the kind.
_MODEL_NAME = re.compile(r"[A-Za-z]*?V\d+(?:(?:alpha|beta)\d+)?([A-Z]\w*)")


def decoder_for(view: type[T] | None, resource: Resource[T] | Resource[Any]) -> Decoder[T]:
    """Return a function that decodes objects of `resource` into `view`.

    Args:
        view: `dict`; a model of the official client; or a `msgspec.Struct`, an attrs class or a
            dataclass that declares the fields to read, under their names on the wire or renamed
            (`rename="camel"`). None selects the default class of `resource`.
        resource: The collection. The schema of its kind says which fields an object can have.

    Returns:
        A function from an object's JSON to a new instance, which its caller may change. It raises
        `UnreadableObject` with the object and what is wrong with it.

    Raises:
        ValueError: `view` has a field that objects of this kind cannot have, is a model of
            another kind, or is a class into which nothing can be decoded.
    """
    chosen: Any = resource.default_view() if view is None else view
    return cast("Decoder[T]", _decoder_for(chosen, resource))


@functools.lru_cache
def _decoder_for(chosen: type[Any], resource: Resource[Any]) -> Decoder[Any]:
    """Return the decoder of one class; cached, as a client asks at each read and checking the fields takes 100 µs."""
    if is_model(chosen):
        _refuse_other_models(chosen, resource)
        return _naming(model_decoder(chosen), resource)
    try:
        decode: Decoder[Any] = decoder_of(dict[str, Any] if chosen is dict else chosen, _decoded_part)
        shape = inspect.type_info(chosen)
    except (TypeError, NameError) as error:  # NameError: an annotation names a class that is local to a function
        raise ValueError(f"{chosen.__name__} cannot be a view of {resource}: {error}") from error
    if not isinstance(shape, _OBJECTS):
        raise ValueError(f"{chosen.__name__} cannot be a view of {resource}: it is not a class with fields")
    _refuse_what_is_not_served(shape, resource)
    schema = schema_for(resource.group, resource.version, resource.kind)
    if schema is not None:
        for mismatch in _mismatches(shape, schema, resource.kind):
            raise ValueError(mismatch)
    return _naming(decode, resource)


def _refuse_what_is_not_served(shape: inspect.Type, resource: Resource[Any]) -> None:
    """Raise ValueError if the view reads more than metadata of a collection that has nothing else."""
    if resource.is_partial and isinstance(shape, _Fields):
        for field in shape.fields:
            if field.encode_name not in _PARTIAL:
                name = f"{shape.cls.__name__}.{field.name}"
                raise ValueError(f"{name} reads {field.encode_name!r}, which {resource} does not have")


def _decoded_part(cls: Any, value: Any) -> Any:
    """Return a part of an object as a class that msgspec leaves to others: a model of the official client or pydantic.

    Raises:
        NotImplementedError: The class is not such a model.
    """
    if not is_model(cls):
        raise NotImplementedError(f"objects of {cls.__name__} cannot be decoded; make it a msgspec.Struct")
    return model_of(cls, value)


def _naming(decode: Decoder[T], resource: Resource[Any]) -> Decoder[T]:
    """Return the decoder with its errors turned into `UnreadableObject`."""

    def decode_or_name(raw: bytes) -> T:
        try:
            return decode(raw)
        except UNREADABLE as error:
            # The decoder's text is Expected `int`, got `str` - at `$.spec.beds`; that of a model has several lines.
            reason = " ".join(str(error).replace("`", "").replace(" - at ", " at ").split())
            raise UnreadableObject(resource, cached_from_bytes(raw), reason) from error

    return decode_or_name


def _refuse_other_models(model: type, resource: Resource[Any]) -> None:
    """Raise ValueError for a model of another kind: models ignore unknown fields, so it would decode as empty."""
    if resource.is_partial:
        raise ValueError(f"{model.__name__} reads more than {resource} has")
    official = official_base(model)
    if official is None:
        raise ValueError(
            f"{model.__name__} is not a model of the official client: make it a msgspec.Struct to use it as a view"
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
    """Yield a message for each part of `shape` that no object of this schema can have.

    Parts for which the schema says nothing are accepted.

    Args:
        shape: The view, or the type of a field inside it.
        schema: The schema at the same place.
        where: That place, such as Node.spec, for the messages.
    """
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
    """Return whether values of the schema's type can be decoded into `shape`, without a look inside it."""
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
        case _:  # strings; views may read one as a date, a duration, bytes or an enum
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
    """Return the name that is most like a misspelt one; empty if none is."""
    plain = {name.lower(): name for name in names}
    import difflib  # only for messages

    close = difflib.get_close_matches(wire.lower().replace("_", ""), plain, n=1)
    return plain[close[0]] if close else ""


def _type_name(shape: inspect.Type) -> str:
    if isinstance(shape, (inspect.StructType, inspect.DataclassType, inspect.TypedDictType)):
        return shape.cls.__name__
    return type(shape).__name__.removesuffix("Type").lower()

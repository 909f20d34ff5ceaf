# SPDX-License-Identifier: Apache-2.0
"""Makes the structural schema of a class, in which a server finds types, constraints and defaults.

`msgspec.inspect` lists the types and constraints of a class, so that the schema and the decoder cannot disagree. The
schemas that `msgspec.json.schema` makes are of no use here: a server refuses their references and bounds.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec
from msgspec import inspect

from apimachinery.objects import ObjectMeta
from controller_runtime.crd.descriptions import described_fields, description_of
from controller_runtime.crd.official import EMBEDDED_METADATA, is_official, official_schema
from controller_runtime.crd.patterns import problem_of
from controller_runtime.crd.pydantic_models import is_pydantic, pydantic_schema
from controller_runtime.crd.rules import RULE_KEY, Rule
from controller_runtime.crd.writing import written

RawSchema = dict[str, Any]
"""A schema as a definition has it."""

_MIXED_ENUM = "the values of an enum must all be texts, or all be whole numbers"
PRESERVES = "x-kubernetes-preserve-unknown-fields"
INT_OR_STRING: Mapping[str, Any] = {
    "anyOf": [{"type": "integer"}, {"type": "string"}],
    "x-kubernetes-int-or-string": True,
}
_Fields = inspect.StructType | inspect.DataclassType | inspect.TypedDictType
_Lists = inspect.ListType | inspect.VarTupleType
_Sets = inspect.SetType | inspect.FrozenSetType
_EMPTY: tuple[object, ...] = (None, "", b"", [], {}, set(), frozenset(), ())
_SIMPLE: Mapping[type[inspect.Type], RawSchema] = {
    inspect.AnyType: {PRESERVES: True},
    inspect.RawType: {PRESERVES: True},
    inspect.BoolType: {"type": "boolean"},
    inspect.DateTimeType: {"type": "string", "format": "date-time"},
    inspect.DateType: {"type": "string", "format": "date"},
    inspect.UUIDType: {"type": "string", "format": "uuid"},
}
# Types that msgspec writes in another way than Kubernetes does, with the type to use.
_INSTEAD: Mapping[type[inspect.Type], str] = {
    inspect.TimeDeltaType: "Duration, a text such as '1h30m'",
    inspect.DecimalType: "Quantity, or a text",
    inspect.TimeType: "a text",
    inspect.NamedTupleType: "a class with fields",
    inspect.TupleType: "a list, or a class with fields",
    inspect.ExtType: "JSONObject",
}


class _Place(NamedTuple):
    """The place of a type: its path for messages, and the classes that contain it."""

    path: str
    classes: tuple[object, ...] = ()

    def below(self, step: str) -> _Place:
        return _Place(self.path + step, self.classes)

    def inside(self, cls: object) -> _Place:
        if cls in self.classes:
            raise ValueError(
                f"{self.path} is of {_name(cls)}, which contains it: a structural schema cannot be recursive; make the "
                "inner field a JSONObject"
            )
        return _Place(self.path, (*self.classes, cls))


def schema_of_type(cls: Any, path: str) -> RawSchema:
    """Return the structural schema of a class or an annotated type.

    Args:
        cls: A `msgspec.Struct`, an attrs class, a dataclass, a model of the official client or of pydantic, or any type
            that such a class may have as a field.
        path: The name with which error messages begin.

    Raises:
        ValueError: A part has no structural schema; the message has its path and the type to declare instead.
    """
    try:
        shape = inspect.type_info(cls)
    except NameError as error:
        raise ValueError(f"{path}: {error}; define it in the module, before the class that names it") from error
    except TypeError as error:
        # msgspec before 0.22 sorts the values of a `Literal`, which fails for texts beside numbers.
        text = _MIXED_ENUM if "not supported between instances of" in str(error) else error
        raise ValueError(f"{path}: {text}") from error
    return _schema(shape, _Place(path))


def _schema(shape: inspect.Type, place: _Place) -> RawSchema:
    """Return the schema of one type; None in a union makes it nullable, which `_field_schema` may take back."""
    match shape:
        case inspect.Metadata(type=inner):
            return _with_metadata(_schema(inner, place), shape, place)
        case inspect.UnionType(types=types):
            return _union_schema(types, place)
        case inspect.IntType() | inspect.FloatType():
            return _number_schema(shape)
        case inspect.StrType() | inspect.BytesType() | inspect.ByteArrayType():
            return _text_schema(shape, place)
        case inspect.EnumType(cls=cls):
            return _enum_schema([member.value for member in cls], place)
        case inspect.LiteralType(values=values):
            return _enum_schema(list(values), place)
        case inspect.ListType() | inspect.VarTupleType() | inspect.SetType() | inspect.FrozenSetType():
            return _list_schema(shape, place)
        case inspect.DictType():
            return _map_schema(shape, place)
        case inspect.StructType() | inspect.DataclassType() | inspect.TypedDictType():
            return _object_schema(shape, place)
        case inspect.CustomType(cls=cls):
            return _class_schema(cls, place)
        case _ if type(shape) in _SIMPLE:
            return {**_SIMPLE[type(shape)]}
    instead = _INSTEAD.get(type(shape))
    kind = type(shape).__name__.removesuffix("Type")
    raise ValueError(f"{place.path}: {kind} has no structural schema" + (f"; declare {instead}" if instead else ""))


def _with_metadata(schema: RawSchema, shape: inspect.Metadata, place: _Place) -> RawSchema:
    """Return a schema with what its annotations add: keywords, texts and rules."""
    keywords = {**(shape.extra_json_schema or {})}
    keywords.pop("examples", None)  # a definition has no such keyword
    if problem := problem_of(keywords.get("pattern")):
        raise ValueError(f"{place.path}: the pattern {keywords['pattern']!r} {problem}")
    rules = [rule.body() for rule in (shape.extra or {}).values() if isinstance(rule, Rule)]
    made = {**schema, **keywords}
    if made.get("x-kubernetes-embedded-resource") and not made.get("properties"):
        made[PRESERVES] = True
    return {**made, RULE_KEY: [*made.get(RULE_KEY, ()), *rules]} if rules else made


def _union_schema(types: tuple[inspect.Type, ...], place: _Place) -> RawSchema:
    """Return the schema of one type or null, of an integer or text, or of any number; other unions have none."""
    some = [one for one in types if not isinstance(one, inspect.NoneType)]
    nullable = {"nullable": True} if len(some) < len(types) else {}
    kinds = {type(one) for one in some}
    if len(some) == 1:
        return {**_schema(some[0], place), **nullable}
    if kinds == {inspect.IntType, inspect.StrType}:
        return {**INT_OR_STRING, **nullable}
    if kinds == {inspect.IntType, inspect.FloatType}:
        return {"type": "number", **nullable}
    names = " | ".join(sorted(kind.__name__.removesuffix("Type") for kind in kinds))
    raise ValueError(
        f"{place.path}: a union of {names} has no structural schema; declare a class with an optional field for each"
    )


def _number_schema(shape: inspect.IntType | inspect.FloatType) -> RawSchema:
    schema: RawSchema = {"type": "number"}
    if isinstance(shape, inspect.IntType):
        schema = {"type": "integer"}
    lower, upper = (shape.ge, shape.gt), (shape.le, shape.lt)
    for (inclusive, exclusive), name in ((lower, "inimum"), (upper, "aximum")):
        if inclusive is not None or exclusive is not None:
            schema[f"m{name}"] = inclusive if exclusive is None else exclusive
        if exclusive is not None:
            schema[f"exclusiveM{name}"] = True  # in a definition it says how to read the bound, and is no number
    if shape.multiple_of is not None:
        schema["multipleOf"] = shape.multiple_of
    return schema


def _text_schema(shape: inspect.StrType | inspect.BytesType | inspect.ByteArrayType, place: _Place) -> RawSchema:
    if not isinstance(shape, inspect.StrType):
        return {"type": "string", "format": "byte"}
    if problem := problem_of(shape.pattern):
        raise ValueError(f"{place.path}: the pattern {shape.pattern!r} {problem}")
    bounds = {"minLength": shape.min_length, "maxLength": shape.max_length, "pattern": shape.pattern}
    return {"type": "string", **_given(bounds)}


def _enum_schema(values: list[Any], place: _Place) -> RawSchema:
    """Return the schema of the values of an enum or a `Literal`."""
    nullable = {"nullable": True} if None in values else {}
    some = [value for value in values if value is not None]
    for type_, name in ((str, "string"), (int, "integer")):
        if all(isinstance(value, type_) for value in some):
            return {"type": name, "enum": some, **nullable}
    raise ValueError(f"{place.path}: {_MIXED_ENUM}")


def _list_schema(shape: _Lists | _Sets, place: _Place) -> RawSchema:
    bounds = {"minItems": shape.min_length, "maxItems": shape.max_length}
    schema: RawSchema = {"type": "array", "items": _schema(shape.item_type, place.below("[]")), **_given(bounds)}
    if isinstance(shape, _Sets):
        schema["x-kubernetes-list-type"] = "set"
    return schema


def _map_schema(shape: inspect.DictType, place: _Place) -> RawSchema:
    if not isinstance(shape.key_type, inspect.StrType | inspect.AnyType):
        raise ValueError(f"{place.path}: the keys of a map are texts in JSON: declare dict[str, …]")
    bounds = _given({"minProperties": shape.min_length, "maxProperties": shape.max_length})
    if isinstance(shape.value_type, inspect.AnyType):
        return {"type": "object", PRESERVES: True, **bounds}
    return {"type": "object", "additionalProperties": _schema(shape.value_type, place.below("[…]")), **bounds}


def _class_schema(cls: type, place: _Place) -> RawSchema:
    """Return the schema of a class that msgspec does not know itself."""
    if is_official(cls):
        return official_schema(cls, place.path)
    if is_pydantic(cls):
        return pydantic_schema(cls, place.path)
    raise ValueError(f"{place.path}: {_name(cls)} is not a class with fields; make it a Struct")


def _object_schema(shape: _Fields, place: _Place) -> RawSchema:
    cls = shape.cls
    if cls is ObjectMeta:
        return {**EMBEDDED_METADATA}
    _refuse_special_structs(shape, place)
    inner = place.inside(cls)
    texts = described_fields(cls)
    properties: dict[str, RawSchema] = {}
    for each in shape.fields:
        here = inner.below(f".{each.encode_name}")
        if each.encode_name == each.name and "_" in each.name.strip("_"):
            raise ValueError(
                f"{here.path}: {_name(cls)}.{each.name} would be written with an underscore; derive {_name(cls)} from "
                "Struct, or spell the field as the API does"
            )
        properties[each.encode_name] = _field_schema(each, here, texts.get(each.name, ""))
    schema: RawSchema = {"type": "object"}
    if text := description_of(cls):
        schema["description"] = text
    if properties:
        schema["properties"] = properties
    if needed := sorted(each.encode_name for each in shape.fields if each.required):
        schema["required"] = needed
    return schema


def _refuse_special_structs(shape: _Fields, place: _Place) -> None:
    if not isinstance(shape, inspect.StructType):
        return
    name = _name(shape.cls)
    if shape.tag is not None:
        raise ValueError(f"{place.path}: {name} has a tag, which no field of the schema would hold; remove the tag")
    if shape.array_like:
        raise ValueError(f"{place.path}: {name} is written as a list; remove array_like")
    if shape.forbid_unknown_fields:
        raise ValueError(
            f"{place.path}: {name} forbids unknown fields, so it could not read objects of a newer definition; remove "
            "forbid_unknown_fields"
        )


def _field_schema(field: inspect.Field, place: _Place, text: str) -> RawSchema:
    schema = _schema(field.type, place)
    # An optional field that is None is absent. It can also be null only if that is said.
    if not field.required and not _is_said_nullable(field.type):
        schema.pop("nullable", None)
    if text and "description" not in schema:
        schema["description"] = text
    for default in _default_of(field):
        schema["default"] = default
    return schema


def _is_said_nullable(shape: inspect.Type) -> bool:
    return isinstance(shape, inspect.Metadata) and bool((shape.extra_json_schema or {}).get("nullable"))


def _default_of(field: inspect.Field) -> Iterator[Any]:
    """Yield the default of a field, if a server should fill it in.

    None and empty texts and collections are how a class says that the field is absent, so they are not defaults.
    """
    if field.default_factory is not msgspec.NODEFAULT:
        value = field.default_factory()
    elif field.default is not msgspec.NODEFAULT:
        value = field.default
    else:
        return
    if isinstance(value, enum.Enum):
        yield value.value
    elif value is not msgspec.UNSET and not any(type(value) is type(empty) and value == empty for empty in _EMPTY):
        yield written(value)


def _given(bounds: Mapping[str, Any]) -> RawSchema:
    return {name: value for name, value in bounds.items() if value is not None}


def _name(cls: object) -> str:
    return getattr(cls, "__name__", str(cls))

# SPDX-License-Identifier: Apache-2.0
"""Models of the official client, read and written in the same way whichever generation of it is installed.

Its releases from 37 on have models of pydantic. Those before have plain classes that list their attributes: the type
of each in `openapi_types`, such as `dict(str, list[V1Pod])`, and its name in the API in `attribute_map`. The two are
told apart by what a class offers. The client itself is not imported here, and models of other clients that are made by
either generator are read and written as well.
"""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from types import SimpleNamespace
from typing import Any

import msgspec

from apimachinery.errors import UNREADABLE

Reader = Callable[[Any], Any]
"""Makes a value of JSON into that of a model's attribute; raises ValueError with the place of a fault."""


def is_model(value: object) -> bool:
    """Return whether `value` is a model of the official client or of pydantic: a class, or an instance of one."""
    return hasattr(value, "model_dump") or (hasattr(value, "openapi_types") and hasattr(value, "attribute_map"))


def official_base(cls: type) -> type | None:
    """Return the model of the official client that `cls` is or derives from; None if there is no such model."""
    return next((base for base in cls.__mro__ if base.__module__.partition(".")[0] == "kubernetes"), None)


def model_decoder(model: Any) -> Callable[[bytes], Any]:
    """Return a function that decodes JSON into `model`, and ignores fields that the model does not have.

    A newer server may send such fields. The returned function raises ValueError for JSON that does not match the model.
    """
    if hasattr(model, "model_validate_json"):
        return lambda raw: model.model_validate_json(raw, extra="ignore")
    read = _reader_of(model)
    return lambda raw: read(msgspec.json.decode(raw))


def model_of(model: Any, value: Any) -> Any:
    """Return a decoded JSON value as an instance of `model`, without fields that the model lacks; `value` may contain
    datetimes.

    Raises:
        ValueError: The value does not match the model.
    """
    return model.model_validate(value, extra="ignore") if hasattr(model, "model_validate") else _reader_of(model)(value)


def fields_of(obj: Any, *, defaults: bool = True) -> dict[str, Any]:
    """Return the fields of a model as a dict by their API names, without those that are None.

    Args:
        obj: The model. Nested models become dicts too; datetimes are not converted.
        defaults: False to leave out fields that have the default value of their class. Only pydantic models have such
            defaults.
    """
    if hasattr(obj, "model_dump"):
        made: dict[str, Any] = obj.model_dump(by_alias=True, exclude_none=True, exclude_defaults=not defaults)
        return made
    given = ((name, getattr(obj, attribute)) for attribute, name in obj.attribute_map.items())
    return {name: _written(value) for name, value in given if value is not None}


def json_of(obj: Any) -> dict[str, Any]:
    """Return the fields of a model as a JSON object: like `fields_of`, with times as texts."""
    if hasattr(obj, "model_dump"):
        made: dict[str, Any] = obj.model_dump(mode="json", by_alias=True, exclude_none=True)
        return made
    plain: dict[str, Any] = msgspec.to_builtins(fields_of(obj))
    return plain


def _written(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _written(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_written(item) for item in value]
    return fields_of(value) if is_model(value) else value


# Given to each model of the older generator, which would otherwise make a whole configuration of the client for itself:
# 60 µs each, and the levels of two loggers set.
_VALIDATING = SimpleNamespace(client_side_validation=True)
# The types of `openapi_types`, in the two ways in which releases before 37 write those of dicts.
_LIST = re.compile(r"list\[(.+)\]")
_DICT = re.compile(r"dict[(\[]str, (.+)[)\]]")


@functools.cache
def _reader_of(model: Any) -> Reader:
    """Return the function that makes models of a class of the older generator."""
    generated = next(base for base in model.__mro__ if "openapi_types" in vars(base))
    own = importlib.import_module(generated.__module__)
    others = importlib.import_module(own.__name__.rpartition(".")[0] or own.__name__)  # each has a module of its own
    names: Mapping[str, str] = model.attribute_map
    # The readers of fields are looked up at the first object, as a kind may contain itself.
    readers = functools.cache(
        lambda: [(each, names[each], _reader(text, (own, others))) for each, text in model.openapi_types.items()]
    )

    def read(value: Any) -> Any:
        if not isinstance(value, Mapping):
            raise ValueError(f"expected an object, got {_described(value)}")
        given: dict[str, Any] = {}
        for attribute, name, reader in readers():
            if value.get(name) is not None:
                given[attribute] = _at(name, reader, value[name])
        return model(**given, local_vars_configuration=_VALIDATING)

    return read


def _reader(text: str, modules: Sequence[Any]) -> Reader:
    """Return the function that reads a value of a type, as `openapi_types` writes it.

    Args:
        text: The type.
        modules: Those that may have the class that it names.
    """
    if found := _LIST.fullmatch(text):
        return functools.partial(_read_list, _reader(found[1], modules))
    if found := _DICT.fullmatch(text):
        return functools.partial(_read_dict, _reader(found[1], modules))
    if text == "object":
        return _as_it_is
    if text == "datetime":
        return _read_time
    if text in _SCALARS:
        return functools.partial(_read_scalar, text)
    model = next(getattr(module, text) for module in modules if hasattr(module, text))
    return lambda value: _reader_of(model)(value)  # when it is called: a kind may contain itself


def _as_it_is(value: Any) -> Any:
    return value


def _read_list(reader: Reader, value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"expected a list, got {_described(value)}")
    return [None if item is None else _at(f"[{i}]", reader, item) for i, item in enumerate(value)]


def _read_dict(reader: Reader, value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError(f"expected an object, got {_described(value)}")
    return {name: None if item is None else _at(f"[{name}]", reader, item) for name, item in value.items()}


_SCALARS: Mapping[str, tuple[type, ...]] = {"str": (str,), "int": (int,), "bool": (bool,), "float": (float, int)}


def _read_scalar(text: str, value: Any) -> Any:
    if not isinstance(value, _SCALARS[text]) or (isinstance(value, bool) and text != "bool"):
        raise ValueError(f"expected {text}, got {_described(value)}")
    return value


def _read_time(value: Any) -> datetime:
    if isinstance(value, datetime):  # as a program writes it into a dict
        return value
    if not isinstance(value, str):
        raise ValueError(f"expected a time, got {_described(value)}")
    return datetime.fromisoformat(value)


def _described(value: Any) -> str:
    return type(value).__name__


class _Misfit(ValueError):
    """A value of JSON does not fit a model; the message begins with the steps that lead to it."""

    def __init__(self, reason: str, steps: tuple[str, ...]) -> None:
        super().__init__(f"{'.'.join(steps).replace('.[', '[')}: {reason}")
        self.reason = reason
        self.steps = steps


def _at(step: str, reader: Reader, value: Any) -> Any:
    """Return what the reader makes of a part; if the part does not fit, raise an error with its place."""
    try:
        return reader(value)
    except _Misfit as error:
        raise _Misfit(error.reason, (step, *error.steps)) from None
    except UNREADABLE as error:
        raise _Misfit(str(error), (step,)) from error

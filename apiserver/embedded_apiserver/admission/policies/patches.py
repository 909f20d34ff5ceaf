# SPDX-License-Identifier: Apache-2.0
"""Applies the configurations and patches of policies, with a real API server's words for those that do not apply."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import msgspec

from apimachinery.schema import Schema
from embedded_apiserver.admission.policies.expressions import Failed
from embedded_apiserver.admission.policies.patched_heads import custom, other_version, unconvertible
from embedded_apiserver.admission.webhooks.patches import words_for
from embedded_apiserver.bounds import MOST_VALUES, abbreviated, told, values_in
from embedded_apiserver.groups.parts import SCALE
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.objects import Object
from embedded_apiserver.status import internal
from embedded_apiserver.typed import mismatches
from embedded_apiserver.typed.body import reread, strictly_reread
from embedded_apiserver.typed.fieldset import Path, field_step, text_of
from embedded_apiserver.typed.fieldtree import child_of, merged, step_to
from embedded_apiserver.typed.jsonpatch import MAX_OPERATIONS, Inapplicable, Missing, Patched, PatchOperation
from embedded_apiserver.typed.jsonpatch import operations_in as read
from embedded_apiserver.typed.shape import Misshapen

_HEAD = ("kind", "apiVersion")
_NUMBER = "expected numeric (int or float), got structpb.NullValue"
_NULLS = {
    "object": "expected map, got &{NULL_VALUE}",
    "array": "expected list, got &{NULL_VALUE}",
    "string": "expected string, got &value.valueUnstructured{Value:0}",
    "boolean": "expected boolean, got &{NULL_VALUE}",
    "integer": _NUMBER,
    "number": _NUMBER,
}


def applied_by_policy(kind: Kind, shown: Object, configuration: Object) -> Object:
    """Return the result of applying a policy's configuration to an object: decoded, without kind and apiVersion.

    Raises:
        Failed: The configuration does not match the schema of the kind, or sets a part of an atomic list, map or
            object.
        StatusError: 500, the result has too many values.
    """
    bare = {name: value for name, value in configuration.items() if name not in _HEAD}
    if kind is SCALE:
        text = f"no corresponding type for {kind.api_version}, Kind={kind.kind}"
        raise Failed(f"error applying patch: failed to convert patch object to typed object: {text}")
    first, more = told(chain(mismatches.errors(kind.schema, bare), _nulls(kind.schema, bare)))
    if first:
        errors = [*map(abbreviated, first), *([more] if more else [])]
        text = errors[0] if len(errors) == 1 else "\n  ".join(["errors:", *errors])
        raise Failed(f"error applying patch: failed to convert patch object to typed object: {text}")
    if atomics := list(_atomics(kind.schema, bare)):
        text = f"may not mutate atomic arrays, maps or structs: {', '.join(atomics)}"
        raise Failed(f"error applying patch: invalid ApplyConfiguration: {text}")
    target = merged(kind.schema, shown, bare)
    _check_size(target)
    try:
        return reread(kind, target, shown)
    except Misshapen as error:
        version = f"{'' if kind.group else '/'}{kind.api_version}, Kind={kind.kind}"
        raise Failed(f"unable to convert unstructured object to {version}: {error}") from error


def patched_by_policy(kind: Kind, shown: Object, operations: Sequence[Any]) -> Object:
    """Apply a policy's JSON patch to an object, and return the result.

    If a `test` operation finds another value, the patch changes nothing; if it finds no value, the patch fails.

    Args:
        kind: The kind of the object.
        shown: The object as the policy's expressions see it, with kind and apiVersion.
        operations: The operations of the patch.

    Returns:
        The changed object as values of its kind's types, without kind and apiVersion.

    Raises:
        Failed: The patch cannot be applied.
        StatusError: 500, the result is not an object of this kind, or has too many values; 422, a custom object has
            another kind.
    """
    steps = read(operations)
    if len(steps) > MAX_OPERATIONS:
        raise Failed(f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(steps)}")
    patched = Patched(dict(shown))
    for step in steps:
        try:
            patched.apply(step)
        except Inapplicable as error:
            if step.op == "test" and not isinstance(error, Missing):
                return {name: value for name, value in shown.items() if name not in _HEAD}
            raise Failed(f"JSON Patch: {_words(step, error)}") from error
    root, other = patched.root, None
    if kind.definition is not None:
        root = custom(kind, root)
    if type(root) is not dict:
        raise internal("couldn't get version/kind; json parse error: the patch leaves no object")
    if kind.definition is None:
        other = other_version(kind, root)
    _check_size(root)
    try:
        made, unknown = strictly_reread(other or kind, root, shown)
    except Misshapen as error:
        raise internal(str(error)) from error
    if unknown and kind.definition is None:
        raise internal(f"strict decoding error: {', '.join(unknown)}")
    if other is not None:
        raise unconvertible(other, kind)
    return made


def _words(step: PatchOperation, error: Inapplicable) -> str:
    if step.op == "test":
        return f"test operation does not apply: is missing path: {step.path}: missing value"
    return words_for(step, error)


def _check_size(obj: Object) -> None:
    if values_in(msgspec.json.encode(obj)) > MOST_VALUES:
        raise internal(f"the patched object has more than {MOST_VALUES} values")


def _nulls(schema: Schema | None, value: Any, path: Path = ()) -> Iterator[str]:
    """Yield the errors of nulls, which are values of no type when an expression makes them."""
    if schema is None:
        return
    if value is None:
        if (text := _NULLS.get(schema.type)) is not None:
            yield f"{text_of(path)}: {text}"
    elif type(value) is dict:
        for name, item in value.items():
            yield from _nulls(child_of(schema, name), item, (*path, field_step(name)))
    elif type(value) is list and schema.items is not None:
        for index, item in enumerate(value):
            step = step_to(schema, item) if schema.list_type in ("map", "set") else f"i:{index}"
            yield from _nulls(schema.items, item, (*path, step))


def _atomics(schema: Schema | None, value: Any, path: str = "") -> Iterator[str]:
    """Yield the paths of lists, maps and objects that have one owner as a whole.

    The values of a map are not looked at, as by a real API server.
    """
    if schema is None:
        return
    if type(value) is dict:
        if schema.map_type == "atomic":
            yield path
        for name, item in value.items():
            if name in schema.properties:
                yield from _atomics(child_of(schema, name), item, f"{path}.{name}")
    elif type(value) is list:
        if schema.list_type not in ("map", "set"):
            yield path
        for index, item in enumerate(value):
            yield from _atomics(schema.items, item, f"{path}[{index}]")

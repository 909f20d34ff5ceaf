# SPDX-License-Identifier: Apache-2.0
"""JSON patch, RFC 6902: a list of operations, each on the result of the one before.

Every container on the way to a change is copied and no other, so the object patched is
never modified and what stays is shared with it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from controller_runtime.apiserver import status

MAX_OPERATIONS = 10_000
MAX_COPIED = 3 * 1024 * 1024  # bytes of JSON that `copy` may add in all: a few of them could double an object each

_MISSING: Any = object()
Edit = Callable[[Any, str], Any]
"""Takes a container and the last step of a path; answers the container as it will be, never modifying it."""


class _Refused(Exception):
    """The operation does not fit the object."""


class _Operation(msgspec.Struct, gc=False):
    op: str
    path: str
    source: str | None = msgspec.field(default=None, name="from")
    value: Any = _MISSING


def apply(document: dict[str, Any], patch: Any) -> dict[str, Any]:
    """`document` with the operations of `patch` applied.

    Raises:
        StatusError: 400 for what is no list of operations, 413 for too many, 422 for one that
            does not fit the document, or leaves something that is no object.
    """
    try:
        operations = msgspec.convert(patch, list[_Operation])
    except msgspec.ValidationError as error:
        raise status.bad_request(f"error decoding patch: {error}") from error
    if len(operations) > MAX_OPERATIONS:
        raise status.too_large(
            f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(operations)}"
        )
    result: Any = document
    copied = 0
    try:
        for operation in operations:
            if operation.op == "copy":
                copied += len(msgspec.json.encode(_get(result, _source_of(operation))))
                if copied > MAX_COPIED:
                    raise _Refused("the copies of this patch are too large")
            result = _applied(result, operation)
        if type(result) is not dict:
            raise _Refused("the patch leaves no object")
    except _Refused as error:
        raise status.rejected() from error
    return result


def _applied(document: Any, operation: _Operation) -> Any:
    match operation.op:
        case "add":
            return _edit(document, operation.path, _adding(_value_of(operation)))
        case "replace":
            return _edit(document, operation.path, _replacing(_value_of(operation)))
        case "remove":
            return _edit(document, operation.path, _removed)
        case "copy":
            return _edit(document, operation.path, _adding(_get(document, _source_of(operation))))
        case "move":
            source = _source_of(operation)
            if operation.path.startswith(f"{source}/"):
                raise _Refused("nothing can be moved into itself")
            value = _get(document, source)
            return _edit(_edit(document, source, _removed), operation.path, _adding(value))
        case "test":
            if not same(_get(document, operation.path), _value_of(operation)):
                raise _Refused("the test failed")
            return document
    raise _Refused(f"unknown operation {operation.op!r}")


def _value_of(operation: _Operation) -> Any:
    if operation.value is _MISSING:
        raise _Refused(f"{operation.op} without a value")
    return operation.value


def _source_of(operation: _Operation) -> str:
    if operation.source is None:
        raise _Refused(f"{operation.op} without a source")
    return operation.source


def _steps(pointer: str) -> list[str]:
    if not pointer:
        return []
    if not pointer.startswith("/"):
        raise _Refused(f"{pointer!r} is no JSON pointer")
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer[1:].split("/")]


def _get(document: Any, pointer: str) -> Any:
    for step in _steps(pointer):
        document = _child(document, step)
    return document


def _child(container: Any, step: str) -> Any:
    if type(container) is dict and step in container:
        return container[step]
    if type(container) is list:
        return container[_index(step, len(container))]
    raise _Refused(f"there is no {step!r}")


def _index(step: str, length: int) -> int:
    if not (step.isascii() and step.isdigit()) or (step[0] == "0" and step != "0") or len(step) > 9:
        raise _Refused(f"{step!r} is no index")
    index = int(step)
    if index >= length:
        raise _Refused(f"index {index} is beyond the end")
    return index


def _edit(document: Any, pointer: str, edit: Edit) -> Any:
    steps = _steps(pointer)
    if not steps:  # the whole document, as the only child of nothing
        return edit({"": document}, "").get("")
    containers = [document]
    for step in steps[:-1]:
        containers.append(_child(containers[-1], step))
    new = edit(containers.pop(), steps[-1])
    for container, step in zip(reversed(containers), reversed(steps[:-1]), strict=True):
        new = _with(container, step, new)
    return new


def _with(container: Any, step: str, value: Any) -> Any:
    if type(container) is dict:
        return {**container, step: value}
    index = _index(step, len(container))
    return [*container[:index], value, *container[index + 1 :]]


def _adding(value: Any) -> Edit:
    def added(container: Any, step: str) -> Any:
        if type(container) is dict:
            return {**container, step: value}
        if type(container) is not list:
            raise _Refused(f"{step!r} cannot be added to what is no container")
        index = len(container) if step == "-" else _index(step, len(container) + 1)
        return [*container[:index], value, *container[index:]]

    return added


def _replacing(value: Any) -> Edit:
    def replaced(container: Any, step: str) -> Any:
        _child(container, step)
        return _with(container, step, value)

    return replaced


def _removed(container: Any, step: str) -> Any:
    _child(container, step)
    if type(container) is dict:
        return {name: item for name, item in container.items() if name != step}
    index = _index(step, len(container))
    return [*container[:index], *container[index + 1 :]]


def same(left: Any, right: Any) -> bool:
    """Whether two values are equal as JSON: numbers by value, true and 1 apart."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if type(left) is dict and type(right) is dict:
        return left.keys() == right.keys() and all(same(item, right[name]) for name, item in left.items())
    if type(left) is list and type(right) is list:
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right)

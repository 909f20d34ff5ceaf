# SPDX-License-Identifier: Apache-2.0
"""JSON patch: a list of operations, each on the result of the one before.

It is RFC 6902 as a real server reads it, which is more lenient: an absent member is null
to `replace`, `test` and `copy`, an absent value is null, and negative indices count from
the end. Only the whole document is less than there: it can be tested and replaced, no more.

Every container on the way to a change is copied and no other, so the object patched is
never modified and what stays is shared with it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec

from controller_runtime.apiserver import status

MAX_OPERATIONS = 10_000
MAX_COPIED = 3 * 1024 * 1024  # bytes of JSON that `copy` may add in all: a few of them could double an object each

_INDEX = re.compile(r"[+-]?[0-9]{1,9}")
Edit = Callable[[Any, str], Any]
"""Takes a container and the last step of a path; answers the container as it will be, never modifying it."""


class _Refused(Exception):
    """The operation does not fit the object."""


class _Operation(msgspec.Struct, gc=False):
    op: str | None = None
    path: str | None = None
    source: str | None = msgspec.field(default=None, name="from")
    value: Any = None


def apply(document: dict[str, Any], patch: Any) -> dict[str, Any]:
    """`document` with the operations of `patch` applied.

    Raises:
        StatusError: 400 for what is no list of operations, 413 for too many, 422 for one that
            does not fit the document, or leaves something that is no object.
    """
    try:
        operations = [one or _Operation() for one in msgspec.convert(patch, list[_Operation | None] | None) or ()]
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
    path, value = operation.path, operation.value
    if path is None:
        raise _Refused("there is no path")
    match operation.op:
        case "add":
            return _edit(document, path, _adding(value))
        case "replace" if not path:
            return value
        case "replace":
            return _edit(document, path, _replacing(value))
        case "remove":
            return _edit(document, path, _removed)
        case "copy":
            return _edit(document, path, _adding(_get(document, _source_of(operation))))
        case "move":
            source = _source_of(operation)
            moved = _get(document, source)
            return _edit(_edit(document, source, _removed), path, _adding(moved))
        case "test":
            if not same(_get(document, path) if path else document, value):
                raise _Refused("the test failed")
            return document
    raise _Refused(f"unknown operation {operation.op!r}")


def _source_of(operation: _Operation) -> str:
    if operation.source is None:
        raise _Refused(f"{operation.op} without a source")
    return operation.source


def _steps(pointer: str) -> list[str]:
    """The steps to a place; what stands before the first slash is ignored, as a real server does."""
    if "/" not in pointer:
        raise _Refused(f"{pointer!r} is no JSON pointer to a place in the document")
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]


def _get(document: Any, pointer: str) -> Any:
    for step in _steps(pointer):
        document = _child(document, step)
    return document


def _child(container: Any, step: str) -> Any:
    """What stands at a step; None for a member that is absent."""
    if type(container) is dict:
        return container.get(step)
    if type(container) is list:
        return container[_index(step, len(container))]
    raise _Refused(f"there is no {step!r}")


def _index(step: str, length: int) -> int:
    """The index of one of `length` places; a negative one counts from the end."""
    if not _INDEX.fullmatch(step):
        raise _Refused(f"{step!r} is no index")
    index = int(step)
    if not -length <= index < length:
        raise _Refused(f"index {index} is beyond the end")
    return index % length


def _edit(document: Any, pointer: str, edit: Edit) -> Any:
    steps = _steps(pointer)
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
        _child(container, step)  # there is a place for it
        return _with(container, step, value)

    return replaced


def _removed(container: Any, step: str) -> Any:
    if type(container) is dict:
        if step not in container:
            raise _Refused(f"there is no {step!r}")
        return {name: item for name, item in container.items() if name != step}
    _child(container, step)
    index = _index(step, len(container))
    return [*container[:index], *container[index + 1 :]]


def same(left: Any, right: Any) -> bool:
    """Whether two values are equal as JSON texts: 1 and 1.0 are apart, and so are 1 and true."""
    if type(left) is dict and type(right) is dict:
        return left.keys() == right.keys() and all(same(item, right[name]) for name, item in left.items())
    if type(left) is list and type(right) is list:
        return len(left) == len(right) and all(map(same, left, right))
    return type(left) is type(right) and bool(left == right)

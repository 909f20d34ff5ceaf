# SPDX-License-Identifier: Apache-2.0
"""JSON patch, RFC 6902: a list of operations, each on the result of the one before.

Every container that a patch changes is copied once, before its first change, so the object
patched is never modified and what stays is shared with it. Later operations change the copy in
place: an operation costs as much as its path is long, however large the object is.
"""

from __future__ import annotations

from typing import Any

import msgspec

from controller_runtime.apiserver import status
from controller_runtime.apiserver.bounds import MOST_VALUES, values_in
from controller_runtime.apiserver.writes.documents import check_weight

MAX_OPERATIONS = 10_000
MAX_COPIED = 3 * 1024 * 1024  # bytes of JSON that `copy` may add in all: a few of them could double an object each

_MISSING: Any = object()


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
        StatusError: 400 for what is no list of operations, 413 for too many of them, or of values, 422 for one that
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
    patched = _Patched(document)
    try:
        for operation in operations:
            patched.apply(operation)
        check_weight(patched.root, patched.copied)  # few bytes of a patch can copy many, deep into each other
        if type(patched.root) is not dict:
            raise _Refused("the patch leaves no object")
    except _Refused as error:
        raise status.rejected() from error
    return patched.root


class _Patched:
    """A document that operations change one after the other. Threads: one.

    Attributes:
        root: The document as it is by now.
        copied: Bytes of JSON that were copied.
    """

    def __init__(self, document: Any) -> None:
        self.root = document
        # Copies made here, by identity; kept, so that no other object gets the identity of one that is gone.
        # Each stands at one place of the document, so a change of it is seen nowhere else.
        self._own: dict[int, Any] = {}
        self.copied = 0
        self._values = 0  # that were copied

    def apply(self, operation: _Operation) -> None:
        """Do one operation."""
        match operation.op:
            case "add":
                self._add(operation.path, _value_of(operation))
            case "replace":
                self._replace(operation.path, _value_of(operation))
            case "remove":
                self._remove(operation.path)
            case "copy":
                self._add(operation.path, self._copy_of(_get(self.root, _source_of(operation))))
            case "move":
                self._move(_source_of(operation), operation.path)
            case "test":
                if not same(_get(self.root, operation.path), _value_of(operation)):
                    raise _Refused("the test failed")
            case _:
                raise _Refused(f"unknown operation {operation.op!r}")

    def _copy_of(self, value: Any) -> Any:
        """`value` without anything in common with it: the next operation may change either."""
        text = msgspec.json.encode(value)
        self.copied += len(text)
        if self.copied > MAX_COPIED:
            raise _Refused("the copies of this patch are too large")
        self._values += values_in(text)
        if self._values > MOST_VALUES:
            raise _Refused("the copies of this patch hold too many values")
        return msgspec.json.decode(text)

    def _move(self, source: str, target: str) -> None:
        if target.startswith(f"{source}/"):
            raise _Refused("nothing can be moved into itself")
        value = _get(self.root, source)
        self._remove(source)
        self._add(target, value)

    def _add(self, pointer: str, value: Any) -> None:
        if not pointer:
            self.root = value
            return
        container, step = self._container(pointer)
        if type(container) is dict:
            container[step] = value
        elif type(container) is list:
            container.insert(len(container) if step == "-" else _index(step, len(container) + 1), value)
        else:
            raise _Refused(f"{step!r} cannot be added to what is no container")

    def _replace(self, pointer: str, value: Any) -> None:
        if not pointer:
            self.root = value
            return
        container, step = self._container(pointer)
        _child(container, step)
        _put(container, step, value)

    def _remove(self, pointer: str) -> None:
        if not pointer:
            self.root = None
            return
        container, step = self._container(pointer)
        _child(container, step)
        del container[step if type(container) is dict else int(step)]

    def _container(self, pointer: str) -> tuple[Any, str]:
        """What holds the value that `pointer` names, as a copy that may be changed, and the last step to the value."""
        *steps, last = _steps(pointer)
        container = self.root = self._owned(self.root)
        for step in steps:
            child = _child(container, step)
            own = self._owned(child)
            if own is not child:
                _put(container, step, own)
            container = own
        return container, last

    def _owned(self, value: Any) -> Any:
        if id(value) in self._own or type(value) not in (dict, list):
            return value
        own = value.copy()
        self._own[id(own)] = own
        return own


def _put(container: Any, step: str, value: Any) -> None:
    container[step if type(container) is dict else int(step)] = value


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


def same(left: Any, right: Any) -> bool:
    """Whether two values are equal as JSON: numbers by value, true and 1 apart."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if type(left) is dict and type(right) is dict:
        return left.keys() == right.keys() and all(same(item, right[name]) for name, item in left.items())
    if type(left) is list and type(right) is list:
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right)

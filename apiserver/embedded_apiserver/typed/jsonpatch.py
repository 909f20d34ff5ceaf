# SPDX-License-Identifier: Apache-2.0
"""JSON patch: a list of operations, each on the result of the one before.

It is RFC 6902 with the leniency of a real API server: `replace`, `test` and `copy` read an absent member as null, an
absent value is null, and negative indices count from the end. In one respect it is stricter than the RFC: the whole
document (the empty path) can only be tested and replaced.

Each container that a patch changes is copied once, before its first change. So the patched object is never
modified, and the result shares the containers that do not change. Later operations change the copy in place:
copying in each operation would let a patch of many operations on a large object take quadratic time.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec

from apimachinery.decoding import converter_of
from embedded_apiserver import status
from embedded_apiserver.bounds import MOST_VALUES, values_in
from embedded_apiserver.typed.documents import check_weight

# The limit of a real server.
MAX_OPERATIONS = 10_000
# The most bytes of JSON that all `copy` operations of a patch may add. Each can double the object, so without a
# limit a patch of thirty operations could fill the memory.
MAX_COPIED = 3 * 1024 * 1024

# At most nine digits: no array needs more, and int() raises ValueError for thousands of them.
_INDEX = re.compile(r"[+-]?[0-9]{1,9}")


class Inapplicable(Exception):
    """An operation of a JSON patch cannot be applied to the object."""


class Missing(Inapplicable):
    """The path of an operation does not exist in the object."""


class MissingKey(Missing):
    """The field to remove does not exist, although its parent does."""


class PatchOperation(msgspec.Struct, gc=False):
    """One operation of a JSON patch.

    Attributes:
        op: The name of the operation, such as `add`; None if absent.
        path: The path to change, a JSON pointer; None if absent.
        source: The path (`from`) whose value a `copy` or `move` takes; None if absent.
        value: The value of an `add`, a `replace` or a `test`.
    """

    op: str | None = None
    path: str | None = None
    source: str | None = msgspec.field(default=None, name="from")
    value: Any = None


_operations: Callable[[Any], list[PatchOperation | None] | None] = converter_of(list[PatchOperation | None] | None)


def operations_in(patch: Any) -> list[PatchOperation]:
    """Return the operations of a decoded JSON patch.

    Raises:
        ValidationError: The patch is not a list of operations.
    """
    return [one or PatchOperation() for one in _operations(patch) or ()]


def apply(document: dict[str, Any], patch: Any) -> dict[str, Any]:
    """Return `document` with all operations of a JSON patch applied.

    Raises:
        StatusError: 400, the patch is not a list of operations; 413, it has too many operations or its result too many
            values; 422, an operation cannot be applied, or the result is not an object.
    """
    try:
        operations = operations_in(patch)
    except msgspec.ValidationError as error:
        raise status.bad_request(f"error decoding patch: {error}") from error
    if len(operations) > MAX_OPERATIONS:
        raise status.too_large(
            f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(operations)}"
        )
    patched = Patched(document)
    try:
        for operation in operations:
            patched.apply(operation)
        # The size of the patch says little about the result: short `copy` operations can nest large values.
        check_weight(patched.root, patched.copied)
        if type(patched.root) is not dict:
            raise Inapplicable("the patch leaves no object")
    except Inapplicable as error:
        raise status.rejected() from error
    return patched.root


class Patched:
    """A document to which operations of a JSON patch are applied one after another. Threads: one.

    Attributes:
        root: The document after the operations so far.
        copied: The total size of the values that `copy` has added, as JSON in bytes.
    """

    def __init__(self, document: Any) -> None:
        self.root = document
        # Copies made here, by identity; kept, so that no other object gets the identity of one that is gone.
        # Each stands at one place of the document, so a change of it is seen nowhere else.
        self._own: dict[int, Any] = {}
        self.copied = 0
        self._values = 0  # that were copied

    def apply(self, operation: PatchOperation) -> None:
        """Apply one operation to the document.

        Raises:
            Inapplicable: The operation cannot be applied.
        """
        path, value = operation.path, operation.value
        if path is None:
            raise Inapplicable("there is no path")
        match operation.op:
            case "add":
                self._add(path, value)
            case "replace" if not path:
                self.root = value
            case "replace":
                self._replace(path, value)
            case "remove":
                self._remove(path)
            case "copy":
                self._add(path, self._copy_of(_get(self.root, _source_of(operation))))
            case "move":
                source = _source_of(operation)
                moved = _get(self.root, source)
                self._remove(source)
                self._add(path, moved)
            case "test":
                if not same(_get(self.root, path) if path else self.root, value):
                    raise Inapplicable("the test failed")
            case _:
                raise Inapplicable(f"unknown operation {operation.op!r}")

    def _copy_of(self, value: Any) -> Any:
        """Return a copy of `value` that shares nothing with it, because a later operation may change either."""
        text = msgspec.json.encode(value)
        self.copied += len(text)
        if self.copied > MAX_COPIED:
            raise Inapplicable("the copies of this patch are too large")
        self._values += values_in(text)
        if self._values > MOST_VALUES:
            raise Inapplicable("the copies of this patch hold too many values")
        return msgspec.json.decode(text)

    def _add(self, pointer: str, value: Any) -> None:
        container, step = self._container(pointer)
        if type(container) is dict:
            container[step] = value
        elif type(container) is list:
            container.insert(len(container) if step == "-" else _index(step, len(container) + 1), value)
        else:
            raise Missing(f"{step!r} cannot be added to a scalar")

    def _replace(self, pointer: str, value: Any) -> None:
        container, step = self._container(pointer)
        _child(container, step)  # refuses a scalar, for which `_put` would fail with a TypeError
        _put(container, step, value)

    def _remove(self, pointer: str) -> None:
        container, step = self._container(pointer)
        if type(container) is dict:
            if step not in container:
                raise MissingKey(f"there is no {step!r}")
            del container[step]
            return
        _child(container, step)
        del container[_index(step, len(container))]

    def _container(self, pointer: str) -> tuple[Any, str]:
        """Return the container that holds the target of `pointer`, as a copy that may be changed, and the last step."""
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
    container[step if type(container) is dict else _index(step, len(container))] = value


def _source_of(operation: PatchOperation) -> str:
    if operation.source is None:
        raise Inapplicable(f"{operation.op} without a source")
    return operation.source


def _steps(pointer: str) -> list[str]:
    """Return the steps of a JSON pointer. Text before the first slash is ignored, as in a real API server."""
    if "/" not in pointer:
        raise Inapplicable(f"{pointer!r} is no JSON pointer to a place in the document")
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]


def _get(document: Any, pointer: str) -> Any:
    for step in _steps(pointer):
        document = _child(document, step)
    return document


def _child(container: Any, step: str) -> Any:
    """Return the value at a step; None for an absent member of an object.

    Raises:
        Inapplicable: The container is a scalar, or has no element of this index.
    """
    if type(container) is dict:
        return container.get(step)
    if type(container) is list:
        return container[_index(step, len(container))]
    raise Missing(f"there is no {step!r}")


def _index(step: str, length: int) -> int:
    """Return the index, from 0, of `step` in a list of `length` elements. A negative step counts from the end."""
    if not _INDEX.fullmatch(step):
        raise Inapplicable(f"{step!r} is no index")
    index = int(step)
    if not -length <= index < length:
        raise Inapplicable(f"index {index} is beyond the end")
    return index % length


def same(left: Any, right: Any) -> bool:
    """Return whether two values are equal as JSON: 1 differs from 1.0 and from true, which are equal in Python."""
    if type(left) is dict and type(right) is dict:
        return left.keys() == right.keys() and all(same(item, right[name]) for name, item in left.items())
    if type(left) is list and type(right) is list:
        return len(left) == len(right) and all(map(same, left, right))
    return type(left) is type(right) and bool(left == right)

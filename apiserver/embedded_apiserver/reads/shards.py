# SPDX-License-Identifier: Apache-2.0
"""Shard selectors: ranges of the hash of an object's uid or namespace (Kubernetes 1.36, alpha).

The text is an expression of CEL that is parsed and never evaluated: only `shardRange(field, start, end)` and `||` may
be in it. The errors for other expressions are those of a real API server, including the numbers in them that stand for
kinds of expressions.
"""

from __future__ import annotations

import string
from collections.abc import Iterator

import attrs
import msgspec

from apimachinery.shards import NAMESPACE, UID, fnv1a64
from embedded_apiserver.cel.errors import CompileError
from embedded_apiserver.cel.parser import parsed
from embedded_apiserver.cel.syntax import (
    Call,
    Comprehension,
    Identifier,
    ListLiteral,
    Literal,
    MapLiteral,
    Node,
    Select,
)
from embedded_apiserver.cel.values import Uint, Value
from embedded_apiserver.quoting import quoted
from embedded_apiserver.storage.stored import Stored

_DIGITS = 16
_TOP = "0x10000000000000000"  # the one bound of 17 digits
_LOWER = frozenset(string.digits + "abcdef")
_KINDS: dict[type[Node], int] = {
    Call: 1, Comprehension: 2, Identifier: 3, ListLiteral: 4, Literal: 5, MapLiteral: 6, Select: 7,
}  # fmt: skip
_STRUCTURE = 8


class _Meta(msgspec.Struct, gc=False):
    uid: str


class _ShardObject(msgspec.Struct, gc=False):
    metadata: _Meta


_decode = msgspec.json.Decoder(_ShardObject).decode


@attrs.frozen
class ShardRange:
    """A range of hashes from `start` (included) to `end` (excluded), as the client wrote them; `field` is the hashed
    field.
    """

    field: str
    start: str
    end: str

    def __str__(self) -> str:
        return f"shardRange({self.field}, '{self.start}', '{self.end}')"

    def contains(self, value: int) -> bool:
        """Return whether the hash `value` is in the range."""
        return int(self.start, 16) <= value < int(self.end, 16)


@attrs.frozen
class ShardSelector:
    """Selects objects whose hash of one field is in one of several ranges."""

    ranges: tuple[ShardRange, ...]

    @classmethod
    def parse(cls, text: str) -> ShardSelector:
        """Return the shard selector in a text.

        Raises:
            ValueError: The text is not a shard selector; the message is that of a real API server.
        """
        text = text.strip()
        if not text:
            raise ValueError("empty shard selector is not allowed; omit the parameter for unfiltered lists")
        try:
            # A real server expands no macros here, so `has` and the like are calls of functions that are not allowed.
            tree, _ = parsed(text, is_plain=True)
        except CompileError as error:
            raise ValueError(f"CEL parse error: {error.issues[0].message}") from None
        ranges = tuple(_ranges(tree))
        for one in ranges[1:]:
            if one.field != ranges[0].field:
                fields = f"{quoted(ranges[0].field)} and {quoted(one.field)}"
                raise ValueError(f"all shard ranges must use the same field, got {fields}")
        return cls(ranges)

    def __str__(self) -> str:
        return " || ".join(map(str, self.ranges))

    def matches(self, item: Stored) -> bool:
        """Return whether the hash of an object's field is in one of the ranges."""
        by_uid = self.ranges[0].field == UID
        value = fnv1a64(_decode(item.raw).metadata.uid if by_uid else item.namespace)
        return any(one.contains(value) for one in self.ranges)


def _ranges(node: Node) -> Iterator[ShardRange]:
    if not isinstance(node, Call):
        raise ValueError(f"unexpected expression kind {_kind(node)}; expected shardRange() call or || operator")
    match node.function:
        case "_||_":
            for argument in node.arguments:
                yield from _ranges(argument)
        case "shardRange":
            yield _range(node)
        case function:
            raise ValueError(f"unsupported function {quoted(function)}; only shardRange() and || are allowed")


def _range(call: Call) -> ShardRange:
    if len(call.arguments) != 3:
        raise ValueError(f"shardRange() requires exactly 3 arguments, got {len(call.arguments)}")
    try:
        field = _path(call.arguments[0])
    except ValueError as error:
        raise ValueError(f"shardRange() first argument: {error}") from None
    if field not in (UID, NAMESPACE):
        raise ValueError(f"unsupported field path {quoted(field)}; supported: {UID}, {NAMESPACE}")
    start, end = _bound(call.arguments[1], "hexStart"), _bound(call.arguments[2], "hexEnd")
    if int(start, 16) >= int(end, 16):
        raise ValueError(f"shard range start {start} must be less than end {end}")
    return ShardRange(field, start, end)


def _path(node: Node) -> str:
    if isinstance(node, Identifier):
        return node.name
    if isinstance(node, Select) and not node.optional:
        return f"{_path(node.operand)}.{node.field}"
    raise ValueError(f"expected field path (e.g. {UID}), got expression kind {_kind(node)}")


def _bound(node: Node, name: str) -> str:
    if not isinstance(node, Literal):
        raise ValueError(f"{name} must be a string literal (e.g. '0xff'), got expression kind {_kind(node)}")
    text = node.value
    if not isinstance(text, str):
        raise ValueError(f"{name} must be a string literal, got {_go_type(text)}")
    if not text.startswith("0x"):
        raise ValueError(f"{name} must have '0x' prefix, got {quoted(text)}")
    digits = text[2:]
    length = len(digits.encode())
    if not digits:
        raise ValueError(f"{name}: hex value is required after '0x'")
    if length > _DIGITS + 1:
        raise ValueError(f"{name}: hex value too long ({length} chars, max {_DIGITS + 1}): {quoted(digits)}")
    if wrong := next((one for one in digits if one not in _LOWER), ""):
        raise ValueError(f"{name}: invalid hex character {quoted(wrong)} in {quoted(text)}")
    if length == _DIGITS + 1 and text != _TOP:
        raise ValueError(f"{name}: 17-digit hex value must be '{_TOP}' (2^64), got {quoted(text)}")
    if length < _DIGITS:
        padded = quoted(f"0x{digits:0>{_DIGITS}}")
        must = f"must be a 0x-prefixed {_DIGITS}-digit hex value"
        raise ValueError(f"{name} {must}, got {quoted(text)} (did you mean {padded}?)")
    return text


def _kind(node: Node) -> int:
    """Return the number of a kind of expression in cel-go."""
    return _KINDS.get(type(node), _STRUCTURE)


def _go_type(value: Value) -> str:
    match value:
        case bool():
            return "bool"
        case bytes():
            return "[]uint8"
        case float():
            return "float64"
        case None:
            return "structpb.NullValue"
        case Uint():
            return "uint64"
    return "int64"

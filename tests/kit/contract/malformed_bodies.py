# SPDX-License-Identifier: Apache-2.0
"""Makes malformed texts and bodies from valid ones."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any, AnyStr

_LONG = 20_000
_DEEP = 5_000


def _nested(opening: str, closing: str, depth: int = _DEEP) -> bytes:
    return f'{{"metadata":{{"name":"a"}},"spec":{opening * depth}{closing * depth}}}'.encode()


TEXTS: tuple[str, ...] = (
    "",
    "\0",
    "..",
    ".",
    "a b",
    "%2e%2e%2f",
    "%",
    "%zz",
    "\udc80\udcff",
    "\ud800",
    "\ufffd\uffff",
    "a" * _LONG,
    "/" * 2000,
    "\r\nx: y",
    "ä" * 3000,
    "\U0010ffff",
    "A",
    "-a-",
    "a/b/c/d",
)

WRONG: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    1.5,
    10**30,
    2**63,
    -(2**31),
    "",
    [],
    {},
    [None],
    [[]],
    {"": None},
    {"a": {"b": []}},
    [{}],
    [1, "a", None],
    "9" * 400,
    "1e999999999",
    "2026-13-45T99:00:00Z",
    "0001-01-01T00:00:00Z",
    "9999-12-31T23:59:59.999999+23:59",
    "x" * _LONG,
    *TEXTS,
)


BROKEN_JSON: tuple[bytes, ...] = (
    b"",
    b" ",
    b"\0",
    b"null",
    b"[]",
    b'"a"',
    b"{}",
    b"1",
    b"\xef\xbb\xbf{}",
    b'{"metadata":{"name":"\xff"}}',
    b'{"\xc3\x28":1}',
    b"{" * _DEEP,
    _nested("[", "]"),
    *(_nested('{"a":[', "]}", depth).replace(b"[]", b"[1]") for depth in (90, 240, 320, 480)),
    _nested('{"a":', "}").replace(b":}", b":1}"),
    b'{"metadata":{"name":"\\ud800"}}',
    b'{"metadata":{"name":"a","name":"b","labels":{"a":"b","a":"c"}},"metadata":{}}',
    b'{"metadata":{"name":"a","generation":NaN},"spec":Infinity}',
    b'{"metadata":{"name":"a","generation":1e400}}',
    b'{"metadata":{"name":"a","generation":' + b"9" * 5000 + b"}}",
    b'{"metadata":{"name":"a"},"x\\r\\ny":1,"\\u0000":2,"\xc3\xa4":3}',
    b'{"kind":5,"apiVersion":[],"metadata":{"name":"a"}}',
    b'{"kind":{"a":1},"apiVersion":"a/b/c"}',
    (
        b'{"metadata":{"name":"a","managedFields":[{"manager":"m","operation":"Apply","apiVersion":"v1",'
        b'"fieldsType":"FieldsV1","fieldsV1":{"f:x":5,"k:":{},"k:{":{},"v:":{},".":[]}}]}}'
    ),
    json.dumps({f"unknown{index}": index for index in range(1000)}).encode(),
)

BROKEN_YAML: tuple[bytes, ...] = (
    b"",
    b"---\n---\n",
    b"a: b: c",
    b"\t",
    b"- a",
    b"? [a]\n: b",
    b"!!int ''",
    b"a: !!int ''",
    b"a: !!float ''",
    b"a: !!bool x",
    b"a: !!null x",
    b"a: !!timestamp x",
    b"a: !!timestamp 2026-99-99",
    b"a: !!binary '\xff'",
    b"!!str a",
    b"a: !!python/object:os.system x",
    b"!!set {a, b}",
    b"a: !!omap [x]",
    b"a: !!pairs 5",
    b"? !!binary YQ==\n: b",
    b"? !!timestamp 2026-01-01\n: b",
    b"? !!set {a}\n: b",
    b"a: .nan",
    b"metadata: {name: .inf}",
    b"metadata: !!binary YQ==",
    b"metadata: {name: !!set {a}}",
    b"a: &a [x,x]\nb: *a",
    b"<<: {metadata: {name: a}}",
    b"<<: 5",
    b"%YAML 9.9\n---\na: b",
    b"[" * _DEEP,
    b"metadata: {name: a}\nspec: " + b"[" * _DEEP + b"]" * _DEEP,
    b"metadata: {name: a}\nx: 1" + b":59" * 3000,
    b"metadata: {name: a}\nx: 0x" + b"f" * 5000,
    b'metadata: {name: "\\ud800"}',
    b'metadata: {name: a, labels: {a: "\\ud800"}}',
    b"\n".join(
        [b"a: &a [x,x,x,x,x,x]", *(b"%c: &%c [%b]" % (c, c, b",".join([b"*%c" % (c - 1)] * 6)) for c in range(98, 110))]
    ),
    b"metadata: {name: a}\nmetadata: {name: b}",
    "metadata: {name: a}".encode("utf-16"),
)

DIRECTIVES: tuple[dict[str, Any], ...] = (
    {"$patch": "delete"},
    {"$patch": "replace"},
    {"$patch": 5},
    {"$patch": ["replace"]},
    {"$patch": "x"},
    {"$patch": None},
    {"$retainKeys": "a"},
    {"$retainKeys": [None, {}, "a"]},
    {"$retainKeys": []},
    {"$setElementOrder/containers": "a"},
    {"$setElementOrder/containers": [{}, None]},
    {"$setElementOrder/finalizers": [{}, 1.5]},
    {"$setElementOrder/": []},
    {"$setElementOrder/x": None},
    {"$deleteFromPrimitiveList/finalizers": 7},
    {"$deleteFromPrimitiveList/finalizers": [{}, [], None, 1.5]},
    {"$deleteFromPrimitiveList/x": ["a"]},
    {"$": 1},
    {"$unknown": {}},
    {"containers": [{"name": "a", "$patch": "merge"}]},
    {"containers": [{"name": {}, "$patch": "delete"}]},
    {"containers": [{"$patch": "replace"}, {"name": None}]},
    {"taints": [5, None, "a", []]},
    {"finalizers": [{}, [], None]},
    {"ownerReferences": [{"uid": []}]},
    {"managedFields": [{}]},
    {
        "managedFields": [
            {"fieldsV1": {"k:{}": {}, "f:": 5}, "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1"}
        ]
    },
    {"conditions": [{"type": 1}, {"type": 1}]},
)

POINTERS = (
    "",
    "/",
    "//",
    "a",
    "/metadata",
    "/metadata/labels",
    "/metadata/labels/a",
    "/metadata/name",
    "/spec",
    "/spec/x",
    "/~",
    "/~2",
    "/metadata/finalizers/-",
    "/metadata/finalizers/0",
    "/metadata/finalizers/-1",
    "/metadata/finalizers/01",
    "/kind",
    "/spec/containers/0",
    "/spec/containers/99999999999",
    "/spec/containers/0/name",
    "/metadata/managedFields/0",
    "/metadata/managedFields",
    "/metadata/resourceVersion",
    "/metadata/uid",
    "/status",
    "/apiVersion",
    "/\0",
    "/ä",
)


def _operation(chance: random.Random) -> dict[str, Any]:
    op = chance.choice(("add", "remove", "replace", "move", "copy", "test"))
    operation = {"op": op, "path": chance.choice(POINTERS)}
    if chance.random() < 0.9:
        operation["value"] = chance.choice(WRONG)
    if chance.random() < 0.9:
        operation["from"] = chance.choice(POINTERS)
    return operation


def _into_itself(chance: random.Random) -> dict[str, Any]:
    source = chance.choice(POINTERS)
    return {
        "op": chance.choice(("move", "copy")),
        "from": source,
        "path": f"{source}/{chance.choice(('a', '0', '-', ''))}",
    }


OPERATIONS: tuple[Callable[[random.Random], Any], ...] = (
    *(_operation, _operation, _operation, _operation, _into_itself, _into_itself),
    lambda chance: chance.choice(
        (None, 5, "add", [], {}, {"op": 5, "path": "/a"}, {"op": "x", "path": "/a"}, {"op": "add"})
    ),
    lambda chance: {**_operation(chance), "path": chance.choice((5, None, [], {}))},
)


def cut(chance: random.Random, whole: AnyStr) -> AnyStr:
    """Return a part of the body, from its beginning."""
    return whole[: chance.randrange(len(whole))]


def flipped(chance: random.Random, whole: bytes) -> bytes:
    """Return the body with a few bytes changed."""
    spoiled = bytearray(whole)
    for _ in range(chance.randrange(1, 4)):
        spoiled[chance.randrange(len(spoiled))] = chance.randrange(256)
    return bytes(spoiled)


def protobuf(chance: random.Random, api_version: str, kind: str) -> bytes:
    """Return an object in protobuf, as Go clients send it, with random fields."""
    about = _field(1, api_version.encode()) + _field(2, kind.encode())
    metadata = _field(1, b"a") + _field(11, _field(1, b"k") + _field(2, b"v")) + _field(8, _field(1, _varint(2**63)))
    parts = b"".join(_any_field(chance, 4) for _ in range(chance.randrange(4)))
    return b"k8s\0" + _field(1, about) + _field(2, _field(1, metadata) + _field(2, parts))


def _any_field(chance: random.Random, depth: int) -> bytes:
    number = chance.randrange(1, 24)
    if depth and chance.random() < 0.6:
        return _field(number, b"".join(_any_field(chance, depth - 1) for _ in range(chance.randrange(3))))
    if chance.random() < 0.5:
        return _field(number, chance.choice((b"", b"a", b"\xff", b"9" * 100, _varint(2**64 - 1))))
    return _varint(number << 3 | chance.randrange(8)) + _varint(
        chance.choice((0, 1, 2**31, 2**63, 2**64 - 1, 2**70 - 1))
    )


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(number: int) -> bytes:
    groups = bytearray()
    while number > 127:
        groups.append(number & 127 | 128)
        number >>= 7
    return bytes([*groups, number])

# SPDX-License-Identifier: Apache-2.0
"""Requests made to be expensive, as large as a server takes them; `bounds.py` sends them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from controller_runtime.api.http import BODY_LIMIT, HTTPRequest

CONFIGS = "/api/v1/namespaces/default/configmaps"
NODES = "/api/v1/nodes"
PODS = "/api/v1/namespaces/default/pods"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS = "/apis/demo.example.com/v1/namespaces/default/widgets"
JSON, YAML = "application/json", "application/yaml"
JSON_PATCH, MERGE = "application/json-patch+json", "application/merge-patch+json"
STRATEGIC, APPLY = "application/strategic-merge-patch+json", "application/apply-patch+yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}

Object = dict[str, Any]
Before = Callable[[], Iterable[HTTPRequest]]


class Bomb(NamedTuple):
    """One request, and those that prepare a server for it."""

    name: str
    request: Callable[[], HTTPRequest]
    before: Before = tuple


BOMBS: list[Bomb] = []


def bomb(name: str, before: Before = tuple) -> Callable[[Callable[[], HTTPRequest]], None]:
    """Add what the function makes to the bombs."""

    def add(request: Callable[[], HTTPRequest]) -> None:
        BOMBS.append(Bomb(name, request, before))

    return add


def ask(method: str, path: str, body: Any = b"", media_type: str = JSON, **query: str) -> HTTPRequest:
    """A request; `body` is bytes, or becomes JSON."""
    data = body if isinstance(body, bytes) else json.dumps(body, separators=(",", ":")).encode()
    headers = {"content-type": media_type, "user-agent": "bomb/1"}
    return HTTPRequest(method, path, tuple(query.items()), headers, data)


def filled(head: str, item: str, tail: str, *, size: int = BODY_LIMIT - 64, most: int = 1 << 30) -> bytes:
    """`head`, as many of `item` (with its number for `%d`) with commas between them as there is room for, and `tail`."""
    items, left, number = [], size - len(head) - len(tail), 0
    numbered = "%d" in item
    while number < most:
        one = item % number if numbered and item.count("%d") == 1 else item.replace("%d", str(number))
        left -= len(one.encode()) + 1
        if left < 0:
            break
        items.append(one)
        number += 1
    return (head + ",".join(items) + tail).encode()


def config(name: str = "a", data: Mapping[str, str] | None = None, **metadata: Any) -> Object:
    """A config map."""
    return {"metadata": {"name": name, **metadata}, **({"data": data} if data else {})}


def definition(spec: Object, **version: Any) -> Object:
    """The definition of widgets whose spec has this schema."""
    schema = {"type": "object", "properties": {"spec": spec, "status": OPEN}}
    one = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}, **version}
    names = {"plural": "widgets", "kind": "Widget"}
    return {
        "metadata": {"name": "widgets.demo.example.com"},
        "spec": {"group": "demo.example.com", "scope": "Namespaced", "names": names, "versions": [one]},
    }


def kind(spec: Object, **version: Any) -> Before:
    """Before a bomb: widgets with such a spec are defined."""
    return lambda: [ask("POST", DEFINITIONS, definition(spec, **version))]


def widget(spec: str, metadata: str = '"name":"w"') -> tuple[str, str]:
    """What stands before and after the content of a widget's spec; `spec` has a `%s`."""
    before, after = spec.split("%s")
    about = '{"apiVersion":"demo.example.com/v1","kind":"Widget","metadata":{' + metadata + '},"spec":'
    return about + before, after + "}"


def stored(*requests: HTTPRequest) -> Before:
    """Before a bomb: these requests."""
    return lambda: requests


A = stored(ask("POST", CONFIGS, config()))
N = stored(ask("POST", NODES, {"metadata": {"name": "n"}}))


def _members(count: int, text: str = '"k%07d":""') -> str:
    return ",".join(text % number for number in range(count))


# JSON patches


@bomb("json patch: inserts into a big list", N)
def _() -> HTTPRequest:
    big = '{"op":"add","path":"/status/images","value":[' + ",".join(["1"] * 1_100_000) + "]}"
    more = ",".join(['{"op":"add","path":"/status/images/0","value":1}'] * 9_999)
    return ask("PATCH", f"{NODES}/n/status", f"[{big},{more}]".encode(), JSON_PATCH)


@bomb("json patch: inserts into a list of 90,000", N)
def _() -> HTTPRequest:
    big = '{"op":"add","path":"/status/images","value":[' + ",".join(["{}"] * 45_000) + "]}"
    more = ",".join(['{"op":"add","path":"/status/images/0","value":{}}'] * 9_999)
    return ask("PATCH", f"{NODES}/n/status", f"[{big},{more}]".encode(), JSON_PATCH)


@bomb("json patch: additions to a big object", A)
def _() -> HTTPRequest:
    big = '{"op":"add","path":"/data","value":{' + _members(70_000) + "}}"
    more = ",".join('{"op":"add","path":"/data/x%d","value":""}' % number for number in range(9_999))
    return ask("PATCH", f"{CONFIGS}/a", f"[{big},{more}]".encode(), JSON_PATCH)


@bomb("json patch: removals from the front", N)
def _() -> HTTPRequest:
    big = '{"op":"add","path":"/status/images","value":[' + ",".join(["{}"] * 45_000) + "]}"
    more = ",".join(['{"op":"remove","path":"/status/images/0"}'] * 9_999)
    return ask("PATCH", f"{NODES}/n/status", f"[{big},{more}]".encode(), JSON_PATCH)


@bomb("json patch: tests of a big value", A)
def _() -> HTTPRequest:
    big = '{"op":"add","path":"/data","value":{' + _members(40_000) + "}}"
    copy = '{"op":"copy","from":"/data","path":"/other"}'
    more = ",".join(['{"op":"test","path":"/data","value":{' + _members(40) + "}}"] * 900)
    return ask("PATCH", f"{CONFIGS}/a", f"[{big},{copy},{more}]".encode(), JSON_PATCH)


@bomb("json patch: 10,000 tests of a long text", A)
def _() -> HTTPRequest:
    big = '{"op":"add","path":"/data","value":{"k":"' + "x" * 1_500_000 + '"}}'
    more = ",".join(['{"op":"test","path":"/data/k","value":"x"}'] * 1 + ['{"op":"test","path":"","value":{}}'] * 9_000)
    return ask("PATCH", f"{CONFIGS}/a", f"[{big},{more}]".encode(), JSON_PATCH)


@bomb("json patch: copies that double", A)
def _() -> HTTPRequest:
    start = [{"op": "add", "path": "/data", "value": {"a": {}}}]
    copies = [{"op": "copy", "from": "/data", "path": f"/data/{number}"} for number in range(60)]
    return ask("PATCH", f"{CONFIGS}/a", start + copies, JSON_PATCH)


@bomb("json patch: copies of something big and empty", A)
def _() -> HTTPRequest:
    start = '{"op":"add","path":"/x","value":[' + ",".join(["{}"] * 45_000) + "]}"
    copies = ",".join('{"op":"copy","from":"/x","path":"/x%d"}' % number for number in range(9_000))
    return ask("PATCH", f"{CONFIGS}/a", f"[{start},{copies}]".encode(), JSON_PATCH)


@bomb("json patch: copies of copies, just small enough", A)
def _() -> HTTPRequest:
    start = [{"op": "add", "path": "/x", "value": [[]] * 1000}]
    copies = [{"op": "copy", "from": "/x", "path": f"/x{number}"} for number in range(1000)]
    return ask("PATCH", f"{CONFIGS}/a", start + copies, JSON_PATCH)


@bomb("json patch: deep paths", stored(ask("POST", CONFIGS, config())))
def _() -> HTTPRequest:
    deep = "/a" * 140
    value: Any = {}
    for _ in range(150):
        value = {"a": value}
    start = [{"op": "add", "path": "/x", "value": value}]
    return ask(
        "PATCH",
        f"{CONFIGS}/a",
        start + [{"op": "add", "path": f"/x{deep}/{number}", "value": 1} for number in range(8_500)],
        JSON_PATCH,
    )


@bomb("json patch: one path of a million steps", A)
def _() -> HTTPRequest:
    return ask("PATCH", f"{CONFIGS}/a", [{"op": "add", "path": "/a" * 1_500_000, "value": 1}], JSON_PATCH)


@bomb("json patch: moves of a big part", A)
def _() -> HTTPRequest:
    start = '{"op":"add","path":"/x","value":{"a":{' + _members(60_000) + "}}}"
    moves = ",".join(
        f'{{"op":"move","from":"/x/{old}","path":"/x/{new}"}}' for _ in range(4_500) for old, new in ("ab", "ba")
    )
    return ask("PATCH", f"{CONFIGS}/a", f"[{start},{moves}]".encode(), JSON_PATCH)


# Fields and their owners


def _entries(count: int, fields: str = '"f:data":{"f:k%d":{}}') -> str:
    entry = (
        '{"manager":"m%d","operation":"Update","apiVersion":"v1","time":"2020-01-01T00:00:00Z",'
        '"fieldsType":"FieldsV1","fieldsV1":{' + fields + "}}"
    )
    return ",".join(entry.replace("%d", str(number)) for number in range(count))


@bomb("15,000 managedFields", A)
def _() -> HTTPRequest:
    body = '{"metadata":{"name":"a","managedFields":[' + _entries(15_000) + ']},"data":{"k":"v"}}'
    return ask("PUT", f"{CONFIGS}/a", body.encode())


@bomb("managedFields: as many as may be", A)
def _() -> HTTPRequest:
    body = '{"metadata":{"name":"a","managedFields":[' + _entries(6_000) + ']},"data":{"k":"v"}}'
    return ask("PUT", f"{CONFIGS}/a", body.encode())


@bomb("managedFields: one version each", A)
def _() -> HTTPRequest:
    entries = _entries(5_000).split('"apiVersion":"v1"')
    joined = "".join(f'{part}"apiVersion":"v{number}"' for number, part in enumerate(entries[:-1])) + entries[-1]
    body = '{"metadata":{"name":"a","managedFields":[' + joined + ']},"data":{"k":"v"}}'
    return ask("PUT", f"{CONFIGS}/a", body.encode())


@bomb("managedFields: a thousand of a thousand fields", A)
def _() -> HTTPRequest:
    fields = '"f:data":{' + ",".join(f'"f:{number}":{{}}' for number in range(250)) + "}"
    body = '{"metadata":{"name":"a","managedFields":[' + _entries(250, fields) + ']},"data":{"k":"v"}}'
    return ask("PUT", f"{CONFIGS}/a", body[: BODY_LIMIT - 10].encode())


@bomb("managedFields: deep and wide", A)
def _() -> HTTPRequest:
    fields = '"f:a":{' * 450 + _members(30_000, '"f:k%d":{}') + "}" * 450
    body = '{"metadata":{"name":"a","managedFields":[' + _entries(1, fields) + ']},"data":{"k":"v"}}'
    return ask("PUT", f"{CONFIGS}/a", body.encode())


@bomb("apply: 40,000 keys of a config map", A)
def _() -> HTTPRequest:
    body = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{' + _members(40_000) + "}}"
    return ask("PATCH", f"{CONFIGS}/a", body.encode(), APPLY, fieldManager="m")


@bomb("apply: all keys of a config map that fit", A)
def _() -> HTTPRequest:
    head = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{'
    return ask("PATCH", f"{CONFIGS}/a", filled(head, '"%d":""', "}}"), APPLY, fieldManager="m")


def _applied(manager: str, count: int, value: str = "") -> HTTPRequest:
    head = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{'
    body = head + _members(count, f'"k%07d":"{value}"') + "}}"
    return ask("PATCH", f"{CONFIGS}/a", body.encode(), APPLY, fieldManager=manager)


@bomb("apply: conflicts over each of many keys", lambda: [_applied("one", 20_000), _applied("two", 20_000)])
def _() -> HTTPRequest:
    return _applied("three", 20_000, "x")


@bomb("apply: many keys given up", lambda: [_applied("one", 20_000)])
def _() -> HTTPRequest:
    return _applied("one", 1)


@bomb("apply: many owners of many keys", lambda: [_applied(f"m{number}", 2_000) for number in range(15)])
def _() -> HTTPRequest:
    return _applied("more", 2_000)


@bomb("apply: a list with keys", lambda: [ask("POST", PODS, _pod())])
def _() -> HTTPRequest:
    head = '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":['
    return ask("PATCH", f"{PODS}/p", filled(head, '{"name":"c%d","image":"i"}', "]}}"), APPLY, fieldManager="m")


@bomb("apply: one key repeated", lambda: [ask("POST", PODS, _pod())])
def _() -> HTTPRequest:
    head = '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":['
    return ask("PATCH", f"{PODS}/p", filled(head, '{"name":"c"}', "]}}", most=24_000), APPLY, fieldManager="m")


@bomb("apply: deep and wide", kind(OPEN))
def _() -> HTTPRequest:
    head, tail = widget('{"a":' * 300 + "{%s}" + "}" * 300)
    return ask("PATCH", f"{WIDGETS}/w", filled(head, '"%d":1', tail), APPLY, fieldManager="m")


@bomb("apply: deep and wide, within the values", kind(OPEN))
def _() -> HTTPRequest:
    head, tail = widget('{"a":' * 150 + "{%s}" + "}" * 150)
    return ask("PATCH", f"{WIDGETS}/w", filled(head, '"%d":1', tail, most=30_000), APPLY, fieldManager="m")


@bomb("apply: unknown fields below a long name", kind({"type": "object", "additionalProperties": {"type": "object"}}))
def _() -> HTTPRequest:
    head, tail = widget('{"' + "x" * 1_000_000 + '":{%s}}')
    return ask("PATCH", f"{WIDGETS}/w", filled(head, '"%d":1', tail, most=30_000), APPLY, fieldManager="m")


# Bodies


@bomb("create: a million empty containers")
def _() -> HTTPRequest:
    return ask("POST", PODS, filled('{"metadata":{"name":"p"},"spec":{"containers":[', "{}", "]}}"))


@bomb("create: 45,000 empty containers")
def _() -> HTTPRequest:
    return ask("POST", PODS, filled('{"metadata":{"name":"p"},"spec":{"containers":[', "{}", "]}}", most=24_000))


@bomb("create: a million empty owner references")
def _() -> HTTPRequest:
    return ask("POST", CONFIGS, filled('{"metadata":{"name":"a","ownerReferences":[', "{}", "]}}"))


@bomb("create: 45,000 empty owner references")
def _() -> HTTPRequest:
    return ask("POST", CONFIGS, filled('{"metadata":{"name":"a","ownerReferences":[', "{}", "]}}", most=24_000))


@bomb("create: owner references that all control")
def _() -> HTTPRequest:
    owner = '{"apiVersion":"v","kind":"K","name":"' + "n" * 30 + '","uid":"u","controller":true}'
    return ask("POST", CONFIGS, filled('{"metadata":{"name":"a","ownerReferences":[', owner, "]}}", most=9_000))


@bomb("create: 250,000 bad labels")
def _() -> HTTPRequest:
    return ask("POST", CONFIGS, filled('{"metadata":{"name":"a","labels":{', '"!%d":"!"', "}}}"))


@bomb("create: 45,000 bad labels")
def _() -> HTTPRequest:
    return ask("POST", CONFIGS, filled('{"metadata":{"name":"a","labels":{', '"!%d":"!"', "}}}", most=45_000))


@bomb("create: a label of 3 MB")
def _() -> HTTPRequest:
    return ask("POST", CONFIGS, {"metadata": {"name": "a", "labels": {"\x00" * 500_000: "!"}}})


@bomb("create: a name of 3 MB")
def _() -> HTTPRequest:
    return ask("POST", CONFIGS, {"metadata": {"name": "n" * 3_000_000}})


@bomb("create: a name of 3 MB of dots and dashes")
def _() -> HTTPRequest:
    return ask("POST", CONFIGS, {"metadata": {"name": "a-" * 1_500_000}})


@bomb("create: bad finalizers")
def _() -> HTTPRequest:
    return ask("POST", CONFIGS, filled('{"metadata":{"name":"a","finalizers":[', '"!%d"', "]}}", most=45_000))


def _dying(count: int) -> Before:
    body = filled('{"metadata":{"name":"a","finalizers":[', '"a.b/x%d"', "]}}", most=count)
    return stored(ask("POST", CONFIGS, body), ask("DELETE", f"{CONFIGS}/a"))


@bomb("update: 39,000 new finalizers of an object being deleted", _dying(39_000))
def _() -> HTTPRequest:
    return ask("PUT", f"{CONFIGS}/a", filled('{"metadata":{"name":"a","finalizers":[', '"a.b/y%d"', "]}}", most=39_000))


@bomb("update: 20,000 new finalizers of an object being deleted", _dying(20_000))
def _() -> HTTPRequest:
    return ask("PUT", f"{CONFIGS}/a", filled('{"metadata":{"name":"a","finalizers":[', '"a.b/y%d"', "]}}", most=20_000))


@bomb("create: 250,000 keys")
def _() -> HTTPRequest:
    return ask("POST", CONFIGS, filled('{"metadata":{"name":"a"},"data":{', '"%d":""', "}}"))


@bomb("create: 45,000 keys")
def _() -> HTTPRequest:
    return ask("POST", CONFIGS, filled('{"metadata":{"name":"a"},"data":{', '"%d":""', "}}", most=45_000))


@bomb("create: 45,000 bad keys")
def _() -> HTTPRequest:
    return ask("POST", CONFIGS, filled('{"metadata":{"name":"a"},"data":{', '"!%d":""', "}}", most=45_000))


@bomb("create: unknown fields, strict")
def _() -> HTTPRequest:
    return ask("POST", CONFIGS, filled('{"metadata":{"name":"a"},', '"x%d":1', "}"), fieldValidation="Strict")


@bomb("create: 45,000 unknown fields, strict")
def _() -> HTTPRequest:
    body = filled('{"metadata":{"name":"a"},', '"x%d":1', "}", most=45_000)
    return ask("POST", CONFIGS, body, fieldValidation="Strict")


@bomb("create: 45,000 unknown fields, warned of")
def _() -> HTTPRequest:
    return ask("POST", CONFIGS, filled('{"metadata":{"name":"a"},', '"x%d":1', "}", most=45_000))


@bomb("create: repeated fields, strict")
def _() -> HTTPRequest:
    body = filled('{"metadata":{"name":"a"},"data":{', '"x%d":"","x%d":""', "}}")
    return ask("POST", CONFIGS, body, fieldValidation="Strict")


@bomb("create: 22,000 repeated fields, strict")
def _() -> HTTPRequest:
    body = filled('{"metadata":{"name":"a"},"data":{', '"x%d":"","x%d":""', "}}", most=22_000)
    return ask("POST", CONFIGS, body, fieldValidation="Strict")


@bomb("create: fields repeated below a long name", kind(OPEN))
def _() -> HTTPRequest:
    head, tail = widget('{"' + "x" * 1_000_000 + '":{%s}}')
    return ask("POST", WIDGETS, filled(head, '"%d":1,"%d":1', tail, most=22_000), fieldValidation="Strict")


@bomb("create: unknown fields below a long name")
def _() -> HTTPRequest:
    return ask("POST", DEFINITIONS, _long_definition())


def _long_definition() -> bytes:
    whole = json.dumps(definition({"type": "object", "properties": {"x" * 1_000_000: {"type": "object", "%": 1}}}))
    head, tail = whole.split('"%": 1')
    return filled(head, '"%d":1', tail, most=30_000)


@bomb("create: a value of each field below a long name", kind({"type": "object", "additionalProperties": OPEN}))
def _() -> HTTPRequest:
    head, tail = widget('{"' + "x" * 1_000_000 + '":{%s}}')
    return ask("POST", WIDGETS, filled(head, '"%d":{}', tail, most=24_000))


@bomb("create: long names within long names", kind(OPEN))
def _() -> HTTPRequest:
    depth, head, tail = 90, "", ""
    for _ in range(depth):
        head += '{"' + "y" * 20_000 + '":'
        tail += "}"
    before, after = widget(head + "{%s}" + tail)
    return ask("POST", WIDGETS, filled(before, '"%d":1', after, most=40_000))


@bomb("create: only brackets")
def _() -> HTTPRequest:
    return ask("POST", CONFIGS, b'{"x":[' + b"[]," * 1_000_000 + b"[]]}")


@bomb("create: braces in a text")
def _() -> HTTPRequest:
    return ask("POST", CONFIGS, config(data={"a": '{"a":[1,2,3]},' * 70_000}))


@bomb("create: escapes in a text")
def _() -> HTTPRequest:
    return ask("POST", CONFIGS, b'{"metadata":{"name":"a"},"data":{"a":"' + b"\\u0000" * 500_000 + b'"}}')


@bomb("create: half of a text")
def _() -> HTTPRequest:
    return ask("POST", CONFIGS, b'{"metadata":{"name":"a"},"data":{"a":"' + b"\\\\" * 1_500_000)


@bomb("create: numbers of many digits")
def _() -> HTTPRequest:
    return ask("POST", CONFIGS, b'{"metadata":{"name":"a","generation":' + b"9" * 3_000_000 + b"}}")


@bomb("create: numbers with exponents", kind(OPEN))
def _() -> HTTPRequest:
    head, tail = widget('{"a":[%s]}')
    return ask("POST", WIDGETS, filled(head, "1.5e300", tail, most=45_000))


@bomb("yaml: ones")
def _() -> HTTPRequest:
    return ask("POST", CONFIGS, b"[" + b"1," * 1_500_000 + b"1]", YAML)


@bomb("yaml: 45,000 distinct numbers")
def _() -> HTTPRequest:
    return ask("POST", CONFIGS, filled("{metadata: {name: a}, x: [", "1.%d", "]}", most=45_000), YAML)


@bomb("yaml: keys of a config map")
def _() -> HTTPRequest:
    return ask("POST", CONFIGS, filled("{metadata: {name: a}, data: {", " k%d: ''", "}}"), YAML)


@bomb("yaml: 45,000 keys of a config map")
def _() -> HTTPRequest:
    return ask("POST", CONFIGS, filled("{metadata: {name: a}, data: {", " k%d: ''", "}}", most=45_000), YAML)


@bomb("yaml: dates")
def _() -> HTTPRequest:
    return ask("POST", CONFIGS, filled("{metadata: {name: a}, x: [", "2020-01-01T00:00:00.%d", "]}", most=45_000), YAML)


@bomb("yaml: block lists")
def _() -> HTTPRequest:
    return ask("POST", CONFIGS, b"x:\n" + b"- - a\n" * 500_000, YAML)


@bomb("yaml: comments and empty lines")
def _() -> HTTPRequest:
    return ask("POST", CONFIGS, b"#\n\n" * 1_000_000 + b"metadata: {name: a}\n", YAML)


@bomb("yaml: document ends")
def _() -> HTTPRequest:
    return ask("POST", CONFIGS, b"---\n" * 700_000, YAML)


@bomb("yaml: one text of escapes")
def _() -> HTTPRequest:
    return ask("POST", CONFIGS, b'{metadata: {name: a}, data: {a: "' + b"\\n" * 1_500_000 + b'"}}', YAML)


@bomb("yaml: one folded text")
def _() -> HTTPRequest:
    return ask("POST", CONFIGS, b"metadata: {name: a}\ndata:\n a: >\n" + b"  a\n" * 600_000, YAML)


@bomb("yaml: numbers of many digits")
def _() -> HTTPRequest:
    return ask("POST", CONFIGS, filled("{metadata: {name: a}, x: [", "9" * 4_000, "]}"), YAML)


@bomb("yaml: hexadecimal numbers of many digits")
def _() -> HTTPRequest:
    return ask("POST", CONFIGS, b"{metadata: {name: a}, x: 0x" + b"f" * 3_000_000 + b"}", YAML)


@bomb("yaml: nearly a number")
def _() -> HTTPRequest:
    return ask("POST", CONFIGS, b"{metadata: {name: a}, x: " + b"1_" * 1_500_000 + b"x}", YAML)


@bomb("yaml: nearly a date")
def _() -> HTTPRequest:
    return ask("POST", CONFIGS, b"{metadata: {name: a}, x: 2020-01-01" + b" " * 3_000_000 + b"x}", YAML)


def _varint(number: int) -> bytes:
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def _field(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _protobuf(api_version: str, name: str, message: bytes) -> bytes:
    about = _field(1, api_version.encode()) + _field(2, name.encode())
    return b"k8s\0" + _field(1, about) + _field(2, message)


@bomb("protobuf: 1.4 million empty containers")
def _() -> HTTPRequest:
    pod = _field(1, _field(1, b"p")) + _field(2, b"\x12\x00" * 1_400_000)
    return ask("POST", PODS, _protobuf("v1", "Pod", pod), PROTOBUF)


@bomb("protobuf: 1.4 million of an unknown field")
def _() -> HTTPRequest:
    pod = _field(1, _field(1, b"p")) + _field(2, b"\x7a\x00" * 1_400_000)
    return ask("POST", PODS, _protobuf("v1", "Pod", pod), PROTOBUF)


@bomb("protobuf: one field again and again")
def _() -> HTTPRequest:
    pod = _field(1, _field(1, b"p")) + _field(2, b"") * 1_400_000
    return ask("POST", PODS, _protobuf("v1", "Pod", pod), PROTOBUF)


@bomb("protobuf: an envelope of empty fields")
def _() -> HTTPRequest:
    return ask("POST", PODS, b"k8s\0" + b"\x12\x00" * 1_400_000, PROTOBUF)


@bomb("protobuf: long numbers")
def _() -> HTTPRequest:
    return ask("POST", PODS, _protobuf("v1", "Pod", _field(2, b"\x28" + b"\x80" * 8 + b"\x00") * 200_000), PROTOBUF)


@bomb("protobuf: fields of 3 MB within each other")
def _() -> HTTPRequest:
    data = b"x" * 2_000_000
    for _ in range(400):
        data = _field(7, data)
    return ask("POST", DEFINITIONS, _protobuf("v1", "Pod", data), PROTOBUF)


@bomb("protobuf: labels")
def _() -> HTTPRequest:
    labels = b"".join(_field(11, _field(1, b"%d" % number)) for number in range(200_000))
    return ask("POST", CONFIGS, _protobuf("v1", "ConfigMap", _field(1, _field(1, b"a") + labels)), PROTOBUF)


# Other patches


@bomb(
    "merge patch: many keys",
    lambda: [ask("POST", CONFIGS, filled('{"metadata":{"name":"a"},"data":{', '"%d":""', "}}", most=20_000))],
)
def _() -> HTTPRequest:
    return ask("PATCH", f"{CONFIGS}/a", filled('{"data":{', '"a%d":""', "}}", most=24_000), MERGE)


@bomb("merge patch: all that fits", A)
def _() -> HTTPRequest:
    return ask("PATCH", f"{CONFIGS}/a", filled('{"data":{', '"a%d":null', "}}"), MERGE)


@bomb("merge patch: a million empty lists", N)
def _() -> HTTPRequest:
    return ask("PATCH", f"{NODES}/n", filled('{"spec":{"taints":[', "[]", "]}}"), MERGE)


@bomb("strategic: addresses", N)
def _() -> HTTPRequest:
    body = filled('{"status":{"conditions":[', '{"type":"t%d","status":"True"}', "]}}", most=16_000)
    return ask("PATCH", f"{NODES}/n/status", body, STRATEGIC)


def _conditions() -> list[HTTPRequest]:
    body = filled('{"status":{"conditions":[', '{"type":"t%d","status":"True"}', "]}}", most=4_000)
    return [ask("POST", NODES, {"metadata": {"name": "n"}}), ask("PATCH", f"{NODES}/n/status", body, STRATEGIC)]


@bomb("strategic: elements deleted, with an order", _conditions)
def _() -> HTTPRequest:
    order = ",".join(f'{{"type":"t{number}"}}' for number in range(8_000, 0, -1))
    body = filled(
        '{"status":{"$setElementOrder/conditions":[' + order + '],"conditions":[',
        '{"type":"t%d","status":"False"}',
        "]}}",
        most=8_000,
    )
    return ask("PATCH", f"{NODES}/n/status", body, STRATEGIC)


@bomb("strategic: kept keys", A)
def _() -> HTTPRequest:
    keys = ",".join(f'"k{number}"' for number in range(24_000))
    return ask(
        "PATCH",
        f"{CONFIGS}/a",
        filled('{"data":{"$retainKeys":[' + keys + "],", '"k%d":""', "}}", most=24_000),
        STRATEGIC,
    )


@bomb("strategic: finalizers deleted", _dying(20_000))
def _() -> HTTPRequest:
    body = filled('{"metadata":{"$deleteFromPrimitiveList/finalizers":[', '"a.b/x%d"', "]}}", most=20_000)
    return ask("PATCH", f"{CONFIGS}/a", body, STRATEGIC)


# Custom kinds

_WORDS = [f"word{number}" for number in range(40_000)]


@bomb("definition: an enum of 100,000 words")
def _() -> HTTPRequest:
    words = [f"w{number}" for number in range(100_000)]
    return ask(
        "POST", DEFINITIONS, definition({"type": "object", "properties": {"a": {"type": "string", "enum": words}}})
    )


_ENUM: Object = {"type": "array", "items": {"type": "string", "enum": _WORDS}}


@bomb("custom: words that are not in a long enum", kind({"type": "object", "properties": {"a": _ENUM}}))
def _() -> HTTPRequest:
    head, tail = widget('{"a":[%s]}')
    return ask("POST", WIDGETS, filled(head, '"x"', tail, most=1_200))


@bomb("custom: many words that are not in a long enum", kind({"type": "object", "properties": {"a": _ENUM}}))
def _() -> HTTPRequest:
    head, tail = widget('{"a":[%s]}')
    return ask("POST", WIDGETS, filled(head, '"x"', tail, most=45_000))


@bomb("custom: many words at the end of a long enum", kind({"type": "object", "properties": {"a": _ENUM}}))
def _() -> HTTPRequest:
    head, tail = widget('{"a":[%s]}')
    return ask("POST", WIDGETS, filled(head, '"word39999"', tail, most=45_000))


_PATTERN: Object = {"type": "array", "items": {"type": "string", "pattern": "^" + "a?" * 900 + "$"}}


@bomb("custom: a long pattern", kind({"type": "object", "properties": {"a": _PATTERN}}))
def _() -> HTTPRequest:
    head, tail = widget('{"a":[%s]}')
    return ask("POST", WIDGETS, filled(head, '"aab"', tail, most=45_000))


@bomb(
    "custom: a long text for a pattern",
    kind({"type": "object", "properties": {"a": {"type": "string", "pattern": "(x+x+)+y|(.*a){20}"}}}),
)
def _() -> HTTPRequest:
    head, tail = widget('{"a":"%s"}')
    return ask("POST", WIDGETS, head.encode() + b"xa" * 1_400_000 + tail.encode())


def _patterns(count: int) -> Object:
    return {
        "type": "object",
        "properties": {f"p{n}": {"type": "string", "pattern": f"(a{{{n % 500}}}){{2}}|x{n}"} for n in range(count)},
    }


@bomb("definition: 10,000 patterns")
def _() -> HTTPRequest:
    return ask("POST", DEFINITIONS, definition(_patterns(10_000)))


@bomb("custom: 1,500 patterns", kind(_patterns(1_500)))
def _() -> HTTPRequest:
    head, tail = widget("{%s}")
    return ask("POST", WIDGETS, filled(head, '"p%d":"b"', tail, most=1_500))


_DEEP_ANY: Object = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def _any_of(depth: int) -> Object:
    schema: Object = {"minProperties": 1}
    for _ in range(depth):
        schema = {"anyOf": [{"required": ["x"]}, {"required": ["y"]}, schema]}
    return {**OPEN, **schema}


@bomb(
    "custom: combinations within combinations",
    kind({"type": "object", "properties": {"a": {"type": "array", "items": _any_of(60)}}}),
)
def _() -> HTTPRequest:
    head, tail = widget('{"a":[%s]}')
    return ask("POST", WIDGETS, filled(head, "{}", tail, most=24_000))


@bomb("custom: many schemas for one value", kind({**OPEN, "anyOf": [{"required": [f"x{n}"]} for n in range(20_000)]}))
def _() -> HTTPRequest:
    head, tail = widget('{"a":[%s]}')
    return ask("POST", WIDGETS, filled(head, "1", tail, most=10))


_ALTERNATIVES: Object = {**OPEN, "anyOf": [{"required": [f"x{n}"]} for n in range(8_000)]}


@bomb(
    "custom: many schemas for many values",
    kind({"type": "object", "properties": {"a": {"type": "array", "items": _ALTERNATIVES}}}),
)
def _() -> HTTPRequest:
    head, tail = widget('{"a":[%s]}')
    return ask("POST", WIDGETS, filled(head, "{}", tail, most=24_000))


@bomb(
    "custom: many required fields of many values",
    kind(
        {
            "type": "object",
            "properties": {
                "a": {
                    "type": "array",
                    "items": {"type": "object", "required": [f"x{n}" for n in range(20_000)]},
                }
            },
        }
    ),
)
def _() -> HTTPRequest:
    head, tail = widget('{"a":[%s]}')
    return ask("POST", WIDGETS, filled(head, "{}", tail, most=24_000))


_DEFAULTS: Object = {"type": "object", "properties": {f"d{n}": {"type": "integer", "default": 1} for n in range(5_000)}}


@bomb(
    "custom: defaults that multiply",
    kind({"type": "object", "properties": {"a": {"type": "array", "items": _DEFAULTS}}}),
)
def _() -> HTTPRequest:
    head, tail = widget('{"a":[%s]}')
    return ask("POST", WIDGETS, filled(head, "{}", tail, most=24_000))


@bomb(
    "custom: one long default",
    kind(
        {
            "type": "object",
            "properties": {
                "a": {
                    "type": "array",
                    "items": {"type": "object", "properties": {"d": {"type": "string", "default": "x" * 100_000}}},
                }
            },
        }
    ),
)
def _() -> HTTPRequest:
    head, tail = widget('{"a":[%s]}')
    return ask("POST", WIDGETS, filled(head, "{}", tail, most=24_000))


_SET: Object = {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}


@bomb("custom: repetitions in a set", kind({"type": "object", "properties": {"a": _SET}}))
def _() -> HTTPRequest:
    head, tail = widget('{"a":[%s]}')
    return ask("POST", WIDGETS, filled(head, '"x"', tail, most=45_000))


@bomb(
    "custom: wrong types", kind({"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string"}}}})
)
def _() -> HTTPRequest:
    head, tail = widget('{"a":[%s]}')
    return ask("POST", WIDGETS, filled(head, "1", tail))


@bomb(
    "custom: 45,000 wrong types",
    kind({"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string"}}}}),
)
def _() -> HTTPRequest:
    head, tail = widget('{"a":[%s]}')
    return ask("POST", WIDGETS, filled(head, "1", tail, most=45_000))


@bomb("custom: 45,000 fields that may be anything", kind(OPEN))
def _() -> HTTPRequest:
    head, tail = widget("{%s}")
    return ask("POST", WIDGETS, filled(head, '"a%d":{}', tail, most=24_000))


@bomb("definition: a schema of very many fields")
def _() -> HTTPRequest:
    whole = json.dumps(definition({"type": "object", "properties": {"%": 1}}))
    head, tail = whole.split('"%": 1')
    return ask("POST", DEFINITIONS, filled(head, '"f%d":{"type":"string"}', tail))


@bomb("definition: a schema of 20,000 fields")
def _() -> HTTPRequest:
    whole = json.dumps(definition({"type": "object", "properties": {"%": 1}}))
    head, tail = whole.split('"%": 1')
    return ask("POST", DEFINITIONS, filled(head, '"f%d":{"type":"string"}', tail, most=16_000))


@bomb("definition: a schema of 20,000 wrong fields")
def _() -> HTTPRequest:
    whole = json.dumps(definition({"type": "object", "properties": {"%": 1}}))
    head, tail = whole.split('"%": 1')
    return ask("POST", DEFINITIONS, filled(head, '"f%d":{"type":"odd"}', tail, most=16_000))


@bomb("definition: nested schemas")
def _() -> HTTPRequest:
    schema: Object = {"type": "string"}
    for _ in range(80):
        schema = {"type": "object", "properties": {"x" * 10_000: schema}}
    return ask("POST", DEFINITIONS, definition(schema))


@bomb("definition: formats that nobody knows")
def _() -> HTTPRequest:
    whole = json.dumps(definition({"type": "object", "properties": {"%": 1}}))
    head, tail = whole.split('"%": 1')
    return ask("POST", DEFINITIONS, filled(head, '"f%d":{"type":"string","format":"x%d"}', tail, most=12_000))


@bomb("definition: list keys that are no fields")
def _() -> HTTPRequest:
    keys = [f"k{n}" for n in range(20_000)]
    items = {
        "type": "object",
        "properties": {key: {"type": "string"} for key in keys[:8_000]},
        "required": keys[:8_000][::-1],
    }
    lists = {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": keys[:8_000],
        "items": items,
    }
    return ask("POST", DEFINITIONS, definition({"type": "object", "properties": {"a": lists}}))


@bomb("definition: many selectable fields")
def _() -> HTTPRequest:
    fields = [{"jsonPath": f".spec.x{n}"} for n in range(20_000)]
    return ask("POST", DEFINITIONS, definition(OPEN, selectableFields=fields))


@bomb("definition: many printer columns")
def _() -> HTTPRequest:
    columns = [{"name": f"c{n}", "type": "string", "jsonPath": ".spec.a"} for n in range(10_000)]
    return ask("POST", DEFINITIONS, definition(OPEN, additionalPrinterColumns=columns))


@bomb("definition: many versions")
def _() -> HTTPRequest:
    whole = definition(OPEN)
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    whole["spec"]["versions"] = [
        {"name": f"v{n}", "served": True, "storage": n == 1, "schema": schema} for n in range(1, 5_000)
    ]
    return ask("POST", DEFINITIONS, whole)


@bomb("definition: many short names")
def _() -> HTTPRequest:
    whole = definition(OPEN)
    whole["spec"]["names"]["shortNames"] = [f"w{n}" for n in range(40_000)]
    return ask("POST", DEFINITIONS, whole)


# Kinds of the API


def _pod() -> Object:
    return {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


@bomb("node: 20,000 bad taints", N)
def _() -> HTTPRequest:
    body = filled('{"metadata":{"name":"n"},"spec":{"taints":[', '{"key":"!","effect":"x"}', "]}}", most=16_000)
    return ask("PUT", f"{NODES}/n", body)


@bomb("node: 45,000 ranges")
def _() -> HTTPRequest:
    return ask(
        "POST",
        NODES,
        filled(
            '{"metadata":{"name":"n"},"spec":{"podCIDR":"10.0.0.0/8","podCIDRs":["10.0.0.0/8",',
            '"10.0.0.%d/33"',
            "]}}",
            most=45_000,
        ),
    )


@bomb("node: 20,000 addresses", N)
def _() -> HTTPRequest:
    body = filled('{"status":{"addresses":[', '{"type":"A","address":"a"}', "]}}", most=16_000)
    return ask("PATCH", f"{NODES}/n/status", body, MERGE)


@bomb("pod: tolerations", lambda: [ask("POST", PODS, _pod())])
def _() -> HTTPRequest:
    body = filled('{"spec":{"tolerations":[', '{"key":"k%d"}', "]}}", most=24_000)
    return ask("PATCH", f"{PODS}/p", body, MERGE)


@bomb("role: 20,000 rules without verbs")
def _() -> HTTPRequest:
    path = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
    return ask("POST", path, filled('{"metadata":{"name":"r"},"rules":[', '{"verbs":[]}', "]}", most=16_000))


@bomb("deployment: a selector of many values")
def _() -> HTTPRequest:
    path = "/apis/apps/v1/namespaces/default/deployments"
    head = '{"metadata":{"name":"d"},"spec":{"template":{"metadata":{"labels":{"a":"x"}},"spec":{"containers":[{"name":"c","image":"i"}]}},"selector":{"matchExpressions":['
    return ask("POST", path, filled(head, '{"key":"a","operator":"NotIn","values":["x%d"]}', "]}}}", most=9_000))


@bomb("namespace: bad finalizers")
def _() -> HTTPRequest:
    path = "/api/v1/namespaces"
    return ask("POST", path, filled('{"metadata":{"name":"x"},"spec":{"finalizers":[', '"!%d"', "]}}", most=45_000))


@bomb("delete: options of 3 MB", A)
def _() -> HTTPRequest:
    return ask("DELETE", f"{CONFIGS}/a", filled('{"dryRun":[', '"x"', "]}"))


@bomb("delete: 45,000 odd options", A)
def _() -> HTTPRequest:
    return ask("DELETE", f"{CONFIGS}/a", filled('{"dryRun":[', '"x%d"', "]}", most=45_000))


# Reads


def _many(count: int) -> Before:
    return lambda: [
        ask("POST", CONFIGS, config(f"c{number:06}", labels={"a": f"v{number}"})) for number in range(count)
    ]


_VALUES = "a in (" + ",".join(f"v{number}" for number in range(9_000)) + ")"


@bomb("list: 3,000 objects by a selector of 9,000 values", _many(3_000))
def _() -> HTTPRequest:
    return ask("GET", CONFIGS, labelSelector=_VALUES)


@bomb("list: 3,000 objects by 12,000 requirements", _many(3_000))
def _() -> HTTPRequest:
    return ask("GET", CONFIGS, labelSelector=",".join(["a"] * 30_000))


@bomb("list: 3,000 objects by 2,500 field requirements", _many(3_000))
def _() -> HTTPRequest:
    return ask("GET", CONFIGS, fieldSelector=",".join(["metadata.name!=x"] * 3_500))


@bomb("list: one of 20,000 objects", _many(20_000))
def _() -> HTTPRequest:
    return ask("GET", CONFIGS, limit="1")


@bomb("list: one of 20,000 objects by a selector that selects none", _many(20_000))
def _() -> HTTPRequest:
    return ask("GET", CONFIGS, limit="1", labelSelector="a=x")


@bomb("watch: 20,000 objects by a selector that selects none", _many(20_000))
def _() -> HTTPRequest:
    return ask("GET", CONFIGS, watch="1", labelSelector="a=x")


@bomb("list: a selector of odd characters")
def _() -> HTTPRequest:
    return ask("GET", CONFIGS, fieldSelector="\\" * 60_001)


@bomb("list: a selector of a long key")
def _() -> HTTPRequest:
    return ask("GET", CONFIGS, labelSelector="a." * 30_000 + "/" + "b" * 1_000)


@bomb("list: a token of 60 KB")
def _() -> HTTPRequest:
    return ask("GET", CONFIGS, **{"continue": "A" * 60_000})


@bomb("create: field manager of odd characters")
def _() -> HTTPRequest:
    return ask("POST", CONFIGS, config(), fieldManager="\x01" * 60_000)


# As much as may be, and as may be stored


def _keys(
    method: str, path: str, count: int, first: int = 0, media_type: str = JSON, value: str = "", **query: str
) -> HTTPRequest:
    members = ",".join(f'"{number:x}":"{value}"' for number in range(first, first + count))
    body = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{' + members + "}}"
    return ask(method, path, body.encode(), media_type, **query)


_MOST = 39_000
_FULL = stored(_keys("POST", CONFIGS, _MOST))


@bomb("most: created")
def _() -> HTTPRequest:
    return _keys("POST", CONFIGS, 79_000)


@bomb("most: created and stored")
def _() -> HTTPRequest:
    return _keys("POST", CONFIGS, _MOST)


@bomb("most: created, in yaml")
def _() -> HTTPRequest:
    return ask("POST", CONFIGS, filled("{metadata: {name: a}, data: {", " k%d: ''", "}}", most=79_000), YAML)


@bomb("most: scalars of all kinds, in yaml")
def _() -> HTTPRequest:
    item = "1.%d, 0x%d, 2020-01-01, ~, yes, 1:2%d"
    return ask("POST", CONFIGS, filled("{metadata: {name: a}, x: [", item, "]}", most=16_000), YAML)


@bomb("most: updated to others", _FULL)
def _() -> HTTPRequest:
    return _keys("PUT", f"{CONFIGS}/a", _MOST, 1 << 20)


@bomb("most: updated to very many others", _FULL)
def _() -> HTTPRequest:
    return _keys("PUT", f"{CONFIGS}/a", 79_000, 1 << 20)


@bomb("most: patched a little", _FULL)
def _() -> HTTPRequest:
    return ask("PATCH", f"{CONFIGS}/a", {"metadata": {"labels": {"a": "b"}}}, MERGE)


@bomb("most: merged with others", _FULL)
def _() -> HTTPRequest:
    return _keys("PATCH", f"{CONFIGS}/a", 79_000, 1 << 20, MERGE)


@bomb("most: merged with some others", _FULL)
def _() -> HTTPRequest:
    return _keys("PATCH", f"{CONFIGS}/a", 45_000, 1 << 20, MERGE)


@bomb("most: all removed by a patch", _FULL)
def _() -> HTTPRequest:
    return ask("PATCH", f"{CONFIGS}/a", {"data": None}, MERGE)


@bomb("most: applied", _FULL)
def _() -> HTTPRequest:
    return _keys("PATCH", f"{CONFIGS}/a", 79_000, 0, APPLY, fieldManager="m")


@bomb("most: applied where nothing is")
def _() -> HTTPRequest:
    return _keys("PATCH", f"{CONFIGS}/a", 79_000, 0, APPLY, fieldManager="m")


@bomb("most: applied as it is", _FULL)
def _() -> HTTPRequest:
    return _keys("PATCH", f"{CONFIGS}/a", _MOST, 0, APPLY, fieldManager="m")


@bomb("most: applied with conflicts", _FULL)
def _() -> HTTPRequest:
    return _keys("PATCH", f"{CONFIGS}/a", _MOST, 0, APPLY, "x", fieldManager="m")


@bomb("most: applied by force", _FULL)
def _() -> HTTPRequest:
    return _keys("PATCH", f"{CONFIGS}/a", _MOST, 0, APPLY, "x", fieldManager="m", force="true")


@bomb("most: applied a little", _FULL)
def _() -> HTTPRequest:
    return _keys("PATCH", f"{CONFIGS}/a", 1, 1 << 20, APPLY, fieldManager="m")


def _given_up() -> list[HTTPRequest]:
    return [_keys("PATCH", f"{CONFIGS}/a", _MOST, 0, APPLY, fieldManager="m")]


@bomb("most: given up", _given_up)
def _() -> HTTPRequest:
    return _keys("PATCH", f"{CONFIGS}/a", 1, 1 << 20, APPLY, fieldManager="m")


@bomb("most: exchanged for others", _given_up)
def _() -> HTTPRequest:
    return _keys("PATCH", f"{CONFIGS}/a", 45_000, 1 << 20, APPLY, fieldManager="m")


def _owned_by_many() -> list[HTTPRequest]:
    fields = '"f:data":{' + ",".join(f'"f:{number:x}":{{}}' for number in range(300)) + "}"
    entries = _entries(240, fields).replace("Update", "Apply")
    data = json.dumps({f"{number:x}": "" for number in range(300)})
    body = '{"metadata":{"name":"a","managedFields":[' + entries + ']},"data":' + data + "}"
    return [_keys("POST", CONFIGS, 300), ask("PUT", f"{CONFIGS}/a", body.encode())]


@bomb("most: owned by many, and changed by force", _owned_by_many)
def _() -> HTTPRequest:
    return _keys("PATCH", f"{CONFIGS}/a", 300, 0, APPLY, "x", fieldManager="x", force="true")


@bomb("most: owned by many, and removed", _owned_by_many)
def _() -> HTTPRequest:
    return ask("PATCH", f"{CONFIGS}/a", {"data": None}, MERGE)


@bomb("most: owned by many, in conflict", _owned_by_many)
def _() -> HTTPRequest:
    return _keys("PATCH", f"{CONFIGS}/a", 300, 0, APPLY, "x", fieldManager="x")


@bomb("most: deleted", _FULL)
def _() -> HTTPRequest:
    return ask("DELETE", f"{CONFIGS}/a")


def _shown(accept: str, **query: str) -> HTTPRequest:
    return HTTPRequest("GET", f"{CONFIGS}/a", tuple(query.items()), {"accept": accept})


@bomb("most: read as yaml", _FULL)
def _() -> HTTPRequest:
    return _shown("application/yaml")


@bomb("most: read as a table", _FULL)
def _() -> HTTPRequest:
    return _shown("application/json;as=Table;v=v1;g=meta.k8s.io", includeObject="Object")


@bomb("most: read as metadata", _FULL)
def _() -> HTTPRequest:
    return _shown("application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io")


@bomb("most: containers")
def _() -> HTTPRequest:
    return ask(
        "POST",
        PODS,
        filled('{"metadata":{"name":"p"},"spec":{"containers":[', '{"name":"c%d","image":"i"}', "]}}", most=26_000),
    )


@bomb("most: containers that may be stored")
def _() -> HTTPRequest:
    return ask(
        "POST",
        PODS,
        filled('{"metadata":{"name":"p"},"spec":{"containers":[', '{"name":"c%d","image":"i"}', "]}}", most=6_000),
    )


@bomb("most: containers applied")
def _() -> HTTPRequest:
    head = '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":['
    return ask(
        "PATCH", f"{PODS}/p", filled(head, '{"name":"c%d","image":"i"}', "]}}", most=26_000), APPLY, fieldManager="m"
    )


@bomb("most: conditions merged", _conditions)
def _() -> HTTPRequest:
    body = filled('{"status":{"conditions":[', '{"type":"u%d"}', "]}}", most=39_000)
    return ask("PATCH", f"{NODES}/n/status", body, STRATEGIC)


@bomb("most: fields of one owner", A)
def _() -> HTTPRequest:
    fields = '"f:data":{' + _members(75_000, '"f:%x":{}') + "}"
    body = '{"metadata":{"name":"a","managedFields":[' + _entries(1, fields) + ']},"data":{"k":"v"}}'
    return ask("PUT", f"{CONFIGS}/a", body.encode())


@bomb("most: elements of one owner", A)
def _() -> HTTPRequest:
    fields = '"f:data":{' + _members(75_000, r'"k:{\"a\":%x}":{}') + "}"
    body = '{"metadata":{"name":"a","managedFields":[' + _entries(1, fields) + ']},"data":{"k":"v"}}'
    return ask("PUT", f"{CONFIGS}/a", body.encode())


@bomb("most: a step that holds a list", A)
def _() -> HTTPRequest:
    fields = r'"v:[' + "[]," * 900_000 + '[]]":{}'
    body = '{"metadata":{"name":"a","managedFields":[' + _entries(1, fields) + ']},"data":{"k":"v"}}'
    return ask("PUT", f"{CONFIGS}/a", body.encode())


@bomb("most: fields of a widget", kind(OPEN))
def _() -> HTTPRequest:
    head, tail = widget("{%s}")
    return ask("POST", WIDGETS, filled(head, '"a%d":{"b":1}', tail, most=26_000))


@bomb("most: twenty levels deep", kind(OPEN))
def _() -> HTTPRequest:
    head, tail = widget('{"a":' * 20 + "{%s}" + "}" * 20)
    return ask("POST", WIDGETS, filled(head, '"%d":1', tail, most=79_000))


@bomb("most: as deep as may be", kind(OPEN))
def _() -> HTTPRequest:
    head, tail = widget('{"a":' * 300 + "{%s}" + "}" * 300)
    return ask("POST", WIDGETS, filled(head, '"%d":1', tail, most=6_000))


@bomb(
    "most: values of many schemas",
    kind(
        {
            "type": "object",
            "additionalProperties": {
                "x-kubernetes-int-or-string": True,
                "anyOf": [{"type": "integer"}, {"type": "string"}],
            },
        }
    ),
)
def _() -> HTTPRequest:
    head, tail = widget("{%s}")
    return ask("POST", WIDGETS, filled(head, '"%d":"x"', tail, most=39_000))


@bomb(
    "most: values that match a pattern",
    kind(
        {
            "type": "object",
            "additionalProperties": {"type": "string", "pattern": "^[a-z]{1,200}$", "format": "uuid", "maxLength": 100},
        }
    ),
)
def _() -> HTTPRequest:
    head, tail = widget("{%s}")
    return ask("POST", WIDGETS, filled(head, '"%d":"xyzxyzxyzxyzxyz"', tail, most=78_000))


@bomb(
    "most: values that are dates",
    kind({"type": "object", "additionalProperties": {"type": "string", "format": "date-time"}}),
)
def _() -> HTTPRequest:
    head, tail = widget("{%s}")
    return ask("POST", WIDGETS, filled(head, '"%d":"2020-01-01T00:00:00Z"', tail, most=78_000))


@bomb(
    "most: a text with a format",
    kind(
        {
            "type": "object",
            "properties": {
                "a": {"type": "string", "format": "duration"},
                "b": {"type": "string", "format": "email"},
                "c": {"type": "string", "format": "hostname"},
            },
        }
    ),
)
def _() -> HTTPRequest:
    head, tail = widget("{%s}")
    values = '"a":"' + "1.1 h " * 150_000 + '!","b":"' + "<a@" * 300_000 + '","c":"' + "a.b-" * 250_000 + '!"'
    return ask(
        "POST",
        WIDGETS,
        (
            head
            + values[: BODY_LIMIT - 500 - len(head)]
            + '"' * (values[BODY_LIMIT - 501 : BODY_LIMIT - 500] != "")
            + tail
        ).encode(),
    )


@bomb("create: names that nearly match")
def _() -> HTTPRequest:
    labels = {
        "a" * 500_000 + "!": "a" * 500_000 + "!",
        "a." * 250_000 + "!": "a-" * 250_000 + "!",
        "a.b/" + "." * 500_000: "-",
    }
    return ask("POST", CONFIGS, {"metadata": {"name": "a", "labels": labels, "finalizers": ["a." * 200_000 + "/x"]}})


@bomb("create: quantities and times that nearly match")
def _() -> HTTPRequest:
    pod = _pod()
    pod["spec"]["containers"][0]["resources"] = {"limits": {"cpu": "1" * 3_000_000 + "x"}}
    return ask("POST", PODS, pod)


@bomb("create: a long wrong time")
def _() -> HTTPRequest:
    return ask(
        "POST", CONFIGS, {"metadata": {"name": "a", "creationTimestamp": "2020-01-01T00:00:00." + "1" * 3_000_000}}
    )

# SPDX-License-Identifier: Apache-2.0
"""JSON patches, merge patches and strategic merge patches."""

from __future__ import annotations

from typing import Any

from apimachinery.http import HTTPRequest
from bombs.making import (
    A_CONFIG,
    A_NODE,
    CONFIGS,
    JSON_PATCH,
    MERGE,
    NODES,
    STRATEGIC,
    ask,
    bomb,
    conditions,
    config,
    dying,
    filled,
    members,
    stored,
)


@bomb("json patch: inserts into a big list", A_NODE)
def _() -> HTTPRequest:
    big = '{"op":"add","path":"/status/images","value":[' + ",".join(["1"] * 1_100_000) + "]}"
    more = ",".join(['{"op":"add","path":"/status/images/0","value":1}'] * 9_999)
    return ask("PATCH", f"{NODES}/n/status", f"[{big},{more}]".encode(), JSON_PATCH)


@bomb("json patch: inserts into a list of 90,000", A_NODE)
def _() -> HTTPRequest:
    big = '{"op":"add","path":"/status/images","value":[' + ",".join(["{}"] * 45_000) + "]}"
    more = ",".join(['{"op":"add","path":"/status/images/0","value":{}}'] * 9_999)
    return ask("PATCH", f"{NODES}/n/status", f"[{big},{more}]".encode(), JSON_PATCH)


@bomb("json patch: additions to a big object", A_CONFIG)
def _() -> HTTPRequest:
    big = '{"op":"add","path":"/data","value":{' + members(70_000) + "}}"
    more = ",".join(f'{{"op":"add","path":"/data/x{number}","value":""}}' for number in range(9_999))
    return ask("PATCH", f"{CONFIGS}/a", f"[{big},{more}]".encode(), JSON_PATCH)


@bomb("json patch: removals from the front", A_NODE)
def _() -> HTTPRequest:
    big = '{"op":"add","path":"/status/images","value":[' + ",".join(["{}"] * 45_000) + "]}"
    more = ",".join(['{"op":"remove","path":"/status/images/0"}'] * 9_999)
    return ask("PATCH", f"{NODES}/n/status", f"[{big},{more}]".encode(), JSON_PATCH)


@bomb("json patch: tests of a big value", A_CONFIG)
def _() -> HTTPRequest:
    big = '{"op":"add","path":"/data","value":{' + members(40_000) + "}}"
    copy = '{"op":"copy","from":"/data","path":"/other"}'
    more = ",".join(['{"op":"test","path":"/data","value":{' + members(40) + "}}"] * 900)
    return ask("PATCH", f"{CONFIGS}/a", f"[{big},{copy},{more}]".encode(), JSON_PATCH)


@bomb("json patch: 10,000 tests of a long text", A_CONFIG)
def _() -> HTTPRequest:
    big = '{"op":"add","path":"/data","value":{"k":"' + "x" * 1_500_000 + '"}}'
    more = ",".join(['{"op":"test","path":"/data/k","value":"x"}'] * 1 + ['{"op":"test","path":"","value":{}}'] * 9_000)
    return ask("PATCH", f"{CONFIGS}/a", f"[{big},{more}]".encode(), JSON_PATCH)


@bomb("json patch: copies that double", A_CONFIG)
def _() -> HTTPRequest:
    start = [{"op": "add", "path": "/data", "value": {"a": {}}}]
    copies = [{"op": "copy", "from": "/data", "path": f"/data/{number}"} for number in range(60)]
    return ask("PATCH", f"{CONFIGS}/a", start + copies, JSON_PATCH)


@bomb("json patch: copies of something big and empty", A_CONFIG)
def _() -> HTTPRequest:
    start = '{"op":"add","path":"/x","value":[' + ",".join(["{}"] * 45_000) + "]}"
    copies = ",".join(f'{{"op":"copy","from":"/x","path":"/x{number}"}}' for number in range(9_000))
    return ask("PATCH", f"{CONFIGS}/a", f"[{start},{copies}]".encode(), JSON_PATCH)


@bomb("json patch: copies of copies, just small enough", A_CONFIG)
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


@bomb("json patch: one path of a million steps", A_CONFIG)
def _() -> HTTPRequest:
    return ask("PATCH", f"{CONFIGS}/a", [{"op": "add", "path": "/a" * 1_500_000, "value": 1}], JSON_PATCH)


@bomb("json patch: moves of a big part", A_CONFIG)
def _() -> HTTPRequest:
    start = '{"op":"add","path":"/x","value":{"a":{' + members(60_000) + "}}}"
    moves = ",".join(
        f'{{"op":"move","from":"/x/{old}","path":"/x/{new}"}}' for _ in range(4_500) for old, new in ("ab", "ba")
    )
    return ask("PATCH", f"{CONFIGS}/a", f"[{start},{moves}]".encode(), JSON_PATCH)


@bomb(
    "merge patch: many keys",
    lambda: [ask("POST", CONFIGS, filled('{"metadata":{"name":"a"},"data":{', '"%d":""', "}}", most=20_000))],
)
def _() -> HTTPRequest:
    return ask("PATCH", f"{CONFIGS}/a", filled('{"data":{', '"a%d":""', "}}", most=24_000), MERGE)


@bomb("merge patch: all that fits", A_CONFIG)
def _() -> HTTPRequest:
    return ask("PATCH", f"{CONFIGS}/a", filled('{"data":{', '"a%d":null', "}}"), MERGE)


@bomb("merge patch: a million empty lists", A_NODE)
def _() -> HTTPRequest:
    return ask("PATCH", f"{NODES}/n", filled('{"spec":{"taints":[', "[]", "]}}"), MERGE)


@bomb("strategic: addresses", A_NODE)
def _() -> HTTPRequest:
    body = filled('{"status":{"conditions":[', '{"type":"t%d","status":"True"}', "]}}", most=16_000)
    return ask("PATCH", f"{NODES}/n/status", body, STRATEGIC)


@bomb("strategic: elements deleted, with an order", conditions)
def _() -> HTTPRequest:
    order = ",".join(f'{{"type":"t{number}"}}' for number in range(8_000, 0, -1))
    body = filled(
        '{"status":{"$setElementOrder/conditions":[' + order + '],"conditions":[',
        '{"type":"t%d","status":"False"}',
        "]}}",
        most=8_000,
    )
    return ask("PATCH", f"{NODES}/n/status", body, STRATEGIC)


@bomb("strategic: kept keys", A_CONFIG)
def _() -> HTTPRequest:
    keys = ",".join(f'"k{number}"' for number in range(24_000))
    return ask(
        "PATCH",
        f"{CONFIGS}/a",
        filled('{"data":{"$retainKeys":[' + keys + "],", '"k%d":""', "}}", most=24_000),
        STRATEGIC,
    )


@bomb("strategic: finalizers deleted", dying(20_000))
def _() -> HTTPRequest:
    body = filled('{"metadata":{"$deleteFromPrimitiveList/finalizers":[', '"a.b/x%d"', "]}}", most=20_000)
    return ask("PATCH", f"{CONFIGS}/a", body, STRATEGIC)

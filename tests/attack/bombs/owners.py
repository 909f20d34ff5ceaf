# SPDX-License-Identifier: Apache-2.0
"""Field ownership: managedFields that a client sends, and server-side apply."""

from __future__ import annotations

from apimachinery.http import BODY_LIMIT, HTTPRequest
from bombs.making import (
    A_CONFIG,
    APPLY,
    CONFIGS,
    OPEN,
    PODS,
    WIDGETS,
    ask,
    bomb,
    entries,
    filled,
    kind,
    members,
    one_pod,
    widget,
)


@bomb("15,000 managedFields", A_CONFIG)
def _() -> HTTPRequest:
    body = '{"metadata":{"name":"a","managedFields":[' + entries(15_000) + ']},"data":{"k":"v"}}'
    return ask("PUT", f"{CONFIGS}/a", body.encode())


@bomb("managedFields: as many as may be", A_CONFIG)
def _() -> HTTPRequest:
    body = '{"metadata":{"name":"a","managedFields":[' + entries(6_000) + ']},"data":{"k":"v"}}'
    return ask("PUT", f"{CONFIGS}/a", body.encode())


@bomb("managedFields: one version each", A_CONFIG)
def _() -> HTTPRequest:
    pieces = entries(5_000).split('"apiVersion":"v1"')
    joined = "".join(f'{part}"apiVersion":"v{number}"' for number, part in enumerate(pieces[:-1])) + pieces[-1]
    body = '{"metadata":{"name":"a","managedFields":[' + joined + ']},"data":{"k":"v"}}'
    return ask("PUT", f"{CONFIGS}/a", body.encode())


@bomb("managedFields: a thousand of a thousand fields", A_CONFIG)
def _() -> HTTPRequest:
    fields = '"f:data":{' + ",".join(f'"f:{number}":{{}}' for number in range(250)) + "}"
    body = '{"metadata":{"name":"a","managedFields":[' + entries(250, fields) + ']},"data":{"k":"v"}}'
    return ask("PUT", f"{CONFIGS}/a", body[: BODY_LIMIT - 10].encode())


@bomb("managedFields: deep and wide", A_CONFIG)
def _() -> HTTPRequest:
    fields = '"f:a":{' * 450 + members(30_000, '"f:k%d":{}') + "}" * 450
    body = '{"metadata":{"name":"a","managedFields":[' + entries(1, fields) + ']},"data":{"k":"v"}}'
    return ask("PUT", f"{CONFIGS}/a", body.encode())


@bomb("apply: 40,000 keys of a config map", A_CONFIG)
def _() -> HTTPRequest:
    body = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{' + members(40_000) + "}}"
    return ask("PATCH", f"{CONFIGS}/a", body.encode(), APPLY, fieldManager="m")


@bomb("apply: all keys of a config map that fit", A_CONFIG)
def _() -> HTTPRequest:
    head = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{'
    return ask("PATCH", f"{CONFIGS}/a", filled(head, '"%d":""', "}}"), APPLY, fieldManager="m")


def _applied(manager: str, count: int, value: str = "") -> HTTPRequest:
    head = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{'
    body = head + members(count, f'"k%07d":"{value}"') + "}}"
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


@bomb("apply: a list with keys", lambda: [ask("POST", PODS, one_pod())])
def _() -> HTTPRequest:
    head = '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":['
    return ask("PATCH", f"{PODS}/p", filled(head, '{"name":"c%d","image":"i"}', "]}}"), APPLY, fieldManager="m")


@bomb("apply: one key repeated", lambda: [ask("POST", PODS, one_pod())])
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

# SPDX-License-Identifier: Apache-2.0
"""Objects to create and update, in JSON."""

from __future__ import annotations

import json

from apimachinery.http import HTTPRequest
from bombs.making import (
    CONFIGS,
    DEFINITIONS,
    OPEN,
    PODS,
    WIDGETS,
    ask,
    bomb,
    config,
    definition,
    dying,
    filled,
    kind,
    widget,
)


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


@bomb("update: 39,000 new finalizers of an object being deleted", dying(39_000))
def _() -> HTTPRequest:
    return ask("PUT", f"{CONFIGS}/a", filled('{"metadata":{"name":"a","finalizers":[', '"a.b/y%d"', "]}}", most=39_000))


@bomb("update: 20,000 new finalizers of an object being deleted", dying(20_000))
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

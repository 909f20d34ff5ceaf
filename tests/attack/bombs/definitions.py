# SPDX-License-Identifier: Apache-2.0
"""Custom kinds: schemas whose checks are expensive."""

from __future__ import annotations

import json

from apimachinery.http import HTTPRequest
from bombs.making import DEFINITIONS, OPEN, WIDGETS, Object, ask, bomb, definition, filled, kind, widget

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


EMBEDDED = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}


@bomb(
    "custom: objects within objects, below a long name",
    kind({"type": "object", "additionalProperties": {"type": "array", "items": EMBEDDED}}),
)
def _() -> HTTPRequest:
    head, tail = widget('{"' + "x" * 1_000_000 + '":[%s]}')
    return ask("POST", WIDGETS, filled(head, "{}", tail, most=39_000))


_DEFAULTED = {"type": "object", "default": {f"d{n}": n for n in range(5_000)}, "properties": {}}


@bomb("definition: defaults with unknown fields")
def _() -> HTTPRequest:
    return ask(
        "POST", DEFINITIONS, definition({"type": "object", "properties": {f"p{n}": _DEFAULTED for n in range(15)}})
    )


@bomb("definition: one default within another")
def _() -> HTTPRequest:
    schema: Object = {"type": "string", "default": "x" * 10_000}
    for _ in range(60):
        schema = {"type": "object", "default": {}, "properties": {"a": schema}}
    return ask("POST", DEFINITIONS, definition(schema))

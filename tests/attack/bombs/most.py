# SPDX-License-Identifier: Apache-2.0
"""Bodies and stored objects at the limits of size and number of values."""

from __future__ import annotations

import json

from apimachinery.http import BODY_LIMIT, HTTPRequest
from bombs.making import (
    A_CONFIG,
    APPLY,
    CONFIGS,
    MERGE,
    NODES,
    OPEN,
    PODS,
    STRATEGIC,
    WIDGETS,
    YAML,
    ask,
    bomb,
    conditions,
    entries,
    filled,
    keys,
    kind,
    members,
    one_pod,
    stored,
    widget,
)

_MOST = 39_000
_FULL = stored(keys("POST", CONFIGS, _MOST))


@bomb("most: created")
def _() -> HTTPRequest:
    return keys("POST", CONFIGS, 79_000)


@bomb("most: created and stored")
def _() -> HTTPRequest:
    return keys("POST", CONFIGS, _MOST)


@bomb("most: created, in yaml")
def _() -> HTTPRequest:
    return ask("POST", CONFIGS, filled("{metadata: {name: a}, data: {", " k%d: ''", "}}", most=79_000), YAML)


@bomb("most: scalars of all kinds, in yaml")
def _() -> HTTPRequest:
    item = "1.%d, 0x%d, 2020-01-01, ~, yes, 1:2%d"
    return ask("POST", CONFIGS, filled("{metadata: {name: a}, x: [", item, "]}", most=16_000), YAML)


@bomb("most: updated to others", _FULL)
def _() -> HTTPRequest:
    return keys("PUT", f"{CONFIGS}/a", _MOST, 1 << 20)


@bomb("most: updated to very many others", _FULL)
def _() -> HTTPRequest:
    return keys("PUT", f"{CONFIGS}/a", 79_000, 1 << 20)


@bomb("most: patched a little", _FULL)
def _() -> HTTPRequest:
    return ask("PATCH", f"{CONFIGS}/a", {"metadata": {"labels": {"a": "b"}}}, MERGE)


@bomb("most: merged with others", _FULL)
def _() -> HTTPRequest:
    return keys("PATCH", f"{CONFIGS}/a", 79_000, 1 << 20, MERGE)


@bomb("most: merged with some others", _FULL)
def _() -> HTTPRequest:
    return keys("PATCH", f"{CONFIGS}/a", 45_000, 1 << 20, MERGE)


@bomb("most: all removed by a patch", _FULL)
def _() -> HTTPRequest:
    return ask("PATCH", f"{CONFIGS}/a", {"data": None}, MERGE)


@bomb("most: applied", _FULL)
def _() -> HTTPRequest:
    return keys("PATCH", f"{CONFIGS}/a", 79_000, 0, APPLY, fieldManager="m")


@bomb("most: applied where nothing is")
def _() -> HTTPRequest:
    return keys("PATCH", f"{CONFIGS}/a", 79_000, 0, APPLY, fieldManager="m")


@bomb("most: applied as it is", _FULL)
def _() -> HTTPRequest:
    return keys("PATCH", f"{CONFIGS}/a", _MOST, 0, APPLY, fieldManager="m")


@bomb("most: applied with conflicts", _FULL)
def _() -> HTTPRequest:
    return keys("PATCH", f"{CONFIGS}/a", _MOST, 0, APPLY, "x", fieldManager="m")


@bomb("most: applied by force", _FULL)
def _() -> HTTPRequest:
    return keys("PATCH", f"{CONFIGS}/a", _MOST, 0, APPLY, "x", fieldManager="m", force="true")


@bomb("most: applied a little", _FULL)
def _() -> HTTPRequest:
    return keys("PATCH", f"{CONFIGS}/a", 1, 1 << 20, APPLY, fieldManager="m")


def _given_up() -> list[HTTPRequest]:
    return [keys("PATCH", f"{CONFIGS}/a", _MOST, 0, APPLY, fieldManager="m")]


@bomb("most: given up", _given_up)
def _() -> HTTPRequest:
    return keys("PATCH", f"{CONFIGS}/a", 1, 1 << 20, APPLY, fieldManager="m")


@bomb("most: exchanged for others", _given_up)
def _() -> HTTPRequest:
    return keys("PATCH", f"{CONFIGS}/a", 45_000, 1 << 20, APPLY, fieldManager="m")


def _owned_by_many() -> list[HTTPRequest]:
    fields = '"f:data":{' + ",".join(f'"f:{number:x}":{{}}' for number in range(300)) + "}"
    owners = entries(240, fields).replace("Update", "Apply")
    data = json.dumps({f"{number:x}": "" for number in range(300)})
    body = '{"metadata":{"name":"a","managedFields":[' + owners + ']},"data":' + data + "}"
    return [keys("POST", CONFIGS, 300), ask("PUT", f"{CONFIGS}/a", body.encode())]


@bomb("most: owned by many, and changed by force", _owned_by_many)
def _() -> HTTPRequest:
    return keys("PATCH", f"{CONFIGS}/a", 300, 0, APPLY, "x", fieldManager="x", force="true")


@bomb("most: owned by many, and removed", _owned_by_many)
def _() -> HTTPRequest:
    return ask("PATCH", f"{CONFIGS}/a", {"data": None}, MERGE)


@bomb("most: owned by many, in conflict", _owned_by_many)
def _() -> HTTPRequest:
    return keys("PATCH", f"{CONFIGS}/a", 300, 0, APPLY, "x", fieldManager="x")


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


@bomb("most: conditions merged", conditions)
def _() -> HTTPRequest:
    body = filled('{"status":{"conditions":[', '{"type":"u%d"}', "]}}", most=39_000)
    return ask("PATCH", f"{NODES}/n/status", body, STRATEGIC)


@bomb("most: fields of one owner", A_CONFIG)
def _() -> HTTPRequest:
    fields = '"f:data":{' + members(75_000, '"f:%x":{}') + "}"
    body = '{"metadata":{"name":"a","managedFields":[' + entries(1, fields) + ']},"data":{"k":"v"}}'
    return ask("PUT", f"{CONFIGS}/a", body.encode())


@bomb("most: elements of one owner", A_CONFIG)
def _() -> HTTPRequest:
    fields = '"f:data":{' + members(75_000, r'"k:{\"a\":%x}":{}') + "}"
    body = '{"metadata":{"name":"a","managedFields":[' + entries(1, fields) + ']},"data":{"k":"v"}}'
    return ask("PUT", f"{CONFIGS}/a", body.encode())


@bomb("most: a step that holds a list", A_CONFIG)
def _() -> HTTPRequest:
    fields = r'"v:[' + "[]," * 900_000 + '[]]":{}'
    body = '{"metadata":{"name":"a","managedFields":[' + entries(1, fields) + ']},"data":{"k":"v"}}'
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
    pod = one_pod()
    pod["spec"]["containers"][0]["resources"] = {"limits": {"cpu": "1" * 3_000_000 + "x"}}
    return ask("POST", PODS, pod)


@bomb("create: a long wrong time")
def _() -> HTTPRequest:
    return ask(
        "POST", CONFIGS, {"metadata": {"name": "a", "creationTimestamp": "2020-01-01T00:00:00." + "1" * 3_000_000}}
    )

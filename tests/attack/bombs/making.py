# SPDX-License-Identifier: Apache-2.0
"""The parts of expensive requests, and the list of all of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from apimachinery.http import BODY_LIMIT, HTTPRequest

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
    """An expensive request, and the requests that prepare a server for it."""

    name: str
    request: Callable[[], HTTPRequest]
    before: Before = tuple


BOMBS: list[Bomb] = []


def bomb(name: str, before: Before = tuple) -> Callable[[Callable[[], HTTPRequest]], None]:
    """Return a decorator that adds the function's request to the bombs."""

    def add(request: Callable[[], HTTPRequest]) -> None:
        BOMBS.append(Bomb(name, request, before))

    return add


def ask(method: str, path: str, body: Any = b"", media_type: str = JSON, **query: str) -> HTTPRequest:
    """Return a request. A body that is not bytes is encoded as JSON."""
    data = body if isinstance(body, bytes) else json.dumps(body, separators=(",", ":")).encode()
    headers = {"content-type": media_type, "user-agent": "bomb/1"}
    return HTTPRequest(method, path, tuple(query.items()), headers, data)


def filled(head: str, item: str, tail: str, *, size: int = BODY_LIMIT - 64, most: int = 1 << 30) -> bytes:
    """Return `head`, as many of `item` as fit into `size` bytes, separated by commas, and `tail`.

    A `%d` in `item` becomes the item's number, from 0.
    """
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
    """Return a config map."""
    return {"metadata": {"name": name, **metadata}, **({"data": data} if data else {})}


def definition(spec: Object, **version: Any) -> Object:
    """Return a definition of widgets; `spec` is the schema of their spec."""
    schema = {"type": "object", "properties": {"spec": spec, "status": OPEN}}
    one = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}, **version}
    names = {"plural": "widgets", "kind": "Widget"}
    return {
        "metadata": {"name": "widgets.demo.example.com"},
        "spec": {"group": "demo.example.com", "scope": "Namespaced", "names": names, "versions": [one]},
    }


def kind(spec: Object, **version: Any) -> Before:
    """Return a preparation that defines widgets with such a spec."""
    return lambda: [ask("POST", DEFINITIONS, definition(spec, **version))]


def widget(spec: str, metadata: str = '"name":"w"') -> tuple[str, str]:
    """Return the JSON before and after the place in a widget that `%s` marks in `spec`."""
    before, after = spec.split("%s")
    about = '{"apiVersion":"demo.example.com/v1","kind":"Widget","metadata":{' + metadata + '},"spec":'
    return about + before, after + "}"


def stored(*requests: HTTPRequest) -> Before:
    """Return a preparation that sends these requests."""
    return lambda: requests


A_CONFIG = stored(ask("POST", CONFIGS, config()))
"""Before a bomb: the config map `a`."""

A_NODE = stored(ask("POST", NODES, {"metadata": {"name": "n"}}))
"""Before a bomb: the node `n`."""


def members(count: int, text: str = '"k%07d":""') -> str:
    return ",".join(text % number for number in range(count))


def entries(count: int, fields: str = '"f:data":{"f:k%d":{}}') -> str:
    entry = (
        '{"manager":"m%d","operation":"Update","apiVersion":"v1","time":"2020-01-01T00:00:00Z",'
        '"fieldsType":"FieldsV1","fieldsV1":{' + fields + "}}"
    )
    return ",".join(entry.replace("%d", str(number)) for number in range(count))


def dying(count: int) -> Before:
    body = filled('{"metadata":{"name":"a","finalizers":[', '"a.b/x%d"', "]}}", most=count)
    return stored(ask("POST", CONFIGS, body), ask("DELETE", f"{CONFIGS}/a"))


def conditions() -> list[HTTPRequest]:
    body = filled('{"status":{"conditions":[', '{"type":"t%d","status":"True"}', "]}}", most=4_000)
    return [ask("POST", NODES, {"metadata": {"name": "n"}}), ask("PATCH", f"{NODES}/n/status", body, STRATEGIC)]


def one_pod() -> Object:
    return {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


def keys(
    method: str, path: str, count: int, first: int = 0, media_type: str = JSON, value: str = "", **query: str
) -> HTTPRequest:
    members = ",".join(f'"{number:x}":"{value}"' for number in range(first, first + count))
    body = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{' + members + "}}"
    return ask(method, path, body.encode(), media_type, **query)

# SPDX-License-Identifier: Apache-2.0
"""Expensive bodies in YAML and in protobuf."""

from __future__ import annotations

from apimachinery.http import HTTPRequest
from bombs.making import CONFIGS, DEFINITIONS, PODS, PROTOBUF, YAML, ask, bomb, filled


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


def varint(number: int) -> bytes:
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def field(number: int, data: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(data)) + data


def protobuf(api_version: str, name: str, message: bytes) -> bytes:
    about = field(1, api_version.encode()) + field(2, name.encode())
    return b"k8s\0" + field(1, about) + field(2, message)


@bomb("protobuf: 1.4 million empty containers")
def _() -> HTTPRequest:
    pod = field(1, field(1, b"p")) + field(2, b"\x12\x00" * 1_400_000)
    return ask("POST", PODS, protobuf("v1", "Pod", pod), PROTOBUF)


@bomb("protobuf: 1.4 million of an unknown field")
def _() -> HTTPRequest:
    pod = field(1, field(1, b"p")) + field(2, b"\x7a\x00" * 1_400_000)
    return ask("POST", PODS, protobuf("v1", "Pod", pod), PROTOBUF)


@bomb("protobuf: one field again and again")
def _() -> HTTPRequest:
    pod = field(1, field(1, b"p")) + field(2, b"") * 1_400_000
    return ask("POST", PODS, protobuf("v1", "Pod", pod), PROTOBUF)


@bomb("protobuf: an envelope of empty fields")
def _() -> HTTPRequest:
    return ask("POST", PODS, b"k8s\0" + b"\x12\x00" * 1_400_000, PROTOBUF)


@bomb("protobuf: long numbers")
def _() -> HTTPRequest:
    return ask("POST", PODS, protobuf("v1", "Pod", field(2, b"\x28" + b"\x80" * 8 + b"\x00") * 200_000), PROTOBUF)


@bomb("protobuf: fields of 3 MB within each other")
def _() -> HTTPRequest:
    data = b"x" * 2_000_000
    for _ in range(400):
        data = field(7, data)
    return ask("POST", DEFINITIONS, protobuf("v1", "Pod", data), PROTOBUF)


@bomb("protobuf: labels")
def _() -> HTTPRequest:
    labels = b"".join(field(11, field(1, b"%d" % number)) for number in range(200_000))
    return ask("POST", CONFIGS, protobuf("v1", "ConfigMap", field(1, field(1, b"a") + labels)), PROTOBUF)


@bomb("protobuf: schemas within each other")
def _() -> HTTPRequest:
    schema = field(6, b"x" * 2_000_000)
    for _ in range(90):
        schema = field(34, field(1, b"a") + field(2, schema))  # its properties
    version = field(1, b"v1") + field(4, field(1, schema))
    whole = field(1, field(1, b"widgets.demo.example.com")) + field(
        2, field(1, b"demo.example.com") + field(7, version)
    )
    return ask("POST", DEFINITIONS, protobuf("apiextensions.k8s.io/v1", "CustomResourceDefinition", whole), PROTOBUF)

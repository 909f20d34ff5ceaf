# SPDX-License-Identifier: Apache-2.0
"""Writes `tests/data/cel_vectors.json` from a checkout of github.com/google/cel-spec.

    git -C CHECKOUT show HEAD:tests/simple/testdata/basic.textproto ...
    python tests/tools/cel_vectors.py CHECKOUT

The vectors are those of cel-spec (Apache License 2.0). Of each, the expression, the variables and what it comes to are
kept; vectors about messages of protobuf and about extensions that Kubernetes does not load are counted by their reason.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent.parent / "data" / "cel_vectors.json"
FOLDER = "tests/simple/testdata"
ELSEWHERE = {
    "bindings_ext": "cel.bind is not loaded",
    "block_ext": "blocks are not loaded",
    "encoders_ext": "encoders are not loaded",
    "enums": "messages",
    "math_ext": "math is not loaded",
    "network_ext": "Kubernetes has network functions of its own",
    "proto2": "messages",
    "proto2_ext": "messages",
    "proto3": "messages",
    "unknowns": "there are no unknown values",
    "wrappers": "messages",
}
TOKEN = re.compile(
    r"""\s+|\#[^\n]*|(?P<mark>[{}\[\]:,<>])|(?P<text>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|(?P<word>[^\s{}\[\]:,<>"'#]+)"""
)
ESCAPE = re.compile(rb"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL)
SIMPLE = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}
Message = list[tuple[str, Any]]


def tokens(text: str) -> Iterator[tuple[str, Any]]:
    place = 0
    while place < len(text):
        match = TOKEN.match(text, place)
        assert match is not None, text[place : place + 40]
        place = match.end()
        if match.lastgroup:
            yield match.lastgroup, match.group()


def unescaped(text: str) -> bytes:
    def character(match: re.Match[bytes]) -> bytes:
        octal, two, four, eight, simple = match.groups()
        if simple is not None:
            return SIMPLE.get(simple, simple)
        if four or eight:
            return chr(int(four or eight, 16)).encode()
        return bytes([int(octal, 8) if octal else int(two, 16)])

    return ESCAPE.sub(character, text[1:-1].encode())


class Reader:
    """Reads the text form of protobuf as lists of fields."""

    def __init__(self, text: str) -> None:
        self.tokens = list(tokens(text))
        self.place = 0

    def peek(self) -> Any:
        return self.tokens[self.place][1] if self.place < len(self.tokens) else None

    def take(self) -> tuple[str, Any]:
        self.place += 1
        return self.tokens[self.place - 1]

    def message(self, end: str | None) -> Message:
        fields: Message = []
        while self.peek() != end:
            if self.peek() == ",":
                self.take()
                continue
            name = self.take()[1]
            if name == "[":
                while self.peek() != "]":
                    name += self.take()[1]
                self.take()
            if self.peek() == ":":
                self.take()
            for value in self.values():
                fields.append((name, value))
        if end is not None:
            self.take()
        return fields

    def values(self) -> list[Any]:
        if self.peek() != "[":
            return [self.value()]
        self.take()
        found = []
        while self.peek() != "]":
            if self.peek() == ",":
                self.take()
            else:
                found.append(self.value())
        self.take()
        return found

    def value(self) -> Any:
        kind, text = self.take()
        if text in ("{", "<"):
            return self.message("}" if text == "{" else ">")
        if kind != "text":
            return text
        joined = unescaped(text)
        while self.place < len(self.tokens) and self.tokens[self.place][0] == "text":
            joined += unescaped(self.take()[1])
        return joined


class Elsewhere(Exception):
    """A vector needs what Kubernetes' environment does not have; the message is the reason."""


def one(message: Message, name: str, default: Any = None) -> Any:
    return next((value for field, value in message if field == name), default)


def value_of(message: Message) -> list[Any]:
    (kind, found), *more = message
    assert not more, message
    match kind:
        case "int64_value" | "enum_value":
            return ["int", int(found)]
        case "uint64_value":
            return ["uint", int(found)]
        case "double_value":
            return ["double", str(float(found))]
        case "bool_value":
            return ["bool", found == "true"]
        case "string_value":
            return ["string", found.decode()]
        case "bytes_value":
            return ["bytes", found.hex()]
        case "null_value":
            return ["null"]
        case "type_value":
            return ["type", found.decode()]
        case "list_value":
            return ["list", [value_of(item) for name, item in found if name == "values"]]
        case "map_value":
            entries = [item for name, item in found if name == "entries"]
            return ["map", [[value_of(one(entry, "key")), value_of(one(entry, "value"))] for entry in entries]]
        case "object_value":
            return object_of(found)
    raise Elsewhere("messages")


def object_of(message: Message) -> list[Any]:
    (name, fields), *_ = message
    seconds, nanos = int(one(fields, "seconds", 0)), int(one(fields, "nanos", 0))
    if name.endswith("google.protobuf.Duration"):
        return ["duration", seconds * 10**9 + nanos]
    if name.endswith("google.protobuf.Timestamp"):
        return ["timestamp", seconds * 10**9 + nanos]
    raise Elsewhere("messages")


def type_of(message: Message) -> str:
    (kind, found), *_ = message
    match kind:
        case "primitive":
            return {"INT64": "int", "UINT64": "uint"}.get(found, found.lower())
        case "well_known":
            return found.lower()
        case "null":
            return "null"
        case "dyn":
            return "dyn"
        case "list_type":
            return f"list({type_of(one(found, 'elem_type'))})"
        case "map_type":
            return f"map({type_of(one(found, 'key_type'))}, {type_of(one(found, 'value_type'))})"
        case "type":
            return f"type({type_of(found)})" if found else "type"
        case "abstract_type":
            parameters = [type_of(of) for name, of in found if name == "parameter_types"]
            return f"{one(found, 'name').decode()}({', '.join(parameters)})"
    raise Elsewhere("messages")


def vector(test: Message) -> dict[str, Any]:
    expression = one(test, "expr").decode()
    if one(test, "container") or re.search(
        r"TestAllTypes|NestedTestAllTypes|google\.protobuf\.\w+\s*\{|proto\.", expression
    ):
        raise Elsewhere("messages")
    if "google.protobuf" in expression and not re.search(r"google\.protobuf\.(Timestamp|Duration)\b", expression):
        raise Elsewhere("messages")
    if one(test, "disable_check") == "true" and one(test, "check_only") != "true":
        raise Elsewhere("Kubernetes checks each expression")
    if one(test, "disable_macros") == "true":
        raise Elsewhere("Kubernetes has the macros always")
    if "`" in expression:
        raise Elsewhere("Kubernetes does not enable escaped identifiers")
    made: dict[str, Any] = {"expression": expression}
    types = {}
    for name, declared in test:
        if name == "type_env":
            if one(declared, "function") is not None:
                raise Elsewhere("functions that only the vectors declare")
            types[one(declared, "name").decode()] = type_of(one(one(declared, "ident"), "type"))
    bindings = {}
    for name, entry in test:
        if name == "bindings":
            bindings[one(entry, "key").decode()] = value_of(one(one(entry, "value"), "value"))
    if types:
        made["types"] = types
    if bindings:
        made["bindings"] = bindings
    return made | expected(test)


def expected(test: Message) -> dict[str, Any]:
    if (error := one(test, "eval_error")) is not None:
        return {"error": one(one(error, "errors", []), "message", b"").decode()}
    if (typed := one(test, "typed_result")) is not None:
        made: dict[str, Any] = {"type": type_of(one(typed, "deduced_type"))}
        if one(typed, "result") is not None:
            made["value"] = value_of(one(typed, "result"))
        return made
    if one(test, "unknown") is not None or one(test, "any_unknowns") is not None:
        raise Elsewhere("there are no unknown values")
    value = one(test, "value")
    return {"value": ["bool", True] if value is None else value_of(value)}


def main(checkout: str) -> None:
    def git(*arguments: str) -> str:
        return subprocess.run(["git", "-C", checkout, *arguments], check=True, capture_output=True, text=True).stdout

    vectors, skipped = {}, {}
    for path in git("ls-tree", "-r", "--name-only", "HEAD", FOLDER).split():
        if not path.endswith(".textproto"):
            continue
        read = Reader(git("show", f"HEAD:{path}")).message(None)
        name = Path(path).stem
        for section in (found for field, found in read if field == "section"):
            for test in (found for field, found in section if field == "test"):
                where = f"{name}/{one(section, 'name').decode()}/{one(test, 'name').decode()}"
                try:
                    if name in ELSEWHERE:
                        raise Elsewhere(ELSEWHERE[name])
                    vectors[where] = vector(test)
                except Elsewhere as reason:
                    skipped[str(reason)] = skipped.get(str(reason), 0) + 1
    origin = {
        "origin": "github.com/google/cel-spec, tests/simple/testdata, Apache License 2.0",
        "commit": git("rev-parse", "HEAD").strip(),
        "skipped": dict(sorted(skipped.items())),
    }
    lines = [f"{json.dumps(where)}: {json.dumps(made, sort_keys=True)}" for where, made in vectors.items()]
    body = json.dumps(origin)[:-1] + ',\n"vectors": {\n' + ",\n".join(lines) + "\n}}\n"
    HERE.write_text(body, encoding="utf-8")
    sys.stdout.write(f"{len(vectors)} vectors, {sum(skipped.values())} for reasons: {skipped}\n")


if __name__ == "__main__":
    main(sys.argv[1])

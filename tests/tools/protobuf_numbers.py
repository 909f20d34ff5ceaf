# SPDX-License-Identifier: Apache-2.0
"""Write protobuf-numbers.json.gz: `python tests/tools/protobuf_numbers.py PATH/TO/kube-apiserver`.

The numbers of the fields in protobuf stand in no OpenAPI document. Every program that
speaks the API in Go carries them in its own type information, beside the names in JSON
and whether a field is a pointer (so that its zero means something); this tool reads them
there. A kube-apiserver has all kinds; a kubectl lacks `Scale` and definitions.
"""

from __future__ import annotations

import gzip
import json
import re
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "apiserver" / "embedded_apiserver" / "protobuf" / "data" / "protobuf-numbers.json.gz"
PACKAGES = re.compile(
    r"k8s\.io/(api/\w+|apiextensions-apiserver/pkg/apis/apiextensions|kube-aggregator/pkg/apis/apiregistration"
    r"|apimachinery/pkg/apis/meta)/v\d+((alpha|beta)\d+)?"
)
POINTER, STRUCT = 22, 25  # kinds of types, as Go numbers them
TYPE_SIZE, NAMED = 48, 1


class Field(NamedTuple):
    """A field of a Go struct."""

    tag: str
    type: int


class Program:
    """The types that a Go program (ELF, 64 bits, not relocated) describes to itself."""

    def __init__(self, path: Path) -> None:
        self._bytes = path.read_bytes()
        self._sections = dict(self._read_sections())
        self._base = self._sections[".rodata"][0]

    def _read_sections(self) -> Iterator[tuple[str, tuple[int, int, int]]]:
        """Address, offset in the file and size of each section, by name."""
        (table,) = struct.unpack_from("<Q", self._bytes, 40)
        size, count, names = struct.unpack_from("<HHH", self._bytes, 58)
        headers = [struct.unpack_from("<IIQQQQ", self._bytes, table + size * index) for index in range(count)]
        for name, _, _, address, offset, length in headers:
            start = headers[names][4] + name
            yield self._bytes[start : self._bytes.index(0, start)].decode(), (address, offset, length)

    def _unpack(self, form: str, address: int) -> tuple[int, ...]:
        for start, offset, length in self._sections.values():
            if start and start <= address < start + length:
                return struct.unpack_from(form, self._bytes, offset + address - start)
        raise LookupError(f"nothing is at {address:#x}")

    def _text(self, address: int) -> tuple[str, int]:
        """A text with its length in front, and where it ends."""
        length = shift = 0
        while True:
            (byte,) = self._unpack("<B", address)
            address += 1
            length |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        (raw,) = self._unpack(f"{length}s", address)
        return bytes(raw).decode(), address + length  # type: ignore[call-overload]  # bytes, for this form

    def structs(self) -> Iterator[tuple[str, int]]:
        """Every named struct that something points to: `package.Name` and its address."""
        address, _, length = self._sections[".typelink"]
        for (offset,) in (self._unpack("<i", address + at) for at in range(0, length, 4)):
            if self.kind(self._base + offset) == POINTER:
                element = self.element(self._base + offset)
                if self.kind(element) == STRUCT and (name := self.name(element)):
                    yield name, element

    def kind(self, type_: int) -> int:
        """Returns the kind of the type."""
        return self._unpack("<B", type_ + 23)[0] & 31

    def element(self, type_: int) -> int:
        """Returns the type that a pointer points to."""
        return self._unpack("<Q", type_ + TYPE_SIZE)[0]

    def name(self, struct_: int) -> str:
        """The full name of a struct; empty if it has none."""
        if not self._unpack("<B", struct_ + 20)[0] & NAMED:
            return ""
        (name,), (package,) = self._unpack("<i", struct_ + 40), self._unpack("<i", struct_ + TYPE_SIZE + 32)
        short = self._text(self._base + name + 1)[0].rpartition(".")[2]
        return f"{self._text(self._base + package + 1)[0]}.{short}"

    def fields(self, struct_: int) -> Iterator[Field]:
        """The fields of a struct that have a tag."""
        table, count = self._unpack("<QQ", struct_ + TYPE_SIZE + 8)
        for at in range(table, table + 24 * count, 24):
            name, type_ = self._unpack("<QQ", at)
            _, end = self._text(name + 1)
            if self._unpack("<B", name)[0] & 2:
                yield Field(self._text(end)[0], type_)


def openapi_name(name: str) -> str:
    """`io.k8s.api.core.v1.Pod` for `k8s.io/api/core/v1.Pod`."""
    return "io.k8s." + name.removeprefix("k8s.io/").replace("/", ".")


def numbers(program: Program, struct_: int) -> dict[str, str]:
    """Field number to JSON name, with `*` before pointers; `=Name` for a part whose fields stand in JSON as our own."""
    found = {}
    for field in program.fields(struct_):
        wire = re.search(r'protobuf:"\w+,(\d+),', field.tag)
        name = re.search(r'json:"([^",]*)(,[^"]*)?"', field.tag)
        if wire is None or name is None:
            continue
        if "inline" in (name[2] or ""):
            found[wire[1]] = f"={openapi_name(program.name(field.type))}"
        else:
            found[wire[1]] = ("*" if program.kind(field.type) == POINTER else "") + name[1]
    return found


def main() -> int:
    """Read a program, write the table."""
    program = Program(Path(sys.argv[1]))
    table = {
        openapi_name(name): numbers(program, address)
        for name, address in sorted(program.structs())
        if PACKAGES.fullmatch(name.rpartition(".")[0])
    }
    text = json.dumps({name: fields for name, fields in table.items() if fields}, separators=(",", ":"))
    DATA.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    return 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
"""Writes go_types.json of `embedded_apiserver.typed`: the named Go types of fields, for decoding errors.

    python tests/tools/go_types.py GIT_DIRECTORY

The git directory is of a repository with Kubernetes in `vendor`. Only names and types of fields are read. A type that
follows from the published schema, such as `string` or `[]v1.Container`, is left out.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from apimachinery.schema import Library, Schema, definitions
from embedded_apiserver.typed.go_types import plain_type

TARGET = Path(__file__).parents[2] / "apiserver/embedded_apiserver/typed/data/go_types.json"
_PLACES = {
    "io.k8s.api.": "vendor/k8s.io/api/",
    "io.k8s.apimachinery.": "vendor/k8s.io/apimachinery/",
    "io.k8s.apiextensions-apiserver.": "vendor/k8s.io/apiextensions-apiserver/",
    "io.k8s.kube-aggregator.": "vendor/k8s.io/kube-aggregator/",
}
_STRUCT = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r'^\t\w+\s+([\w.\[\]*]+)\s+`[^`]*json:"(\w+)[,"]', re.MULTILINE)
_EMBEDDED = re.compile(r'^\t([\w.]+)\s+`[^`]*json:",inline"', re.MULTILINE)
_BASE = re.compile(r"[\w.]+$")
_BUILT_IN = {"string", "int", "int32", "int64", "float64", "bool", "byte", "uint8"}
_PACKAGES = {"metav1": "v1", "corev1": "v1", "core": "v1", "authnv1": "v1", "apiv1": "v1", "apiextensionsv1": "v1"}


def main() -> None:
    """Read the types, and write those that a schema does not tell."""
    made = {}
    read: dict[str, dict[str, str]] = {}
    library = Library(definitions())
    for name in definitions():
        package, _, struct = name.rpartition(".")
        if package not in read:
            read[package] = _structs(package)
        if body := read[package].get(struct):
            known: Mapping[str, Schema] = library.properties(name)
            own = package.rpartition(".")[2]
            types = {
                field: f"{of}{_named(kind, own)}" for field, kind, of in _fields(body, read[package]) if field in known
            }
            others = {field: kind for field, kind in types.items() if kind != plain_type(known[field])}
            if others:
                made[name] = " ".join(f"{field}:{kind}" for field, kind in sorted(others.items()))
    lines = [f"{json.dumps(name)}: {json.dumps(text)}" for name, text in sorted(made.items())]
    TARGET.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def _structs(package: str) -> dict[str, str]:
    place = next(
        (place + package.removeprefix(start) for start, place in _PLACES.items() if package.startswith(start)), ""
    )
    git = ["git", "-C", sys.argv[1]]
    folder = place.replace(".", "/").replace("k8s/io", "k8s.io")
    listed = subprocess.run([*git, "ls-tree", "--name-only", "HEAD", f"{folder}/"], check=True, capture_output=True)
    files = [name for name in listed.stdout.decode().split() if re.search(r"/types\w*\.go$", name)]
    texts = [subprocess.run([*git, "show", f"HEAD:{name}"], check=True, capture_output=True).stdout for name in files]
    return dict(_STRUCT.findall("\n".join(text.decode() for text in texts)))


def _fields(body: str, structs: dict[str, str]) -> list[tuple[str, str, str]]:
    """Return name and type of each field, and the embedded struct in which it stands, with a slash."""
    found = [(name, kind, "") for kind, name in _FIELD.findall(body)]
    for name in _EMBEDDED.findall(body):
        found += [(field, kind, f"{name}/{of}") for field, kind, of in _fields(structs.get(name, ""), structs)]
    return found


def _named(kind: str, own: str) -> str:
    """Return a type as Go's reflection names it: without a pointer, and with the package."""
    kind = kind.removeprefix("*")
    base = _BASE.search(kind)
    assert base is not None, kind
    word = base[0]
    if word not in _BUILT_IN and "." not in word:
        word = f"{own}.{word}"
    package, _, name = word.rpartition(".")
    word = f"{_PACKAGES.get(package, package)}.{name}" if package else "uint8" if word == "byte" else word
    keys = re.sub(r"map\[(?!string\])(\w+)\]", lambda key: f"map[{own}.{key[1]}]", kind[: base.start()])
    return keys + word


if __name__ == "__main__":
    main()

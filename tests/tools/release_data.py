# SPDX-License-Identifier: Apache-2.0
"""Writes the server's data of releases: `python tests/tools/release_data.py NEWEST OLDER...`.

Each argument is a folder that `record_release.py` has written. The schemas, descriptions, columns and stored forms of
the newest release are written as a whole, where they are used; those of the older ones as differences from it, in
`apiserver/embedded_apiserver/kinds/data`.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).resolve().parents[2])]

from tests.kit.releases.differences import difference  # noqa: E402
from tests.kit.releases.openapi import bare, texts  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
SERVER = ROOT / "apiserver/embedded_apiserver"
DATA = SERVER / "kinds/data"


class Recorded:
    """The record of one release, by subject."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.version = self.read("version")
        self.name = f"{self.version['major']}.{self.version['minor'].rstrip('+')}"

    def read(self, subject: str) -> Any:
        """Return the facts of one subject."""
        return json.loads((self._folder / f"{subject}.json").read_text(encoding="utf-8"))

    def of_itself(self) -> dict[str, Any]:
        """Return what each release has in full."""
        gates = self.read("gates")
        named = {word: [name for name, gate in gates.items() if gate["on"] is on] for word, on in _STATES}
        version = {name: text for name, text in self.version.items() if name in _NUMBERS}
        return {"version": version, "gates": named, "warnings": self.read("warnings")}

    def compared(self) -> dict[str, Any]:
        """Return what is compared with the newest release."""
        found = {subject: self.read(subject) for subject in ("kinds", "forms", "off", "columns", "created")}
        objects: dict[str, dict[str, Any]] = {}
        for key, obj in self.read("objects").items():
            collection, place = key.split("/", 1)
            objects.setdefault(collection, {})[place.removeprefix("/")] = obj
        found["objects"] = {name: objects[name] for name in _KEPT if name in objects}
        return {**found, "definitions": bare(self.read("definitions"))}

    def descriptions(self) -> dict[str, Any]:
        """Return the descriptions."""
        known = {name: found for name, schema in self.read("definitions").items() if (found := texts(schema))}
        return {"definitions": known, "parameters": self.read("parameters")}


_STATES = (("on", True), ("off", False))
_NUMBERS = (
    *("major", "minor", "gitVersion", "emulationMajor", "emulationMinor"),
    *("minCompatibilityMajor", "minCompatibilityMinor"),
)
# The collections whose first objects the server has; those of registered versions follow from the kinds.
_KEPT = (
    *(f"{plural}.rbac.authorization.k8s.io" for plural in ("clusterroles", "clusterrolebindings", "roles")),
    *("rolebindings.rbac.authorization.k8s.io", "priorityclasses.scheduling.k8s.io"),
    *(f"{plural}.flowcontrol.apiserver.k8s.io" for plural in ("flowschemas", "prioritylevelconfigurations")),
)


def _lines(value: Any, depth: int) -> Iterator[str]:
    """Yield JSON with one entry a line down to a depth, so that a change shows as few lines."""
    if depth and isinstance(value, dict) and value:
        yield "{"
        for place, key in enumerate(sorted(value)):
            yield ("," if place else "") + json.dumps(key, ensure_ascii=False) + ":"
            yield from _lines(value[key], depth - 1)
        yield "}"
    else:
        yield json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def _text(value: Any) -> str:
    made = "\n".join(_lines(value, 2))
    return made.replace(":\n", ":").replace("\n,", ",\n").replace(",\n,", ",\n") + "\n"


def _pack(target: Path, content: Any) -> None:
    """Write a compressed file; the same content gives the same bytes."""
    text = json.dumps(content, separators=(",", ":"), sort_keys=True)
    target.write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def write_newest(newest: Recorded) -> None:
    """Write what the newest release has as a whole."""
    _pack(ROOT / f"apimachinery/data/schemas-{newest.name}.json.gz", bare(newest.read("definitions")))
    _pack(SERVER / f"discovery/data/descriptions-{newest.name}.json.gz", newest.descriptions())
    _pack(SERVER / f"reads/data/columns-{newest.name}.json.gz", newest.read("columns"))
    _pack(SERVER / f"typed/data/stored-forms-{newest.name}.json.gz", newest.read("forms"))


def main(arguments: list[str]) -> int:
    """Write the files."""
    newest, *older = map(Recorded, map(Path, arguments))
    DATA.mkdir(exist_ok=True)
    write_newest(newest)
    (DATA / f"{newest.name}.json").write_text(_text(newest.of_itself()), encoding="utf-8")
    for one in older:
        pairs = ((subject, difference(newest.compared()[subject], then)) for subject, then in one.compared().items())
        changed = {subject: found for subject, found in pairs if found}
        (DATA / f"{one.name}.json").write_text(_text({**one.of_itself(), **changed}), encoding="utf-8")
        told = difference(newest.descriptions(), one.descriptions())
        (DATA / f"{one.name}-descriptions.json").write_text(_text(told), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

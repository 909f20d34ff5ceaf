# SPDX-License-Identifier: Apache-2.0
"""The comparison of manifests in files with what the code says, for a build that must fail when they differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from apimachinery.errors import UsageError
from controller_runtime.crd.breaking import breaking_changes
from controller_runtime.manifests.bundles import Bundle, Files

_EXACT = ("CustomResourceDefinition", "ClusterRole", "Role")
"""Kinds in which a further field is a difference, too: one that no class has, or a right beyond the record."""

_NAMED_BY = ("name", "type", "containerPort", "key")
"""Fields that tell the elements of a list apart."""

_ABSENT = object()


class FileIdentity(NamedTuple):
    """The identity of an object in a file.

    Attributes:
        group: The API group, without its version.
        kind: The kind.
        namespace: The namespace; empty if the object has none.
        name: The name.
    """

    group: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


def check_objects(bundle: Bundle, paths: Sequence[Path]) -> list[str]:
    """Return a line for each difference between the generated objects and those in files, in the order of the former.

    Each definition must be in one of the files; other objects are compared only if a file has them. Metadata
    and status are not compared. All else in definitions and roles must be equal, except that a file may state the
    conversion strategy `None`; other objects may have further fields.

    Args:
        bundle: The facts of the code, with the settings.
        paths: Files of YAML documents, and folders of such files at any depth.

    Raises:
        UsageError: A file cannot be read.
    """
    found = _objects_in(paths)
    places = ", ".join(map(str, paths))
    lines = []
    for wanted in bundle.objects():
        identity = _identity(wanted)
        matching = [(file, obj) for (one, file), obj in found.items() if _is_same(one, identity)]
        if not matching and identity.kind == "CustomResourceDefinition":
            lines.append(f"{places}: {identity}: is missing")
        for file, obj in matching:
            exact = identity.kind in _EXACT
            lines += [f"{file}: {identity}: {text}" for text in _differences(_body(wanted), _body(obj), "", exact)]
    return lines


def check_breaking(bundle: Bundle, paths: Sequence[Path]) -> list[str]:
    """Return a line for each breaking change from the definition in a file to the generated definition.

    Args:
        bundle: The facts of the code, with the settings.
        paths: Files of YAML documents, and folders of such files at any depth.

    Raises:
        UsageError: A file cannot be read.
    """
    found = _objects_in(paths)
    return [
        f"{file}: {identity}: breaking: {change}"
        for wanted in bundle.facts.definitions
        for (identity, file), obj in found.items()
        if _is_same(identity, _identity(wanted)) and _has_versions(obj)
        for change in breaking_changes(obj, wanted)
    ]


def _has_versions(obj: Mapping[str, Any]) -> bool:
    spec = obj.get("spec")
    return isinstance(spec, Mapping) and isinstance(spec.get("versions"), list)


def check_texts(folder: Path, files: Files) -> list[str]:
    """Return a line for each template of a chart that differs from the generated one, naming its first differing line.

    `Chart.yaml` and `values.yaml` are not compared, because users edit them.
    """
    lines = []
    for name, text in files.items():
        path = folder / name
        if not name.startswith("templates/"):
            continue
        try:
            found = path.read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            lines.append(f"{path}: is missing")
            continue
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"{path} cannot be read: {error}") from error
        wanted = text.splitlines()
        number = next((at for at, (a, b) in enumerate(zip(wanted, found, strict=False)) if a != b), None)
        if number is None and len(wanted) != len(found):
            number = min(len(wanted), len(found))
        if number is not None:
            lines.append(f"{path}:{number + 1}: is {_line(found, number)}, and {_line(wanted, number)} in the code")
    return lines


def _line(lines: Sequence[str], number: int) -> str:
    return repr(lines[number].strip()) if number < len(lines) else "the end"


def _objects_in(paths: Sequence[Path]) -> dict[tuple[FileIdentity, Path], Mapping[str, Any]]:
    found = {}
    for path in paths:
        files = sorted([*path.rglob("*.yaml"), *path.rglob("*.yml")]) if path.is_dir() else [path]
        for file in files:
            for obj in _documents(file):
                found[_identity(obj), file] = obj
    return found


def _documents(file: Path) -> Iterator[Mapping[str, Any]]:
    try:
        documents = [*yaml.safe_load_all(file.read_text(encoding="utf-8"))]
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise UsageError(f"{file} cannot be read as YAML: {' '.join(str(error).split())}") from error
    for one in documents:
        items = one.get("items") if isinstance(one, dict) and one.get("kind") == "List" else [one]
        for obj in items or ():
            if isinstance(obj, dict) and obj.get("kind") and isinstance(obj.get("metadata"), dict):
                yield obj


def _identity(obj: Mapping[str, Any]) -> FileIdentity:
    group = str(obj.get("apiVersion", "")).rpartition("/")[0]
    metadata = obj["metadata"]
    return FileIdentity(group, str(obj["kind"]), str(metadata.get("namespace", "")), str(metadata.get("name", "")))


def _is_same(found: FileIdentity, wanted: FileIdentity) -> bool:
    """Return whether two names are of one object; a file that is applied with `-n` names no namespace."""
    return found == wanted or found == wanted._replace(namespace="")


def _body(obj: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is compared of an object: all but its metadata and its status."""
    return {name: value for name, value in obj.items() if name not in ("metadata", "status")}


def _differences(wanted: Any, found: Any, path: str, exact: bool) -> Iterator[str]:
    if isinstance(wanted, Mapping) and isinstance(found, Mapping):
        for name in [*wanted, *(name for name in found if name not in wanted)]:
            here = f"{path}.{name}" if path else str(name)
            if name not in found:
                yield f"{here}: is missing, and {_shown(wanted[name])} in the code"
            elif name in wanted:
                yield from _differences(wanted[name], found[name], here, exact)
            elif exact and not (name == "conversion" and found[name] == {"strategy": "None"}):
                yield f"{here}: is {_shown(found[name])}, and not in the code"
    elif isinstance(wanted, list) and isinstance(found, list):
        yield from _list_differences(wanted, found, path, exact)
    elif wanted != found or isinstance(wanted, bool) != isinstance(found, bool):
        yield f"{path}: is {_shown(found)}, and {_shown(wanted)} in the code"


def _list_differences(wanted: list[Any], found: list[Any], path: str, exact: bool) -> Iterator[str]:
    key = next((key for key in _NAMED_BY if _is_keyed(wanted, key) and _is_keyed(found, key)), None)
    if key is not None:
        by_key = {one[key]: one for one in found}
        for one in wanted:
            other, here = by_key.pop(one[key], _ABSENT), f"{path}[{one[key]}]"
            if other is _ABSENT:
                yield f"{here}: is missing"
            else:
                yield from _differences(one, other, here, exact)
        yield from (f"{path}[{name}]: is not in the code" for name in by_key if exact)
    elif len(wanted) != len(found) or not all(isinstance(one, Mapping) for one in (*wanted, *found)):
        yield from _element_differences(wanted, found, path)
    else:
        for index, (one, other) in enumerate(zip(wanted, found, strict=True)):
            yield from _differences(one, other, f"{path}[{index}]", exact)


def _element_differences(wanted: list[Any], found: list[Any], path: str) -> Iterator[str]:
    """Yield the elements that only one of two lists has, or that their order differs."""
    missing, more = [one for one in wanted if one not in found], [one for one in found if one not in wanted]
    yield from (f"{path}: lacks {_shown(one)}" for one in missing)
    yield from (f"{path}: has {_shown(one)}, which is not in the code" for one in more)
    if wanted != found and not (missing or more):
        yield f"{path}: has another order or repetitions: {_shown(found)}, and {_shown(wanted)} in the code"


def _is_keyed(values: list[Any], key: str) -> bool:
    names = [one.get(key) for one in values if isinstance(one, Mapping)]
    return (
        len(names) == len(values) > 0
        and all(isinstance(name, str | int) for name in names)
        and len({*names}) == len(names)
    )


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}…"

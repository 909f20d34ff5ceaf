# SPDX-License-Identifier: Apache-2.0
"""The state of all objects, without what differs between two runs of the same story: uids, versions and times.

Events are left out: they are written at best effort, so a crash may lose or repeat them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from embedded_apiserver.perturbation import Name, name_of

LEFT_OUT = frozenset({"events"})
"""The plurals of kinds whose objects are not compared."""

_DROPPED = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "generation", "selfLink")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_ABSENT = "<absent>"
_ALLOCATED = {
    "clusterIP": "<address>",
    "clusterIPs": "<addresses>",
    "podIP": "<address>",
    "podIPs": "<addresses>",
    "nodePort": "<port>",
    "healthCheckNodePort": "<port>",
}
DELETED = "<deleted>"
"""Stands in a state for an object that was there before the run began and has been deleted."""


State = Mapping[Name, Sequence[Any]]
"""The objects of each name, simplified. Only generated names have more than one."""


class Difference(NamedTuple):
    """A value that differs between two states.

    Attributes:
        name: The object.
        path: The way to the value, such as `spec.replicas`; empty if one of the states lacks the object.
        calm: The value in the first state.
        here: The value in the second.
    """

    name: Name
    path: str
    calm: Any
    here: Any

    def __str__(self) -> str:
        what = f"{self.name} {self.path}".rstrip()
        hides = self.name.resource == "secrets"  # a test's output is kept by a build, and may be public
        return f"{what}: {_short(self.calm, hides)} in a calm run, {_short(self.here, hides)} here"


def simplified(found: Mapping[str, Iterable[Mapping[str, Any]]]) -> State:
    """Return the state that objects, by their collections, are in."""
    objects = [(resource, obj) for resource, group in found.items() for obj in group]
    aliases = _aliases(objects)
    state: dict[Name, list[Any]] = {}
    for resource, obj in objects:
        state.setdefault(name_of(resource, obj["metadata"]), []).append(simplify(obj, aliases))
    for several in state.values():
        several.sort(key=repr)
    return state


def simplify(obj: Mapping[str, Any], aliases: Mapping[str, str]) -> dict[str, Any]:
    """Return an object without what differs between two runs.

    Args:
        obj: The object.
        aliases: Texts that stand for uids and generated names.
    """
    metadata = {field: value for field, value in obj["metadata"].items() if field not in _DROPPED}
    generation = obj["metadata"].get("generation")
    return {
        name: _simplify(value, aliases, generation)
        for name, value in {**obj, "metadata": metadata}.items()
        if name not in ("apiVersion", "kind")
    }


def differences(calm: State, here: State, ignored: frozenset[tuple[Name, str]] = frozenset()) -> list[Difference]:
    """Return what differs between two states, in the order of the names.

    Args:
        calm: The first state.
        here: The second.
        ignored: Names and paths that are not compared.
    """
    found: list[Difference] = []
    if calm == here:
        return found
    for name in sorted({*calm, *here}):
        for one, other in _paired(calm.get(name, ()), here.get(name, ())):
            found += [each for each in _compare(name, "", one, other) if not _is_ignored(each, ignored)]
    return found


def varying(first: State, second: State) -> frozenset[tuple[Name, str]]:
    """Return the names and paths at which two calm runs differ, so that comparisons leave them out."""
    return frozenset((each.name, each.path) for each in differences(first, second))


def _is_ignored(difference: Difference, ignored: frozenset[tuple[Name, str]]) -> bool:
    return any(
        difference.name == name and (difference.path == path or not path or difference.path.startswith(f"{path}."))
        for name, path in ignored
    )


def _aliases(objects: Iterable[tuple[str, Mapping[str, Any]]]) -> dict[str, str]:
    aliases = {}
    for resource, obj in objects:
        metadata = obj["metadata"]
        name = name_of(resource, metadata)
        aliases[metadata["uid"]] = f"<uid of {name}>"
        if name.key.endswith("*"):
            aliases[metadata["name"]] = name.key.rpartition("/")[2]
    return aliases


def _is_allocated(name: str, value: Any) -> bool:
    """Return whether the server may have given out this value: it differs if another object came first."""
    return name in _ALLOCATED and value not in ("None", ["None"])


def _simplify(value: Any, aliases: Mapping[str, str], generation: int | None) -> Any:
    match value:
        case dict():
            return {
                name: _ALLOCATED.get(name)
                if _is_allocated(name, part)
                else ("current" if part == generation else "behind")
                if name == "observedGeneration" and generation is not None
                else _simplify(part, aliases, generation)
                for name, part in value.items()
            }
        case list():
            return [_simplify(part, aliases, generation) for part in value]
        case str() if value in aliases:
            return aliases[value]
        case str() if _TIME.fullmatch(value):
            return "<time>"
        case str() if _UID.search(value):
            return _UID.sub("<uid>", value)
        case _:
            return value


def _paired(calm: Sequence[Any], here: Sequence[Any]) -> Iterable[tuple[Any, Any]]:
    for index in range(max(len(calm), len(here))):
        yield (
            calm[index] if index < len(calm) else _ABSENT,
            here[index] if index < len(here) else _ABSENT,
        )


def _compare(name: Name, path: str, calm: Any, here: Any) -> Iterable[Difference]:
    if isinstance(calm, dict) and isinstance(here, dict):
        for field in sorted({*calm, *here}):
            inner = f"{path}.{field}" if path else field
            yield from _compare(name, inner, calm.get(field, _ABSENT), here.get(field, _ABSENT))
    elif isinstance(calm, list) and isinstance(here, list) and len(calm) == len(here):
        for index, (one, other) in enumerate(zip(calm, here, strict=True)):
            yield from _compare(name, f"{path}.{index}", one, other)
    elif calm != here:
        yield Difference(name, path, calm, here)


def _short(value: Any, hides: bool = False) -> str:
    if value in (_ABSENT, DELETED):
        return str(value).strip("<>")
    if isinstance(value, dict) and "metadata" in value:
        return "there"
    if hides:
        return "a value"
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."

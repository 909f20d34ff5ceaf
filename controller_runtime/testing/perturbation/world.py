# SPDX-License-Identifier: Apache-2.0
"""The state of all objects, without the values that differ between two runs of the same test: uids, versions and times.

Events are left out: they are written at best effort, so a crash may lose or repeat them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from controller_runtime.core.leaves import leaves
from embedded_apiserver.perturbation import Name, name_of

LEFT_OUT = frozenset({"events"})
"""The plurals of kinds whose objects are not compared."""

_DROPPED = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "generation", "selfLink")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?")
_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_ABSENT = "<absent>"
_LONG = 5
# A name is replaced in values that contain it from this length on: a shorter text may well be something else.
_PAIRS = 400
# Objects of one name are compared with the most similar ones if there are at most so many pairs.
_ALLOCATED = {
    "clusterIP": "<address>",
    "clusterIPs": "<addresses>",
    "podIP": "<address>",
    "podIPs": "<addresses>",
    "nodePort": "<port>",
    "healthCheckNodePort": "<port>",
}
DELETED = "<deleted>"
"""The value in a state for an object that existed before the run began and has been deleted."""


State = Mapping[Name, Sequence[Any]]
"""The simplified objects, by name. Only generated names have more than one object."""


Values = frozenset[tuple[Name, str]]
"""Values of objects, by name and path; an empty path stands for the whole object."""


class Difference(NamedTuple):
    """A value that differs between two states.

    Attributes:
        name: The object.
        path: The path to the value, such as `spec.replicas`; empty if one of the states lacks the object, or if it is
            one value of an outside service.
        calm: The value in the first state.
        here: The value in the second state.
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
    """Return the simplified state of objects, which are given by collection."""
    objects = [(resource, obj) for resource, group in found.items() for obj in group]
    aliases = _aliases(objects)
    state: dict[Name, list[Any]] = {}
    for resource, obj in objects:
        state.setdefault(name_of(resource, obj["metadata"]), []).append(simplify(obj, aliases))
    for several in state.values():
        several.sort(key=repr)
    return state


def simplify(obj: Mapping[str, Any], aliases: Mapping[str, str]) -> dict[str, Any]:
    """Return an object without uids, versions, times and other values that differ between two runs.

    Args:
        obj: The object.
        aliases: Replacements for uids, generated names and addresses of pods.
    """
    metadata = {field: value for field, value in obj["metadata"].items() if field not in _DROPPED}
    generation = obj["metadata"].get("generation")
    return {
        name: _simplify(value, aliases, generation)
        for name, value in {**obj, "metadata": metadata}.items()
        if name not in ("apiVersion", "kind")
    }


def plainly(value: Any) -> Any:
    """Return a value of an outside service without that which differs between two runs.

    Uids, times, and allocated addresses and ports are replaced, and conditions are sorted by type.
    """
    return _simplify(value, {}, None)


def differences(calm: State, here: State, ignored: Values = frozenset()) -> list[Difference]:
    """Return the differences between two states, sorted by name.

    Args:
        calm: The first state.
        here: The second state.
        ignored: The values that are not compared.
    """
    found: list[Difference] = []
    if calm == here:
        return found
    for name in sorted({*calm, *here}):
        for one, other in _paired(calm.get(name, ()), here.get(name, ())):
            found += [each for each in _compare(name, "", one, other) if not _is_ignored(each, ignored)]
    return found


def varying(first: State, second: State) -> Values:
    """Return the values in which two unperturbed runs differ, so that comparisons ignore them."""
    return frozenset((each.name, each.path) for each in differences(first, second))


def renamed(state: State, names: Mapping[Name, Name]) -> State:
    """Return a state with objects renamed, also in the values by which objects refer to each other."""
    if not names:
        return state
    texts = {_text(old): _text(new) for old, new in names.items() if _text(old) != _text(new)}
    longest = sorted((text for text in texts if len(text) >= _LONG), key=len, reverse=True)
    pattern = re.compile(rf"(?<![0-9A-Za-z])({'|'.join(map(re.escape, longest))})(?![0-9A-Za-z])") if longest else None
    found: dict[Name, list[Any]] = {}
    for name, several in state.items():
        for obj in several:
            made = _with_names(obj, pattern, texts) if pattern is not None else obj
            if name in names and isinstance(made, dict) and "metadata" in made:
                made = {**made, "metadata": {**made["metadata"], "name": _text(names[name])}}
            found.setdefault(names.get(name, name), []).append(made)
    for several in found.values():
        several.sort(key=repr)
    return found


def counted(state: State, ignored: Values) -> tuple[int, int]:
    """Return the number of values of a state, and the number of ignored ones."""
    paths = [(name, path) for name, several in state.items() for obj in several for path, _ in values(obj)]
    return len(paths), sum(_is_ignored(Difference(name, path, None, None), ignored) for name, path in paths)


def values(obj: Any) -> Iterable[tuple[str, Any]]:
    """Return the values of an object that have no parts, each with its path, such as `spec.containers.0.image`."""
    return ((".".join(map(str, steps)), value) for steps, value in leaves(obj))


def _text(name: Name) -> str:
    return name.key.rpartition("/")[2]


def _with_names(value: Any, pattern: re.Pattern[str], texts: Mapping[str, str]) -> Any:
    match value:
        case dict():
            return {name: _with_names(part, pattern, texts) for name, part in value.items()}
        case list():
            return [_with_names(part, pattern, texts) for part in value]
        case str():
            return pattern.sub(lambda found: texts[found[0]], value)
        case _:
            return value


def _is_ignored(difference: Difference, ignored: Values) -> bool:
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
        if resource == "pods" and (address := (obj.get("status") or {}).get("podIP")):
            aliases[address] = f"<address of {name}>"
    return aliases


def _in_order(parts: list[Any]) -> list[Any]:
    """Return conditions by their types: their order tells only which of them was set first."""
    is_conditions = all(isinstance(each, dict) and {"type", "status"} <= set(each) for each in parts)
    return sorted(parts, key=lambda each: str(each["type"])) if is_conditions else parts


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
            return [_simplify(part, aliases, generation) for part in _in_order(value)]
        case str() if value in aliases:
            return aliases[value]
        case str() if _TIME.fullmatch(value):
            return "<time>"
        case str() if _UID.search(value):
            return _UID.sub("<uid>", value)
        case _:
            return value


def _paired(calm: Sequence[Any], here: Sequence[Any]) -> Iterable[tuple[Any, Any]]:
    """Return which objects of one name are compared: equal ones, and then those with the fewest differences."""
    left, others = [], list(here)
    for one in calm:
        if one in others:
            others.remove(one)
        else:
            left.append(one)
    if len(left) > 1 < len(others) and len(left) * len(others) <= _PAIRS:
        yield from _nearest(left, others)
        return
    for index in range(max(len(left), len(others))):
        yield (
            left[index] if index < len(left) else _ABSENT,
            others[index] if index < len(others) else _ABSENT,
        )


def _nearest(calm: list[Any], here: list[Any]) -> Iterable[tuple[Any, Any]]:
    anything = Name("", "")
    far = sorted(
        (sum(1 for _ in _compare(anything, "", one, other)), at, to)
        for at, one in enumerate(calm)
        for to, other in enumerate(here)
    )
    paired: dict[int, int] = {}
    for _, at, to in far:
        if at not in paired and to not in paired.values():
            paired[at] = to
    yield from ((one, here[paired[at]] if at in paired else _ABSENT) for at, one in enumerate(calm))
    yield from ((_ABSENT, other) for to, other in enumerate(here) if to not in paired.values())


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

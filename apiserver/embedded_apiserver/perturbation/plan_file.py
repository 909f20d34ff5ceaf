# SPDX-License-Identifier: Apache-2.0
"""The file that describes a perturbation: YAML or JSON, as `perturb` writes it for a failure that it found."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import attrs
import yaml

from apimachinery.errors import UsageError
from embedded_apiserver.perturbation.triggers import AtChange, AtRest, AtWrite, Trigger

Fields = Mapping[str, tuple[type, Any]]
"""The type and the default of each field; a default of None means that the field is required."""

_COUNT: tuple[type, Any] = (int, 1)
_REST: Fields = {"after": (str, ""), "change": (int, 0)}
KINDS: Mapping[str, Fields] = {
    "crash": {"write": (str, None), "occurrence": _COUNT, "landed": (bool, True)},
    "restart": _REST,
    "late": {"resource": (str, None), "change": _COUNT},
    "missed": {"object": (str, None), "change": _COUNT},
    "stale": {"resource": (str, None), "changes": (int, 0), **_REST},
}
"""The kinds of perturbations, each with its fields."""

_SETTINGS: Fields = {"client": (str, ""), "forced": (bool, False), "quiet": (float, 1.0), "plan": (dict, {})}
_FORCEABLE = ("missed", "stale")
_NAMES = {str: "a text", int: "a whole number from 0", bool: "true or false", float: "seconds", dict: "a mapping"}


@attrs.frozen
class Perturbation:
    """One perturbation of a client.

    Attributes:
        at: The trigger: the kind of perturbation, and when it happens.
        client: A text that the `User-Agent` of the client contains; empty for all clients except kubectl.
        forced: True for a behavior that a correct server never has: a list of the newest state shows an old one, or a
            watch goes on without the missed change.
        quiet: The seconds without a change after which the system counts as being at rest.
    """

    at: Trigger
    client: str = ""
    forced: bool = False
    quiet: float = 1.0


def to_fields(trigger: Trigger) -> dict[str, dict[str, Any]]:
    """Return a trigger in the form of the fields in a perturbation's file."""
    match trigger:
        case AtWrite(what, occurrence, landed):
            return {"crash": {"write": what, "occurrence": occurrence, "landed": landed}}
        case AtChange(resource, name, occurrence, is_missed):
            if is_missed:
                return {"missed": {"object": name, "change": occurrence}}
            return {"late": {"resource": resource, "change": occurrence}}
        case AtRest(_, resource, changes, after, occurrence):
            rest = {"after": after, "change": occurrence}
            return {"stale": {"resource": resource, "changes": changes, **rest}} if resource else {"restart": rest}


def read(path: Path) -> Perturbation:
    """Return the perturbation in a file.

    Raises:
        UsageError: The file cannot be read, or is not a perturbation; the message says how to correct it.
    """
    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"--perturb {path}: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UsageError(f"--perturb {path}: neither YAML nor JSON: {' '.join(str(error).split())}") from None
    try:
        return _perturbation(found)
    except ValueError as error:
        raise UsageError(f"--perturb {path}: {error}") from None


def _perturbation(found: Any) -> Perturbation:
    kinds = [name for name in KINDS if isinstance(found, dict) and name in found]
    if len(kinds) != 1:
        raise ValueError(
            f"a plan has one of {', '.join(KINDS)}, such as `crash: {{write: POST pods default/, occurrence: 1}}`"
        )
    (kind,) = kinds
    settings = _checked("a plan", {name: part for name, part in found.items() if name != kind}, _SETTINGS)
    if settings["forced"] and kind not in _FORCEABLE:
        raise ValueError(f"`forced` belongs to {' and '.join(_FORCEABLE)}: a lawful cluster may do each {kind}")
    at = _TRIGGERS[kind](_checked(f"`{kind}`", found[kind] or {}, KINDS[kind]))
    return Perturbation(at, settings["client"], settings["forced"], settings["quiet"])


def _checked(what: str, given: Any, fields: Fields) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise ValueError(f"{what} has the fields {', '.join(fields)}, and not {given!r}")
    if unknown := [str(name) for name in given if name not in fields]:
        raise ValueError(f"{what} has no field {unknown[0]!r}: there are {', '.join(fields)}")
    made: dict[str, Any] = {}
    for name, (kind, default) in fields.items():
        value = given.get(name, default)
        if value is None:
            raise ValueError(f"{what} needs the field `{name}`")
        made[name] = _typed(f"{what}: `{name}`", value, kind)
    return made


def _typed(where: str, value: Any, kind: type) -> Any:
    if kind is float and type(value) is int:
        value = float(value)
    is_typed = type(value) is kind
    if not is_typed or (isinstance(value, int | float) and value < 0):
        raise ValueError(f"{where} is {_NAMES[kind]}, and not {value!r}")
    return value


def _missed(fields: Mapping[str, Any]) -> Trigger:
    return AtChange(fields["object"].partition(" ")[0], fields["object"], fields["change"], is_missed=True)


_TRIGGERS: Mapping[str, Callable[[Mapping[str, Any]], Trigger]] = {
    "crash": lambda fields: AtWrite(fields["write"], fields["occurrence"], fields["landed"]),
    "restart": lambda fields: AtRest(0, "", 0, fields["after"], fields["change"]),
    "late": lambda fields: AtChange(fields["resource"], "", fields["change"], is_missed=False),
    "missed": _missed,
    "stale": lambda fields: AtRest(0, fields["resource"], fields["changes"], fields["after"], fields["change"]),
}

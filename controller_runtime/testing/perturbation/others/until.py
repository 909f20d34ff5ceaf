# SPDX-License-Identifier: Apache-2.0
"""Conditions of objects that a story waits for, in the syntax of `kubectl wait --for`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import attrs

from apimachinery.errors import NotFound, UsageError
from apimachinery.objects import ObjectKey
from controller_runtime.client.client import Client

FORMS = "condition=NAME[=VALUE], jsonpath={.path}=VALUE, create or delete"
_STEP = re.compile(r"\.([A-Za-z0-9_-]+)|\[(\d+)\]|\['([^']+)'\]")
_PATH = re.compile(r"jsonpath='?\{?((?:\.[A-Za-z0-9_-]+|\[\d+\]|\['[^']+'\])+)\}?'?=(.+)")
_CONDITION = re.compile(r"condition=([^=]+)(?:=(.+))?")


@attrs.frozen
class Until:
    """A condition of one object.

    Attributes:
        kind: The kind of the object.
        api_version: The API version; empty for the version that the server prefers.
        namespace: The namespace, ignored for cluster-scoped kinds.
        name: The name of the object.
        is_there: True if the object has to exist, False if it must not.
        path: The path to a value, or the type of a condition; empty if only the existence counts.
        value: The expected value, as text.
        is_condition: True if `path` is the type of a condition in the status.
        text: The condition as written in the story.
    """

    kind: str
    api_version: str
    namespace: str
    name: str
    is_there: bool
    path: str
    value: str
    is_condition: bool
    text: str

    def __str__(self) -> str:
        return f"{self.text} of {self.kind} {self.namespace}/{self.name}"

    @classmethod
    def read(cls, where: str, given: Any) -> Until:
        """Read a condition from the file of the user's actions.

        Args:
            where: The place in the file, for messages.
            given: The decoded YAML.

        Raises:
            UsageError: `given` is not a condition; the message begins with `where`.
        """
        fields = ("kind", "apiVersion", "namespace", "name", "for")
        if not isinstance(given, dict) or not all(isinstance(given.get(each), str) for each in ("kind", "name", "for")):
            example = "{kind: Deployment, name: web, for: condition=Available}"
            raise UsageError(f"{where}: `until` takes a kind, a name and a condition, such as {example}")
        if unknown := [each for each in given if each not in fields]:
            raise UsageError(f"{where}: `until` has no field {unknown[0]!r}: there are {', '.join(fields)}")
        text = given["for"]
        found = _CONDITION.fullmatch(text) or _PATH.fullmatch(text)
        if found is None and text not in ("create", "delete"):
            raise UsageError(f"{where}: `for: {text}` is not one of {FORMS}")
        return cls(
            kind=given["kind"],
            api_version=str(given.get("apiVersion") or ""),
            namespace=str(given.get("namespace") or "default"),
            name=given["name"],
            is_there=text != "delete",
            path=found[1] if found else "",
            value=found[2] or "True" if found else "",
            is_condition=text.startswith("condition"),
            text=text,
        )

    def holds(self, client: Client) -> bool:
        """Return whether the condition holds now; an unknown kind counts as a missing object."""
        try:
            resource = client.resource(self.kind, self.api_version)
            key = ObjectKey(self.name, self.namespace if resource.namespaced else "")
            found = client.get(resource, key, dict)
        except NotFound:
            return not self.is_there
        return self.is_there and (not self.path or self.value in _values(found, self.path, self.is_condition))


def _values(found: Mapping[str, Any], path: str, is_condition: bool) -> list[str]:
    """Return the values of an object, as text: that of a condition, or that at a path."""
    if is_condition:
        conditions = (found.get("status") or {}).get("conditions") or []
        return [str(each.get("status")) for each in conditions if each.get("type", "").lower() == path.lower()]
    value: Any = found
    for field, index, quoted in _STEP.findall(path):
        if index:
            value = value[int(index)] if isinstance(value, list) and int(index) < len(value) else None
        else:
            value = value.get(field or quoted) if isinstance(value, dict) else None
    if value is None:
        return []
    return [str(value).lower() if isinstance(value, bool) else str(value)]

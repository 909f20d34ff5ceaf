# SPDX-License-Identifier: Apache-2.0
"""A release that a newer server emulates: its features are that server's answers, its schemas those of its source."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import attrs

_KINDS = "x-kubernetes-group-version-kind"
_SINCE = re.compile(r"is deprecated in v1\.(\d+)\+")
_REFERENCE = re.compile(r'"#/components/schemas/([^"]+)"')

_PARAMETERS = {"shardSelector": 36}  # the minor release of each parameter that 1.31 does not describe
# The columns that not each release since 1.31 has: first and last minor release, kind, place and definition.
_COLUMNS: tuple[tuple[int, int, str, int, Mapping[str, Any]], ...] = (
    (31, 34, "v1/ServiceAccount", 1, {"name": "Secrets", "type": "string", "format": "", "priority": 0}),
    (32, 99, "scheduling.k8s.io/v1/PriorityClass", 4, {"name": "PreemptionPolicy"}),
)


@attrs.frozen
class Emulated:
    """A release without its own binary.

    Attributes:
        release: The release of the source tree, such as v1.34.2.
        schemas: Each type of that tree with its schema; None for one whose schema is computed by code.
        rules: The rules of each role that the code of that tree makes, by `collection/namespace/name`.
    """

    release: str
    schemas: Mapping[str, Any]
    rules: Mapping[str, Any] = attrs.field(factory=dict)

    @property
    def minor(self) -> str:
        """The release as `--emulated-version` takes it."""
        return self.release.removeprefix("v").rpartition(".")[0]

    def version(self, served: Mapping[str, str]) -> dict[str, str]:
        """Return the version of its own binary, which is compatible with the release before it."""
        number = int(self.minor.partition(".")[2])
        own = {"minor": str(number), "gitVersion": self.release, "minCompatibilityMinor": str(number - 1)}
        return {**served, **{name: text for name, text in own.items() if name in served}}

    def warnings(self, served: Mapping[str, str]) -> dict[str, str]:
        """Return the warnings without those of kinds that a later release deprecates, which a newer binary gives."""
        since = {key: _SINCE.search(text) for key, text in served.items()}
        number = int(self.minor.partition(".")[2])
        return {key: served[key] for key, match in since.items() if match is None or int(match[1]) <= number}

    def parameters(self, served: Mapping[str, str]) -> dict[str, str]:
        """Return the descriptions without those of parameters that came later, which a newer binary describes."""
        number = int(self.minor.partition(".")[2])
        return {name: text for name, text in served.items() if _PARAMETERS.get(name, 0) <= number}

    def objects(self, served: Mapping[str, Any]) -> dict[str, Any]:
        """Return the first objects, of which roles have the rules of the older tree: most follow no feature gate."""
        return {
            key: {**one, "rules": self.rules[key]} if key in self.rules and one.get("rules") else one
            for key, one in served.items()
        }

    def columns(self, served: Mapping[str, Any]) -> dict[str, Any]:
        """Return the columns of tables as the older release has them, which follow no feature gate.

        A column that the newer release has no more has the description of its field in the older one.
        """
        found = dict(served)
        number = int(self.minor.partition(".")[2])
        for first, last, kind, place, column in _COLUMNS:
            others = [one for one in served[kind] if one["name"] != column["name"]]
            if first <= number <= last:
                there = next((one for one in served[kind] if one["name"] == column["name"]), None)
                others.insert(place, there or {**column, "description": self._described(kind, column["name"])})
            found[kind] = others
        return found

    def _described(self, kind: str, column: str) -> str:
        version, _, name = kind.partition("/")
        found: str = self.schemas[f"io.k8s.api.core.{version}.{name}"]["properties"][column.lower()]["description"]
        return found

    def definitions(self, served: Mapping[str, Any]) -> dict[str, Any]:
        """Return the definitions, of which the newer server serves some: those that the older one has, as it has them.

        The kinds of a type, and a schema that code computes, are those of the newer server.
        """
        found: dict[str, Any] = {}
        names = [name for name in served if name in self.schemas]
        while names:
            name = names.pop()
            newer = served.get(name, {})
            kinds = {_KINDS: newer[_KINDS]} if _KINDS in newer else {}
            found[name] = newer if self.schemas[name] is None else {**self.schemas[name], **kinds}
            names += [one for one in _REFERENCE.findall(str(found[name]).replace("'", '"')) if one not in found]
        return found

# SPDX-License-Identifier: Apache-2.0
"""The kinds that are asked for, each with a valid body and with the fields that a status write may have."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs


@attrs.frozen
class Sample:
    """A kind, and what its objects look like.

    Attributes:
        group: The API group; empty for the core group.
        version: The version.
        plural: The name in paths.
        kind: The kind.
        weight: How often it is asked for.
        body: A valid object without a name.
        status: A valid status; None where the kind has no such subresource.
        namespaced: Whether its objects are in a namespace.
        scale: Whether it has a scale.
        rich: Further fields of the spec, or of the object if it has none, each valid alone.
    """

    group: str
    version: str
    plural: str
    kind: str
    weight: int
    body: Mapping[str, Any]
    status: Mapping[str, Any] | None = None
    namespaced: bool = True
    scale: bool = False
    rich: Mapping[str, Any] = {}

    @property
    def api_version(self) -> str:
        """The apiVersion of its objects."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def collection(self) -> str:
        """The path of the collection."""
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        return f"{root}/namespaces/{{ns}}/{self.plural}" if self.namespaced else f"{root}/{self.plural}"

    def object(self, name: str) -> dict[str, Any]:
        """Return a valid object."""
        metadata = {"name": name, "labels": {"app": "a"}}
        return {"apiVersion": self.api_version, "kind": self.kind, "metadata": metadata, **copy.deepcopy(self.body)}


def _read(name: str) -> tuple[Sample, ...]:
    path = Path(__file__).resolve().parent / "data" / name
    return tuple(Sample(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines())


SAMPLES = _read("samples.jsonl")
MORE = _read("more-samples.jsonl")
"""The kinds that the profile `wide` asks for, too; those before keep the sequences of their seeds."""

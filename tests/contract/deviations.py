# SPDX-License-Identifier: Apache-2.0
"""Where the embedded server answers otherwise than the real one did, each with its reason."""

from __future__ import annotations

import enum

import attrs


class Part(enum.Enum):
    """How far an answer deviates."""

    WORDING = "its message for people"
    ANSWER = "all of it"


@attrs.frozen
class Deviation:
    """One exchange that is answered otherwise."""

    part: Part
    reason: str


_LANGUAGE = Deviation(Part.WORDING, "the real wording is that of another language's library")
_TABLES = Deviation(Part.ANSWER, "tables are not produced yet: the whole objects are, which clients accept next")
_NO_SCHEDULER = Deviation(Part.ANSWER, "nothing here binds or evicts pods")

DEVIATIONS: dict[str, Deviation] = {
    "create: MicroTime without a fraction": _LANGUAGE,
    "create: MicroTime with three digits": _LANGUAGE,
    "create: a string where a number belongs": _LANGUAGE,
    "create: broken JSON": _LANGUAGE,
    "create: empty body": _LANGUAGE,
    "update: PUT of a config map that does not exist": Deviation(Part.ANSWER, "config maps are not served"),
    "patch: JSON patch that is not a list": _LANGUAGE,
    "pod: most of a pod spec cannot be changed": Deviation(
        Part.WORDING, "the real text ends with a diff of Go structs"
    ),
    "pod: binding": _NO_SCHEDULER,
    "pod: eviction": _NO_SCHEDULER,
    "list: a broken continue token": _LANGUAGE,
    "list: a version that is no number": _LANGUAGE,
    "list: metadata only": Deviation(Part.ANSWER, "whole objects are answered, which clients accept next"),
    "list: a table of leases": _TABLES,
    "list: a table of nodes": _TABLES,
    "list: a table of pods": _TABLES,
    "list: a table of namespaces": _TABLES,
    "list: not acceptable": Deviation(Part.WORDING, "the list of what is produced is shorter: JSON"),
    "list: YAML": Deviation(Part.ANSWER, "YAML is read but not produced yet"),
    "watch: a version that is no number": Deviation(
        Part.ANSWER, "the client's fault is told as one (400), as for a list, and not as the server's (500)"
    ),
    "watch: streamed list: initial events, then the annotated bookmark": Deviation(
        Part.ANSWER, "a bookmark has metadata alone, without the empty parts of a Go struct"
    ),
    "watch: metadata-only watch": Deviation(Part.ANSWER, "whole objects are answered, which clients accept next"),
    "watch: a watch of tables, as kubectl get -w asks": _TABLES,
}

# SPDX-License-Identifier: Apache-2.0
"""The recorded exchanges that the embedded server answers differently, each with the reason."""

from __future__ import annotations

import enum

import attrs


class Part(enum.Enum):
    """The part of a response that differs."""

    WORDING = "its message for people"
    ANSWER = "all of it"


@attrs.frozen
class Deviation:
    """The difference in one response.

    Attributes:
        part: The part that differs.
        reason: Why it does.
    """

    part: Part
    reason: str


_LANGUAGE = Deviation(Part.WORDING, "the real wording is that of another language's library")
_BUILD = Deviation(Part.ANSWER, "another program of another make")

DEVIATIONS: dict[str, Deviation] = {
    "patch: JSON patch that is not a list": _LANGUAGE,
    "discovery: discovery and health": _BUILD,
    "discovery: discovery and health (2)": _BUILD,
    "discovery: discovery and health (3)": Deviation(Part.ANSWER, "the server does not know by which address"),
    "discovery: discovery and health (4)": Deviation(
        Part.ANSWER, "the recorded server had older candidates off; test_discovery.py has one with all versions"
    ),
    "watch: streamed list: initial events, then the annotated bookmark": Deviation(
        Part.ANSWER, "a bookmark has metadata alone, without the empty parts of a Go struct"
    ),
    "patch table: replace of the whole by a list": Deviation(
        Part.ANSWER, "a list is refused as a patch that does not fit"
    ),
    "patch table: add with a number as path": _LANGUAGE,
    "patch table: an operation that is a number": _LANGUAGE,
    "patch table: an operation with more members": Deviation(
        Part.ANSWER, "members of an operation that mean nothing are not warned of"
    ),
    "patch table: no list": _LANGUAGE,
    "protobuf: a kind that does not exist": _LANGUAGE,
}

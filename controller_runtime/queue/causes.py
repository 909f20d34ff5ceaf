# SPDX-License-Identifier: Apache-2.0
"""The causes of each hand-out: a few reasons why an item is handed out, each with the object that gave it last."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

PlainKey = tuple[str, str]
"""Name and namespace. It is the type of `api.objects`, which a program that only uses a queue need not import."""

MAX_CAUSES = 4
"""The number of different causes of one hand-out that are remembered: the first ones. They are for people only."""

MAX_COVERED = 64
"""The most versions of one hand-out that are remembered beside those in its causes."""

PlainVersion: TypeAlias = tuple[PlainKey, str]
"""The key of an object, and a version of it."""

UNKNOWN: PlainVersion = (("", ""), "")
"""Stands for the version of a cause that was not remembered."""

# The fields of a `Cause`. Plain tuples, because each addition of an item makes one, and a plain one costs a fifth.
PlainCause: TypeAlias = tuple[str, PlainKey | None, str, int]


class Cause(NamedTuple):
    """One reason for which an item is handed out to a worker.

    Attributes:
        text: A few words, always the same for the same reason, such as `nodes changed`.
        key: Name and namespace of the object that was the last to give this reason; None if no object did.
        version: The resourceVersion of that object; empty if no object gave it.
        times: How many additions of the item gave this reason.
    """

    text: str
    key: PlainKey | None
    version: str
    times: int

    def __str__(self) -> str:
        often = f" {self.times} times" if self.times > 1 else ""
        where = "" if self.key is None else f" ({self.object} at {self.version})"
        return self.text + often + where

    @property
    def object(self) -> str:
        """The object as text, such as `default/a`; empty if no object caused it."""
        name, namespace = self.key or ("", "")
        return f"{namespace}/{name}" if namespace else name


class Causes(tuple[PlainCause, ...]):
    """The causes of one hand-out. They are formatted as text only if they are logged."""

    __slots__ = ()

    def __str__(self) -> str:
        return ", ".join(str(Cause._make(each)) for each in self)


def with_cause(causes: tuple[PlainCause, ...], cause: PlainCause) -> tuple[tuple[PlainCause, ...], PlainCause | None]:
    """Add a cause to those of a hand-out; return the new causes, and the one that is not among them; None if all are.

    A new cause replaces an earlier one with the same text, even of another object, so that a hundred changed pods leave
    room for another reason. If there are `MAX_CAUSES` other texts already, the new cause itself is left out.
    """
    text, key, version, times = cause
    for place, each in enumerate(causes):
        if each[0] == text:
            return (*causes[:place], (text, key, version, each[3] + times), *causes[place + 1 :]), each
    return ((*causes, cause), None) if len(causes) < MAX_CAUSES else (causes, cause)


def version_of(cause: PlainCause) -> PlainVersion | None:
    """Return the key and version of the object that gave this cause; None if no object did.

    The version is empty for a deletion: the last state of a deleted object does not have the version of its deletion.
    """
    text, key, version, _ = cause
    return None if key is None else (key, "" if text.endswith(" deleted") else version)


def cover(covered: list[PlainVersion], cause: PlainCause) -> None:
    """Add the version of a cause that is no longer among the causes of its hand-out to `covered`.

    If the list is full, its last entry becomes `UNKNOWN` instead.
    """
    if len(covered) < MAX_COVERED:
        covered.append(version_of(cause) or UNKNOWN)
    else:
        covered[-1] = UNKNOWN

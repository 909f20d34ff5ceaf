# SPDX-License-Identifier: Apache-2.0
"""Why an item is handed out: a few causes of each turn, with the object and the version that caused it last."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

PlainKey = tuple[str, str]
"""Name and namespace; the type of `api.objects`, which a program with nothing but a queue need not import."""

MAX_CAUSES = 4
"""The number of different causes of one hand-out that are remembered: the first ones. They are for people only."""

MAX_COVERED = 64
"""The number of further versions of one hand-out that are remembered, that of which no cause tells any more."""

PlainVersion: TypeAlias = tuple[PlainKey, str]
"""The key of an object, and a version of it."""

UNKNOWN: PlainVersion = (("", ""), "")
"""Stands for a cause that was not remembered."""

# The fields of a `Cause`. Plain tuples, because each addition of an item makes one, and a plain one costs a fifth.
PlainCause: TypeAlias = tuple[str, PlainKey | None, str, int]


class Cause(NamedTuple):
    """One reason of a hand-out.

    Attributes:
        text: A few words, the same ones for the same reason, such as `nodes changed`.
        key: Name and namespace of the object that caused it last; None if no object did.
        version: That object's resourceVersion; empty if no object caused it.
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
    """The causes of one hand-out, as text where they are logged; nothing is formatted before that."""

    __slots__ = ()

    def __str__(self) -> str:
        return ", ".join(str(Cause._make(each)) for each in self)


def with_cause(causes: tuple[PlainCause, ...], cause: PlainCause) -> tuple[tuple[PlainCause, ...], PlainCause | None]:
    """Return the causes with one more, and the one that they do not tell any more: a replaced one, or the new one.

    A cause of the same text takes its place with the newer object. The text tells causes apart, and not the object, so
    that a hundred changed pods leave room for another reason.
    """
    text, key, version, times = cause
    for place, each in enumerate(causes):
        if each[0] == text:
            return (*causes[:place], (text, key, version, each[3] + times), *causes[place + 1 :]), each
    return ((*causes, cause), None) if len(causes) < MAX_CAUSES else (causes, cause)


def version_of(cause: PlainCause) -> PlainVersion | None:
    """Return the version that caused a hand-out, of a deletion without its number; None if no object caused it."""
    text, key, version, _ = cause
    return None if key is None else (key, "" if text.endswith(" deleted") else version)


def cover(covered: list[PlainVersion], cause: PlainCause) -> None:
    """Add the version of a cause that is not reported for want of room; the last place stands for all further ones."""
    if len(covered) < MAX_COVERED:
        covered.append(version_of(cause) or UNKNOWN)
    else:
        covered[-1] = UNKNOWN

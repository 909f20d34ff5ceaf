# SPDX-License-Identifier: Apache-2.0
"""The levels of a namespace: its labels say which one is enforced, which one audited, and which one warned of."""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping
from typing import NamedTuple

from embedded_apiserver.causes import invalid
from embedded_apiserver.status import Cause

PREFIX = "pod-security.kubernetes.io/"
"""The beginning of the labels, and of the keys of annotations in the audit log."""
_ENFORCE, _AUDIT, _WARN = (PREFIX + mode for mode in ("enforce", "audit", "warn"))
_OF_VERSION = "-version"
LABELS = frozenset(mode + suffix for mode in (_ENFORCE, _AUDIT, _WARN) for suffix in ("", _OF_VERSION))
"""The labels of a namespace that set its levels."""
_VERSION = re.compile(r"v1\.(0|[1-9][0-9]*)", re.ASCII)
_LARGEST = 2**63 - 1
_NO_VERSION = 'must be "latest" or "v1.x"'


class Level(enum.StrEnum):
    """A pod security level, in the order from the least to the most restrictive."""

    PRIVILEGED = "privileged"
    BASELINE = "baseline"
    RESTRICTED = "restricted"

    @property
    def rank(self) -> int:
        """The number of levels that are less restrictive."""
        return _RANKS[self]


_RANKS = {level: number for number, level in enumerate(Level)}
_NO_LEVEL = f"must be one of {', '.join(Level)}"


class LevelVersion(NamedTuple):
    """A pod security level, as defined in one release of Kubernetes.

    Attributes:
        level: The level.
        minor: The minor version of the release; None for the newest.
    """

    level: Level = Level.PRIVILEGED
    minor: int | None = None

    def __str__(self) -> str:
        return f"{self.level}:{'latest' if self.minor is None else f'v1.{self.minor}'}"


class NamespaceLevels(NamedTuple):
    """The pod security levels of a namespace: for the refusal of pods, for audit annotations, and for warnings."""

    enforce: LevelVersion = LevelVersion()
    audit: LevelVersion = LevelVersion()
    warn: LevelVersion = LevelVersion()


def policy_of(labels: Mapping[str, str]) -> tuple[NamespaceLevels, list[Cause]]:
    """Return the pod security policy in the labels of a namespace, and the validation errors of the labels.

    An invalid level counts as restricted for `enforce` and as privileged for `audit` and `warn`; an invalid version
    counts as the newest. Without a label for `warn`, its level is that of a valid label for `enforce`, and so is its
    version if no label sets it.
    """
    if LABELS.isdisjoint(labels):
        return NamespaceLevels(), []
    causes: list[Cause] = []
    enforce, audit, warn = (_of_mode(labels, mode, causes) for mode in (_ENFORCE, _AUDIT, _WARN))
    if _WARN not in labels and labels.get(_ENFORCE) in _RANKS and enforce.level is not Level.PRIVILEGED:
        minor = warn.minor if _WARN + _OF_VERSION in labels else enforce.minor
        warn = LevelVersion(enforce.level, minor)
    return NamespaceLevels(enforce, audit, warn), causes


def _of_mode(labels: Mapping[str, str], mode: str, causes: list[Cause]) -> LevelVersion:
    level, minor = Level.PRIVILEGED, None
    if (text := labels.get(mode)) is not None:
        if text in _RANKS:
            level = Level(text)
        else:
            causes.append(invalid(f"metadata.labels[{mode}]", text, _NO_LEVEL))
            level = Level.RESTRICTED if mode == _ENFORCE else Level.PRIVILEGED
    label = mode + _OF_VERSION
    if (text := labels.get(label, "latest")) != "latest":
        match = _VERSION.fullmatch(text)
        if match is None or int(match[1]) > _LARGEST:
            causes.append(invalid(f"metadata.labels[{label}]", text, _NO_VERSION))
        else:
            minor = int(match[1])
    return LevelVersion(level, minor)

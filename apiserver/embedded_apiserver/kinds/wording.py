# SPDX-License-Identifier: Apache-2.0
"""Refusals in the words of an older release, where they differ from those of the newest."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from importlib import resources
from typing import Any

import msgspec

from embedded_apiserver.kinds.release import NEWEST, Release
from embedded_apiserver.status import StatusError


class _Text(msgspec.Struct):
    """One text that differs.

    Attributes:
        releases: The releases that were seen to have it.
        now: A regular expression for the text of the newest release.
        then: The text of those releases, with the groups of `now`.
    """

    releases: list[str]
    now: str
    then: str


@functools.cache
def _texts(release: Release) -> Sequence[tuple[re.Pattern[str], str]]:
    packed = resources.files(__package__).joinpath("data", "texts.json").read_bytes()
    found = msgspec.json.decode(packed, type=list[_Text])
    return [(re.compile(one.now), one.then) for one in found if str(release) in one.releases]


def in_words_of(release: Release, error: StatusError) -> StatusError:
    """Return a refusal with the texts and the names of fields that a release has; itself for the newest."""
    if release == NEWEST:
        return error
    error.message = _reworded(release, error.message)
    if error.details is not None:
        error.details = _reworded(release, error.details)
    return error


def _reworded(release: Release, value: Any) -> Any:
    if isinstance(value, str):
        for now, then in _texts(release):
            value = now.sub(then, value)
        return value
    if isinstance(value, dict):
        return {name: _reworded(release, part) for name, part in value.items()}
    return [_reworded(release, part) for part in value] if isinstance(value, list) else value

# SPDX-License-Identifier: Apache-2.0
"""Refusals in the words of an older release, where they differ from those of the newest.

Each entry of `texts.json` has the releases that were seen to differ, a regular expression for the text of the newest
one (`now`), and their text (`then`), with the groups of that expression.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from importlib import resources
from typing import Any

import msgspec

from embedded_apiserver.kinds.release import NEWEST, Release
from embedded_apiserver.status import StatusError


@functools.cache
def _texts(release: Release) -> Sequence[tuple[re.Pattern[str], str]]:
    packed = resources.files(__package__).joinpath("data", "texts.json").read_bytes()
    found: list[dict[str, Any]] = msgspec.json.decode(packed)
    return [(re.compile(one["now"]), one["then"]) for one in found if str(release) in one["releases"]]


def in_words_of(release: Release, error: StatusError) -> StatusError:
    """Change an error to the texts and field names of a release, and return it. The newest release changes nothing."""
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

# SPDX-License-Identifier: Apache-2.0
"""The facts that each release of Kubernetes tells of itself, as data: the older ones as differences from the newest.

`tests/tools/record_release.py` records a release from its own binary, and `tests/tools/release_data.py` makes
a file in `kinds/data` of it. A file is read when its release is first served, so other releases cost nothing. Each has:

- `version`: the document at `/version`; `gates`: the names of the feature gates that are on and off by default;
- `warnings`: the warning of each kind that is deprecated, by `group/version/plural`;
- differences from the newest release in `kinds` (discovery), `definitions` (schemas), `forms` (how fields are stored),
  `off` (fields that are taken and not stored), `created` (new objects), `columns` (of tables) and `objects` (of a new
  server).

The differences of descriptions, which only OpenAPI documents have, are in a file of their own.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from importlib import resources
from typing import Any

import msgspec

from apimachinery.schema import Library, Schema, definitions

GONE = "-"
"""The key under which a difference of two maps has the keys that only the newest release has."""

Raw = Mapping[str, Any]
"""Facts by name, as JSON."""


@functools.cache
def facts_of(release: str) -> Raw:
    """Return the recorded facts about a Kubernetes release, such as `1.33`."""
    return _read(f"{release}.json")


def descriptions_of(release: str) -> Raw:
    """Return the differences between the descriptions of kinds and fields in a release and in the newest one.

    The file is read at each call.
    """
    return _read(f"{release}-descriptions.json")


def _read(name: str) -> Raw:
    found: dict[str, Any] = msgspec.json.decode(resources.files(__package__).joinpath("data", name).read_bytes())
    return found


def adapted(newest: Any, difference: Any) -> Any:
    """Return the value of an older release, given the newest release's value and the difference between them.

    Equal parts are shared. If both are maps, `difference` has an entry for each key whose values differ, and under
    `GONE` a list of the keys that the older release lacks. Any other difference is the older value itself.
    """
    if not (isinstance(newest, Mapping) and isinstance(difference, Mapping)):
        return difference
    gone = difference.get(GONE, ())
    made = {key: value for key, value in newest.items() if key not in gone}
    for key, part in difference.items():
        if key != GONE:
            made[key] = adapted(newest[key], part) if key in newest else part
    return made


def as_in(release: str, subject: str, newest: Any) -> Any:
    """Return the facts on a subject in a release, given those of the newest release."""
    difference = facts_of(release).get(subject)
    return adapted(newest, difference) if difference else newest


@functools.cache
def definitions_of(release: str) -> Mapping[str, Raw]:
    """Return the schema definitions of all types in a release, by name. The mapping is shared: do not change it."""
    found: Mapping[str, Raw] = as_in(release, "definitions", definitions())
    return found


@functools.cache
def schemas_of(release: str) -> Mapping[tuple[str, str, str], Schema]:
    """Return the schemas of all kinds in a release, by group, version and kind."""
    return dict(Library(definitions_of(release)).kinds())

# SPDX-License-Identifier: Apache-2.0
"""The checks of controller revisions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from embedded_apiserver.causes import invalid, required
from embedded_apiserver.checks.basic import IMMUTABLE
from embedded_apiserver.objects import Object
from embedded_apiserver.status import Cause


def revision(obj: Object) -> Iterator[Cause]:
    """Return the validation errors of a new ControllerRevision."""
    yield from _revision_number(obj)
    data = obj.get("data")
    if data is None:
        yield required("data", "data is mandatory")
    elif not isinstance(data, Mapping):
        yield required("data", "data must be a valid JSON object")


def _revision_number(obj: Object) -> Iterator[Cause]:
    if (number := obj.get("revision", 0)) < 0:
        yield invalid("revision", number, "must be greater than or equal to 0")


def revision_change(old: Object, new: Object) -> Iterator[Cause]:
    """Return the validation errors of an update of a ControllerRevision: its data must not change."""
    yield from _revision_number(new)
    # A real server compares the stored text, so that other keys' order or 1.0 for 1 is a change, too.
    if msgspec.json.encode(old.get("data")) != msgspec.json.encode(data := new.get("data")):
        yield invalid("data", data, IMMUTABLE)

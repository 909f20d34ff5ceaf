# SPDX-License-Identifier: Apache-2.0
"""Encodes a reconcile that has met confidential values, with stand-ins in their place."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from controller_runtime.incidents.finished import Anchor, Encoded, Finished
from controller_runtime.incidents.incident import compact
from controller_runtime.incidents.standins import StandIns, values_of, without_tokens

MOST_VALUES = 1000
"""Confidential values of one record: each is looked for in all of its text, which took 0.4 s for 800 in 175 KB."""

Confidential: TypeAlias = "Callable[[dict[str, Any]], Iterable[str | bytes]]"
"""Returns the values of an object that must not be kept, beside those of Secrets."""


class TooConfidential(Exception):
    """The confidential values of a reconcile cannot all be replaced, so nothing of it may be kept."""


def encoded(finished: Finished, anchor: Anchor, confidential: Confidential | None) -> Encoded:
    """Return the record of a reconcile with stand-ins, and let go of the steps that it had for their values alone.

    Raises:
        TooConfidential: See there.
        Exception: `confidential` failed.
    """
    stand_ins = StandIns(_values(finished, anchor, confidential))
    whole = finished.incident(anchor, lambda text: without_tokens(stand_ins.replaced(text)))
    item = Encoded(finished.number, stand_ins.replaced(compact(whole)))
    item.incident()
    return item


def _values(finished: Finished, anchor: Anchor, confidential: Confidential | None) -> set[bytes]:
    bounds = None if finished.attempt is None else finished.attempt.bounds
    if bounds is not None and bounds.is_unsafe:
        raise TooConfidential("it saw values of Secrets that are not at hand, or in too many objects")
    values: set[bytes] = set()
    for value in values_of(finished.incident(anchor, with_hidden=True), confidential):
        values.add(value)
        if len(values) > MOST_VALUES:
            raise TooConfidential(f"it saw more than {MOST_VALUES} values of Secrets")
    if bounds is not None:
        bounds.hidden.clear()
    return values

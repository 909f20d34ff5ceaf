# SPDX-License-Identifier: Apache-2.0
"""Encodes a reconcile that has met confidential values, with stand-ins in their place."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from controller_runtime.incidents.finished import Anchor, Encoded, Finished
from controller_runtime.incidents.incident import compact
from controller_runtime.incidents.standins import StandIns, values_of, without_tokens

MOST_VALUES = 1000
"""The most confidential values of one record. Each is searched for in the whole text, which took 0.4 s for 800 values
in 175 KB.
"""

Confidential: TypeAlias = "Callable[[dict[str, Any]], Iterable[str | bytes]]"
"""Returns those values of an object that must not be kept, in addition to the values of Secrets."""


class TooConfidential(Exception):
    """Raised if the confidential values of a reconcile cannot all be replaced, so nothing of it may be kept."""


def encoded(finished: Finished, anchor: Anchor, confidential: Confidential | None) -> Encoded:
    """Return the record of a reconcile as JSON, with stand-ins (replacements) for confidential values.

    Call it once for a reconcile: it removes `Bounds.hidden`, whose values a second call would not replace.

    Args:
        finished: The reconcile.
        anchor: The time of the wall clock at some monotonic seconds; it gives the start time.
        confidential: Returns further values of an object to replace, beside those of Secrets; None for none.

    Raises:
        TooConfidential: Some values cannot be replaced, or there are too many.
        UsageError: The record is longer than `MOST_BYTES`.
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

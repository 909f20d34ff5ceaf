# SPDX-License-Identifier: Apache-2.0
"""Which changes matter: pure questions about an object before and after.

A creation has no `old`, a deletion no `new`; whatever asks about a *change* lets both pass.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from controller_runtime.api.objects import Cached, labels_of
from controller_runtime.api.selectors import LabelSelector

Predicate = Callable[[Cached | None, Cached | None], bool]
"""True when the change from the first to the second is worth a reconcile."""


def changed(value_of: Callable[[Cached], Any]) -> Predicate:
    """Updates that change what `value_of` says of the object, such as `labels_of`; every creation and deletion."""

    def is_changed(old: Cached | None, new: Cached | None) -> bool:
        if old is None or new is None:
            return old is not new
        return bool(value_of(old) != value_of(new))

    return is_changed


def all_of(*predicates: Predicate) -> Predicate:
    """Changes that every one of `predicates` lets pass; all changes, if there are none."""
    return lambda old, new: all(predicate(old, new) for predicate in predicates)


def any_of(*predicates: Predicate) -> Predicate:
    """Changes that at least one of `predicates` lets pass; no change, if there are none."""
    return lambda old, new: any(predicate(old, new) for predicate in predicates)


def negate(predicate: Predicate) -> Predicate:
    """Changes that `predicate` does not let pass."""
    return lambda old, new: not predicate(old, new)


def matches(selector: str) -> Predicate:
    """Changes of objects that a label selector matches, before or after: leaving the selection is news as well.

    Raises:
        ValueError: The selector is malformed.
    """
    labels = LabelSelector.parse(selector)
    return lambda old, new: any(obj is not None and labels.matches(labels_of(obj)) for obj in (old, new))

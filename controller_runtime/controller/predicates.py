# SPDX-License-Identifier: Apache-2.0
"""Predicates: pure functions that decide whether a change of an object is worth a reconcile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from apimachinery.objects import Cached, labels_of
from apimachinery.plain_functions import synchronous
from apimachinery.selectors import LabelSelector
from controller_runtime.cache.store import Delta

Predicate = Callable[[Delta], bool]
"""Returns True if a change is worth a reconcile. It must be pure and quick: it runs on the informer's thread.

The delta of a creation has no `old`, that of a deletion no `new`.
"""


def changed(value_of: Callable[[Cached], Any]) -> Predicate:
    """Return a predicate that passes every creation and deletion, and each update that changes a value of the object.

    Args:
        value_of: Returns the value to compare, such as `labels_of`.
    """
    value = synchronous("changed", value_of)

    def is_changed(delta: Delta) -> bool:
        if delta.old is None or delta.new is None:
            return delta.old is not delta.new
        return bool(value(delta.old) != value(delta.new))

    return is_changed


def all_of(*predicates: Predicate) -> Predicate:
    """Return a predicate that passes a change if all of `predicates` pass it; without any, it passes every change."""
    parts = [synchronous("all_of", predicate) for predicate in predicates]
    return lambda delta: all(predicate(delta) for predicate in parts)


def any_of(*predicates: Predicate) -> Predicate:
    """Return a predicate that passes a change if at least one of `predicates` does; without any, it passes none."""
    parts = [synchronous("any_of", predicate) for predicate in predicates]
    return lambda delta: any(predicate(delta) for predicate in parts)


def not_(predicate: Predicate) -> Predicate:
    """Return a predicate that passes exactly the changes that `predicate` does not pass."""
    passes = synchronous("not_", predicate)
    return lambda delta: not passes(delta)


def matches(selector: str) -> Predicate:
    """Return a predicate that passes a change if the label selector matches the object before or after it.

    So it also passes the change after which an object no longer matches.

    Raises:
        ValueError: The selector is malformed.
    """
    labels = LabelSelector.parse(selector)
    return lambda delta: any(obj is not None and labels.matches(labels_of(obj)) for obj in (delta.old, delta.new))

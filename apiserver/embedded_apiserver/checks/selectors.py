# SPDX-License-Identifier: Apache-2.0
"""Rules of label selectors and of node selectors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from apimachinery.names import label_value_errors, subdomain_errors
from apimachinery.selectors import LabelSelector
from embedded_apiserver.causes import forbidden, invalid, required
from embedded_apiserver.checks.basic import each, qualified_name
from embedded_apiserver.checks.metadata import label_causes
from embedded_apiserver.objects import Object
from embedded_apiserver.status import Cause

_BAD_OPERATOR = "not a valid selector operator"
_NEEDS_VALUES = "must be specified when `operator` is 'In' or 'NotIn'"
_NO_VALUES = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"


def label_selector(selector: Object | None, place: str) -> Iterator[Cause]:
    """Return the validation errors of a label selector; None is valid."""
    if not selector:
        return
    yield from label_causes(selector.get("matchLabels") or {}, f"{place}.matchLabels")
    for index, one in enumerate(selector.get("matchExpressions") or ()):
        yield from _requirement(one, f"{place}.matchExpressions[{index}]")


def _requirement(one: Object, place: str, *, is_of_nodes: bool = False, checks_values: bool = True) -> Iterator[Cause]:
    operator, values = one.get("operator", ""), one.get("values") or ()
    if operator in ("In", "NotIn"):
        if not values:
            yield required(f"{place}.values", _NEEDS_VALUES)
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            yield forbidden(f"{place}.values", _NO_VALUES)
    elif is_of_nodes and operator in ("Gt", "Lt"):
        if len(values) != 1:
            yield required(f"{place}.values", "must be specified single value when `operator` is 'Lt' or 'Gt'")
    else:
        yield invalid(f"{place}.operator", operator, _BAD_OPERATOR)
    yield from qualified_name(one.get("key", ""), f"{place}.key")
    for index, value in enumerate(values if checks_values else ()):
        yield from each(label_value_errors, value, f"{place}.values[{index}]")


def compiled(selector: Object | None) -> LabelSelector | None:
    """Return a label selector in the form that can match labels; None if it is invalid."""
    if next(label_selector(selector, ""), None) is not None:
        return None
    try:
        return LabelSelector.from_object(selector or {})
    except ValueError:
        return None


def is_empty(selector: Object) -> bool:
    """Return whether a label selector has neither `matchLabels` nor `matchExpressions`."""
    return not selector.get("matchLabels") and not selector.get("matchExpressions")


def shown_labels(labels: Mapping[str, str] | None) -> Any:
    """Return labels in the form for error messages: as sorted JSON, or None if there are none."""
    return msgspec.Raw(msgspec.json.encode(labels, order="sorted")) if labels else None


def node_selector(selector: Object, place: str) -> Iterator[Cause]:
    """Return the validation errors of a node selector."""
    terms = selector.get("nodeSelectorTerms")
    if not terms:
        yield required(f"{place}.nodeSelectorTerms", "must have at least one node selector term")
    for index, term in enumerate(terms or ()):
        yield from node_selector_term(term, f"{place}.nodeSelectorTerms[{index}]")


def node_selector_term(term: Object, place: str, *, checks_values: bool = True) -> Iterator[Cause]:
    """Return the validation errors of a node selector term.

    `checks_values` is False for a preferred term, whose values may be any texts.
    """
    for index, one in enumerate(term.get("matchExpressions") or ()):
        expression = f"{place}.matchExpressions[{index}]"
        yield from _requirement(one, expression, is_of_nodes=True, checks_values=checks_values)
    for index, one in enumerate(term.get("matchFields") or ()):
        yield from _field_requirement(one, f"{place}.matchFields[{index}]")


def _field_requirement(one: Object, place: str) -> Iterator[Cause]:
    operator, key, values = one.get("operator", ""), one.get("key", ""), one.get("values") or ()
    if operator in ("In", "NotIn"):
        if len(values) != 1:
            text = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
            yield required(f"{place}.values", text)
    else:
        yield invalid(f"{place}.operator", operator, _BAD_OPERATOR)
    if key != "metadata.name":
        yield invalid(f"{place}.key", key, "not a valid field selector key")
        return
    for index, value in enumerate(values):
        yield from each(subdomain_errors, value, f"{place}.values[{index}]")

# SPDX-License-Identifier: Apache-2.0
"""Label selectors as they stand in objects: `matchLabels` and `matchExpressions`."""

from __future__ import annotations

from collections.abc import Mapping

from controller_runtime.apiserver.rules.rules import Object


def selects(selector: Object, labels: Mapping[str, str]) -> bool:
    """Whether the labels match; an empty selector matches all."""
    same = all(labels.get(key) == value for key, value in selector.get("matchLabels", {}).items())
    return same and all(_holds(one, labels) for one in selector.get("matchExpressions", ()))


def selector_text(selector: Object) -> str:
    """The selector as one writes it in a query, `a=1,b in (x,y)`; that of a replication controller is plain labels."""
    labels = selector if all(type(value) is str for value in selector.values()) else selector.get("matchLabels", {})
    terms = [(key, f"{key}={value}") for key, value in labels.items()]
    terms += [(one["key"], _text(one)) for one in selector.get("matchExpressions", ())]
    return ",".join(text for _, text in sorted(terms))


def _text(expression: Object) -> str:
    key, operator, values = expression["key"], expression["operator"], ",".join(sorted(expression.get("values", ())))
    match operator:
        case "Exists":
            return str(key)
        case "DoesNotExist":
            return f"!{key}"
    return f"{key} {operator.lower()} ({values})"


def _holds(expression: Object, labels: Mapping[str, str]) -> bool:
    key, values = expression.get("key", ""), expression.get("values", ())
    match expression.get("operator"):
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
    return False  # refused elsewhere; nothing is selected by what has no meaning

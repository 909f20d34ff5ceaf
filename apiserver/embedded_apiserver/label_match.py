# SPDX-License-Identifier: Apache-2.0
"""Label selectors that objects hold, of workloads and budgets; see `LabelSelector.from_object`."""

from __future__ import annotations

from collections.abc import Mapping

from apimachinery.selectors import LabelSelector
from embedded_apiserver.objects import Object


def selects(selector: Object, labels: Mapping[str, str]) -> bool:
    """Return whether a label selector matches `labels`. An empty selector matches all labels, an invalid one none."""
    try:
        return LabelSelector.from_object(selector).matches(labels)
    except ValueError:
        return False


def selector_text(selector: Object) -> str:
    """Return a label selector as the text for a query, such as `a=1,b in (x,y)`; empty if it is invalid.

    `selector` is an object such as a Deployment's, or a plain mapping of labels such as a ReplicationController's.
    """
    if all(type(value) is str for value in selector.values()):
        selector = {"matchLabels": selector}
    try:
        return str(LabelSelector.from_object(selector))
    except ValueError:
        return ""

# SPDX-License-Identifier: Apache-2.0
"""Label selectors as objects have them, as the text that lists and watches take."""

from __future__ import annotations

from typing import cast

from apimachinery.selectors import LabelSelector
from controller_runtime.client.bodies import Body, mapping_of


def format_label_selector(selector: object) -> str:
    """Return the text form of a label selector of an object: `{"matchLabels": {"app": "web"}}` becomes `app=web`.

    Lists and watches take this text as `label_selector`. A selector without requirements becomes an empty text, which
    selects all objects.

    Args:
        selector: A `V1LabelSelector`, a dict, or a struct with `matchLabels` and `matchExpressions`.

    Raises:
        TypeError: `selector` is None: an absent selector selects nothing, which no text can express.
        ValueError: An expression has an operator other than `In`, `NotIn`, `Exists` and `DoesNotExist`.
    """
    if selector is None:
        raise TypeError("an absent label selector selects nothing, and an empty text would select everything")
    return str(LabelSelector.from_object(mapping_of(cast("Body", selector))))

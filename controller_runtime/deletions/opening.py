# SPDX-License-Identifier: Apache-2.0
"""Openings of a budget by hand: `pods=25`, `deployments.apps=any`, several with commas between them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from apimachinery.objects import ObjectKey

OPEN = "controller-runtime/open-deletions"
"""The annotation of the record that opens budgets; it is removed once a program has read it."""

ANY = "any"
"""Stands for any number of deletions, even if the number cannot be known before."""

_PAIR = re.compile(r"\s*(?P<kind>[a-z0-9.-]+)\s*=\s*(?P<count>[0-9]{1,6}|any)\s*")


def openings(text: str) -> Iterator[tuple[str, int | None]]:
    """Yield the kinds that a text opens, each with a number, or None for any number. Malformed parts are skipped.

    Args:
        text: The text, such as `pods=25,deployments.apps=any`.
    """
    for part in text.split(","):
        if (found := _PAIR.fullmatch(part)) is not None:
            yield found["kind"], None if found["count"] == ANY else int(found["count"])


def malformed(text: str) -> str:
    """Return the first malformed part of a text for `openings`; empty if there is none."""
    return next((part.strip() for part in text.split(",") if text and _PAIR.fullmatch(part) is None), "")


def command(record: ObjectKey, kind: str, count: int | None) -> str:
    """Return the `kubectl` command that opens a budget once.

    Args:
        record: The ConfigMap of the program.
        kind: The name of the kind.
        count: The number of deletions; None for any number.
    """
    value = f"{OPEN}={kind}={ANY if count is None else count}"
    return shlex.join(["kubectl", "annotate", "configmap", "-n", record.namespace, record.name, "--overwrite", value])

# SPDX-License-Identifier: Apache-2.0
"""Decides whether an object on the server is a ring's own, by its label or by what is in it. Pure functions."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any

from apimachinery.errors import ControllerRuntimeError
from controller_runtime.ring.records import CLAIM, MAP_KEYS, RING_LABEL, Assignment, Claim, annotations_of


class ForeignObject(ControllerRuntimeError):
    """Raised if an object with a name of the ring does not belong to the ring; it is neither used nor overwritten."""


def check_map(found: Mapping[str, Any], ring: str) -> None:
    """Check that a ConfigMap is that of a ring: it has the ring's label, or no such label but only an assignment.

    Raises:
        ForeignObject: It does not belong to the ring.
    """
    if not _is_of_ring(found, ring, _is_assignment):
        cure = "give the ring another name, or delete the ConfigMap"
        raise ForeignObject(f"{_place('ConfigMap', found)} is not the ring's, so it is not overwritten: {cure}")


def check_lease(found: Mapping[str, Any], ring: str) -> None:
    """Check that a Lease belongs to a ring's member: it has the ring's label, or no such label but a claim.

    Raises:
        ForeignObject: It does not belong to the ring.
    """
    if not _is_of_ring(found, ring, _has_claim):
        cure = "give the member another identity, or delete the Lease"
        raise ForeignObject(f"{_place('Lease', found)} is not the ring's, so it is not overwritten: {cure}")


def _is_of_ring(found: Mapping[str, Any], ring: str, by_content: Callable[[Mapping[str, Any]], bool]) -> bool:
    label = (found["metadata"].get("labels") or {}).get(RING_LABEL)
    return by_content(found) if label is None else bool(label == ring)


def _is_assignment(found: Mapping[str, Any]) -> bool:
    data = found.get("data") or {}
    with contextlib.suppress(ValueError):
        Assignment.of(data)
        return not found.get("binaryData") and data.keys() <= MAP_KEYS
    return False


def _has_claim(found: Mapping[str, Any]) -> bool:
    with contextlib.suppress(ValueError):
        Claim.from_text(annotations_of(found).get(CLAIM, ""))
        return True
    return False


def _place(kind: str, found: Mapping[str, Any]) -> str:
    return f"the {kind} {found['metadata'].get('namespace')}/{found['metadata'].get('name')}"

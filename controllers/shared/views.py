# SPDX-License-Identifier: Apache-2.0
"""Parts of objects that several controllers read; each view of a controller has only the fields that it reads."""

from __future__ import annotations

import msgspec

from apimachinery.errors import UNREADABLE
from apimachinery.objects import Cached


class ConditionView(msgspec.Struct, gc=False, frozen=True):
    """The type and the status of a condition."""

    type: str
    status: str = ""


class ConditionsView(msgspec.Struct, gc=False, frozen=True):
    """A status, of which only the conditions are read."""

    conditions: list[ConditionView] | None = None


class PlaceView(msgspec.Struct, gc=False, frozen=True, rename="camel"):
    """A pod's spec, of which only the node is read."""

    node_name: str | None = None


class PhaseView(msgspec.Struct, gc=False, frozen=True):
    """A pod's status, of which only the phase is read."""

    phase: str | None = None


class _Pod(msgspec.Struct, gc=False, frozen=True):
    spec: PlaceView | None = None


class _PodWithPhase(msgspec.Struct, gc=False, frozen=True):
    status: PhaseView | None = None


_pod = msgspec.json.Decoder(_Pod)
_pod_with_phase = msgspec.json.Decoder(_PodWithPhase)


def node_of(pod: Cached | None) -> str:
    """Return the node to which a pod is bound; empty if there is none, or the pod cannot be decoded."""
    try:
        spec = _pod.decode(pod.raw).spec if pod is not None else None
    except UNREADABLE:
        return ""
    return (spec.node_name if spec else None) or ""


def phase_of(pod: Cached) -> str:
    """Return the phase of a pod; empty if there is none, or the pod cannot be decoded."""
    try:
        status = _pod_with_phase.decode(pod.raw).status
    except UNREADABLE:
        return ""
    return (status.phase if status else None) or ""

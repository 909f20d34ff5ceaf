# SPDX-License-Identifier: Apache-2.0
"""Conditions of objects: those that a status shows, and those that a program waits for."""

from __future__ import annotations

from controller_runtime.api.conditions import ObjectCondition, condition, condition_of, conditions_of, with_condition
from controller_runtime.api.readiness import Readiness, ready
from controller_runtime.client.waiting import gone

__all__ = [
    "ObjectCondition",
    "Readiness",
    "condition",
    "condition_of",
    "conditions_of",
    "gone",
    "ready",
    "with_condition",
]

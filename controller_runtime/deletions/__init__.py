# SPDX-License-Identifier: Apache-2.0
"""Budgets of deletions: a program that would delete too much deletes nothing more.

The names in `__all__` are public; see `docs/operations.md`.
"""

from controller_runtime.deletions.budget import DeletionBudget, DeletionBudgetExceeded
from controller_runtime.deletions.limits import DeletionLimits

__all__ = ["DeletionBudget", "DeletionBudgetExceeded", "DeletionLimits"]

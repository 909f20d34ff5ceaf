# SPDX-License-Identifier: Apache-2.0
"""`--deletion-budget` and `--open-deletions`: budgets of deletions by the command line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any

from apimachinery.errors import UsageError
from controller_runtime.api.builtin_resources import built_in
from controller_runtime.api.resources import Resource
from controller_runtime.deletions import DeletionBudget
from controller_runtime.manager.manager import Manager

_BUDGET = re.compile(r"(?P<kind>[a-z0-9.-]+)=(?P<bounds>[^/]+)(?:/(?P<seconds>[0-9]{1,6}))?")
_MOST = re.compile(r"[0-9]{1,7}")
_SHARE = re.compile(r"(?P<percent>[0-9]{1,3}(?:[.][0-9]{1,6})?)%")


def limit_deletions(manager: Manager, budgets: Sequence[str], opened: str) -> None:
    """Add the deletion budgets of the command line to a manager; they replace its own budgets for the same kinds.

    Args:
        manager: The manager, after `setup` and before it runs.
        budgets: The values of `--deletion-budget`.
        opened: The value of `--open-deletions`.

    Raises:
        UsageError: A value is malformed, or its kind is unknown.
    """
    if budgets:
        caches = (collection.resource for collection in manager.informers.collections)
        known = [*caches, *built_in()]
        manager.deletions.limit(*(budget_of(text, known) for text in budgets), replace=True)
    if opened:
        try:
            manager.deletions.open(opened)
        except UsageError as error:
            raise UsageError(f"--open-deletions: {error}") from None


def budget_of(text: str, known: Iterable[Resource[Any]]) -> DeletionBudget:
    """Return the budget for a value of `--deletion-budget`, such as `pods=10`, `pods=20%` or `pods=10,20%/3600`.

    Args:
        text: The value.
        known: The kinds that it may name; of several with the same name the first one is used.

    Raises:
        UsageError: The value is malformed, or its kind is unknown.
    """
    found = _BUDGET.fullmatch(text)
    bounds = found["bounds"].split(",") if found is not None else []
    most = [int(each) for each in bounds if _MOST.fullmatch(each)]
    shares = [float(one["percent"]) / 100 for each in bounds if (one := _SHARE.fullmatch(each))]
    if found is None or len(most) > 1 or len(shares) > 1 or len(most) + len(shares) < len(bounds):
        raise UsageError(f"--deletion-budget {text}: write the kind and a bound: pods=10, pods=20%, pods=10,20%/3600")
    kind = next((each for each in known if f"{each.plural}.{each.group}".rstrip(".") == found["kind"]), None)
    if kind is None:
        raise UsageError(
            f"--deletion-budget {text}: the program has no cache of {found['kind']}, and it is not a built-in kind; "
            "write the plural with its group, such as deployments.apps"
        )
    per = timedelta(seconds=int(found["seconds"] or 600))
    try:
        return DeletionBudget(kind, most=next(iter(most), None), share=next(iter(shares), None), per=per)
    except UsageError as error:
        raise UsageError(f"--deletion-budget {text}: {error}") from None

# SPDX-License-Identifier: Apache-2.0
"""The budgets of a manager: which there are, what was allowed and refused, and the record that they share."""

from __future__ import annotations

import math
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import attrs

from apimachinery.errors import UsageError
from apimachinery.host import Host
from apimachinery.log import get_logger
from apimachinery.objects import ObjectKey
from controller_runtime.client.client import Client
from controller_runtime.core.planning import is_planning
from controller_runtime.deletions.budget import DeletionBudget, DeletionBudgetExceeded
from controller_runtime.deletions.opening import command, malformed, openings
from controller_runtime.deletions.record import Record, Refusal
from controller_runtime.deletions.window import Window, limit_of

log = get_logger(__name__)

_KEPT = 10_000
"""How many refused objects of a budget are remembered, so that the command opens it for all of them."""


@attrs.frozen
class BudgetState:
    """One budget as this process knows it.

    Attributes:
        budget: The budget.
        used: Deletions of its last time, of all replicas.
        limit: How many it allows with those that were opened; None if all objects would have to be counted first, or
            if any number was opened.
        allowed: Deletions that this process was allowed.
        refused: Requests of this process that were refused.
        waiting: Objects and collections whose deletion was refused last.
        command: The command that opens it for those.
    """

    budget: DeletionBudget
    used: int
    limit: int | None
    allowed: int
    refused: int
    waiting: int
    command: str


class DeletionLimits:
    """The budgets of a manager, as `Manager.deletions`; without a budget nothing is looked at.

    Args:
        host: Its clocks and locks.
        place: Returns the ConfigMap in which the budgets are kept, unless one is named; None if there is none.
        on_refused: Called with the record and the message, once for each budget and time, when a request is refused.

    Attributes:
        given: The record that was named by `limit`; None if none was.
        default: The record if none is named and `place` has none; set by a program that knows its own name.

    Threads: any; budgets are added by one, before the manager runs.
    """

    def __init__(
        self,
        host: Host,
        place: Callable[[], ObjectKey | None],
        on_refused: Callable[[ObjectKey, str], None],
    ) -> None:
        self._host, self._place, self._on_refused = host, place, on_refused
        self._budgets: Mapping[str, DeletionBudget] = MappingProxyType({})  # replaced as a whole
        self.given: ObjectKey | None = None
        self.default: ObjectKey | None = None
        self._record: Record | None = None
        self._flag = ""
        # Guards everything below.
        self._lock = host.lock("deletion limits")
        self._allowed: Counter[str] = Counter()
        self._refused: Counter[str] = Counter()
        self._waiting: dict[str, OrderedDict[str, None]] = {}
        self._told_until: dict[str, float] = {}

    @property
    def budgets(self) -> Mapping[str, DeletionBudget]:
        """The budgets by the names of their kinds."""
        return self._budgets

    def limit(self, *budgets: DeletionBudget, record: ObjectKey | None = None, replace: bool = False) -> None:
        """Refuse the requests of `Manager.client` that would delete more than these budgets allow.

        Args:
            *budgets: The budgets, one for each kind.
            record: The ConfigMap in which all budgets of the program are kept, and which its replicas share. By default
                it is called after the lease of the leader election, the first ring, or the program that was started by
                `run`: its name and `-deletions`, in the same namespace.
            replace: Put them in the place of budgets that the kinds have already.

        Raises:
            UsageError: The kind has a budget already, or another record was named before.
        """
        if record is not None and self.given not in (None, record):
            raise UsageError(f"all deletion budgets of a program have one record: {self.given}, not {record}")
        added = dict(self._budgets)
        for budget in budgets:
            if not isinstance(budget, DeletionBudget):
                raise UsageError(f"give a DeletionBudget, not {budget!r}")
            if budget.name in added and not replace:
                raise UsageError(f"{budget.name} have a deletion budget already: {added[budget.name]}")
            added[budget.name] = budget
        self.given = record or self.given
        self._budgets = MappingProxyType(added)

    def open(self, text: str) -> None:
        """Open budgets once, by a text as in the annotation that opens them: `pods=25`, `pods=any`, several by commas.

        A text opens nothing a second time as long as the record exists, also after a restart.

        Raises:
            UsageError: A part of the text is not a kind with a number, or its kind has no budget.
        """
        if wrong := malformed(text):
            raise UsageError(
                f"{wrong!r} opens no deletion budget: write the kind and a number, such as pods=25, or any"
            )
        if unknown := [name for name, _ in openings(text) if name not in self._budgets]:
            have = ", ".join(self._budgets) or "none"
            raise UsageError(f"{unknown[0]} have no deletion budget to open; there are those of: {have}")
        self._flag = text

    @property
    def named(self) -> ObjectKey | None:
        """The ConfigMap that the program names, or that is called after its lease or ring; None for the default."""
        return self.given or self._place()

    @property
    def key(self) -> ObjectKey:
        """The ConfigMap in which the budgets are kept.

        Raises:
            UsageError: None is named, and there is nothing to call it after.
        """
        found = self.named or self.default
        if found is None:
            raise UsageError(
                "deletion budgets need a ConfigMap: without leader election and ring name one, "
                'manager.deletions.limit(…, record=ObjectKey("NAME-deletions", "NAMESPACE"))'
            )
        return found

    def check(self) -> None:
        """Raise `UsageError` if there are budgets and nothing names their record."""
        if self._budgets and not is_planning():
            _ = self.key

    def record(self, client: Client) -> Record:
        """Return the record, which `client` reads and writes; the first call makes it."""
        found = self._record  # without the lock: it is set once, and made under the lock
        if found is None:
            found = Record(self._host, client, self.key, lambda: self._flag)
            with self._lock:
                self._record = found = self._record or found
        return found

    def allowed(self, numbers: Mapping[str, int], path: str) -> None:
        """Count deletions that were allowed, and forget that those of `path` were refused."""
        with self._lock:
            self._allowed.update(numbers)
            for name in numbers:
                self._waiting.get(name, OrderedDict()).pop(path, None)

    def refused(self, refusal: Refusal, what: str, path: str) -> DeletionBudgetExceeded:
        """Count a request that is refused, report it, and return its error.

        Args:
            refusal: Why.
            what: The request, for people.
            path: The path of what it would delete.
        """
        budget, name = refusal.want.budget, refusal.want.budget.name
        number, now = refusal.want.wanted.number, self._host.monotonic()
        with self._lock:
            self._refused[name] += 1
            waiting = self._waiting.setdefault(name, OrderedDict())
            waiting[path] = None
            if len(waiting) > _KEPT:
                waiting.popitem(last=False)
            is_new = self._told_until.get(name, now) <= now
            if is_new:
                waiting.clear()
                waiting[path] = None
                self._told_until[name] = now + budget.seconds
            count = len(waiting)
        message = message_of(refusal, what, self.key, max(count, number))
        if is_new:
            log.warning(message)
            self._on_refused(self.key, message)
        return DeletionBudgetExceeded(message)

    def states(self) -> Sequence[BudgetState]:
        """Return the budgets as this process knows them."""
        if not self._budgets:
            return []
        record = self._record  # without the lock: it is set once
        windows = {} if record is None else record.windows(self._budgets)
        with self._lock:
            allowed, refused = self._allowed.copy(), self._refused.copy()
            waiting = {name: len(paths) for name, paths in self._waiting.items()}
        states = []
        for name, budget in self._budgets.items():
            window, count = windows.get(name, Window()), waiting.get(name, 0)
            line = command(self.key, name, max(1, count))
            numbers = window.used, whole_limit(window, budget), allowed[name], refused[name], count
            states.append(BudgetState(budget, *numbers, line))
        return states


def whole_limit(window: Window, budget: DeletionBudget) -> int | None:
    """Return how many deletions are allowed with those that were opened; see `BudgetState.limit`."""
    is_known = budget.share is None or bool(window.reserved)
    return None if math.isinf(window.extra) or not is_known else limit_of(window, budget, None) + int(window.extra)


def message_of(refusal: Refusal, what: str, record: ObjectKey, count: float) -> str:
    """Return why a request was refused, and how to open its budget.

    Args:
        refusal: The refusal.
        what: The request, for people.
        record: The ConfigMap of the program.
        count: How many deletions to open it for; infinite for any number.
    """
    want, window = refusal.want, refusal.window
    budget, number = want.budget, want.wanted.number
    would = f"it would delete {'one' if number == 1 else number} of the {budget.name}"
    if math.isinf(number):
        would = f"it would delete {budget.name}, and it cannot be known how many"
    bound = ""
    if budget.share is not None:
        of = next((each.of for each in window.reserved), refusal.total)
        bound = (
            ", and they could not be counted" if of is None else f", which is {limit_of(window, budget, of)} of {of}"
        )
    line = command(record, budget.name, None if math.isinf(count) else int(count))
    return (
        f"{what} was not sent: {would}, {window.used} were deleted before, and the budget is "
        f"{budget}{bound}. If it is meant, open the budget once: {line}"
    )

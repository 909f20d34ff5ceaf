# SPDX-License-Identifier: Apache-2.0
"""The budgets of a manager, the deletions that were allowed and refused, and the record that replicas share."""

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
from controller_runtime.deletions.record import BudgetRecord, Refusal
from controller_runtime.deletions.window import Window, limit_of

log = get_logger(__name__)

_KEPT = 10_000
"""How many refused objects of a budget are remembered, so that the command opens it for all of them."""


@attrs.frozen
class BudgetState:
    """The state of one budget, as this process knows it.

    Attributes:
        budget: The budget.
        used: The number of deletions that count now, of all replicas.
        limit: The most deletions, including those opened by hand; None if it is unlimited, or unknown because the
            kind's objects were not counted.
        allowed: The number of deletions that this process was allowed.
        refused: The number of requests of this process that were refused.
        waiting: The number of objects and collections whose last deletion was refused.
        command: The command that opens the budget for those.
    """

    budget: DeletionBudget
    used: int
    limit: int | None
    allowed: int
    refused: int
    waiting: int
    command: str


class DeletionLimits:
    """The deletion budgets of a manager (`Manager.deletions`). Without a budget nothing is checked.

    Args:
        host: The source of time and locks.
        place: Returns the default ConfigMap in which deletions are recorded; None if there is none.
        on_refused: Called with the ConfigMap and the message when a request is refused, at most once per budget and its
            time.

    Attributes:
        given: The ConfigMap that was passed to `limit`; None if none was.
        default: The ConfigMap to use if none was passed and `place` returns None; set by a program that knows its own
            name.

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
        self._record: BudgetRecord | None = None
        self._flag = ""
        # Guards everything below.
        self._lock = host.lock("deletion limits")
        self._allowed: Counter[str] = Counter()
        self._refused: Counter[str] = Counter()
        self._waiting: dict[str, OrderedDict[str, None]] = {}
        self._told_until: dict[str, float] = {}

    @property
    def budgets(self) -> Mapping[str, DeletionBudget]:
        """The budgets by the names of their kinds, such as `deployments.apps`."""
        return self._budgets

    def limit(self, *budgets: DeletionBudget, record: ObjectKey | None = None, replace: bool = False) -> None:
        """Refuse the requests of `Manager.client` that would delete more than these budgets allow.

        Args:
            *budgets: The budgets, one for each kind.
            record: The ConfigMap in which the deletions of all replicas are recorded. By default its name is that of
                the leader election's lease, of the first ring, or of the program that was started by `run`, with
                `-deletions`, in the same namespace.
            replace: Replace budgets that the kinds have already.

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
        """Allow further deletions once, by a text as in the annotation: `pods=25`, `pods=any`, several separated by
        commas.

        The same text has no effect a second time as long as the record exists, also after a restart.

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
        """The ConfigMap that the program names, or the one named after its lease or ring; None if there is neither."""
        return self.given or self._place()

    @property
    def key(self) -> ObjectKey:
        """The ConfigMap in which deletions are recorded.

        Raises:
            UsageError: None was passed to `limit`, and there is no default.
        """
        found = self.named or self.default
        if found is None:
            raise UsageError(
                "deletion budgets need a ConfigMap: without leader election and ring name one, "
                'manager.deletions.limit(…, record=ObjectKey("NAME-deletions", "NAMESPACE"))'
            )
        return found

    def check(self) -> None:
        """Check that the budgets, if there are any, have a record.

        Raises:
            UsageError: There is no ConfigMap to record deletions in.
        """
        if self._budgets and not is_planning():
            _ = self.key

    def record(self, client: Client) -> BudgetRecord:
        """Return the `BudgetRecord`, which the first call makes; it reads and writes its ConfigMap by that `client`."""
        found = self._record  # without the lock: it is set once, and made under the lock
        if found is None:
            found = BudgetRecord(self._host, client, self.key, lambda: self._flag)
            with self._lock:
                self._record = found = self._record or found
        return found

    def allowed(self, numbers: Mapping[str, int], path: str) -> None:
        """Count deletions that were allowed, by kind, and forget that deletions of `path` were refused."""
        with self._lock:
            self._allowed.update(numbers)
            for name in numbers:
                self._waiting.get(name, OrderedDict()).pop(path, None)

    def refused(self, refusal: Refusal, what: str, path: str) -> DeletionBudgetExceeded:
        """Count a request that is refused, report it, and return its error.

        Args:
            refusal: The budget that does not allow it.
            what: A description of the request, for the message.
            path: The path of the object or collection that it would delete.
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
        """Return the states of the budgets, as this process knows them."""
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
    """Return the most deletions, including those opened by hand; see `BudgetState.limit`."""
    is_known = budget.share is None or bool(window.reserved)
    return None if math.isinf(window.extra) or not is_known else limit_of(window, budget, None) + int(window.extra)


def message_of(refusal: Refusal, what: str, record: ObjectKey, count: float) -> str:
    """Return why a request was refused, and how to open its budget.

    Args:
        refusal: The refusal.
        what: A description of the request.
        record: The ConfigMap of the program.
        count: The number of deletions for which to open the budget; infinite for any number.
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

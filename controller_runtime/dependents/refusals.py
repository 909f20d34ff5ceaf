# SPDX-License-Identifier: Apache-2.0
"""Objects that the server refuses: which errors are refusals, when to try again, and the events that report them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from apimachinery.errors import APIError, Conflict, Invalid, TooManyRequests, Unauthorized, UsageError
from apimachinery.log import get_logger
from apimachinery.objects import AnyObject
from apimachinery.texts import kept_text
from controller_runtime.api.resources import Resource
from controller_runtime.dependents.memory import PrimaryMemory, RefusedApply, identity_of
from controller_runtime.dependents.plan import Apply, DependentState, Progress, Seen
from controller_runtime.events.recorder import EventRecorder
from controller_runtime.manager.manager import Manager

log = get_logger(__name__)

FIRST_DELAY = 5.0
"""Seconds after which a refused object is tried again. Each further refusal of the same fields doubles the delay."""

LONGEST_DELAY = 300.0
"""Longest delay in seconds: the refusal may end without a change of the object, for example when a quota is raised."""


def is_refusal(error: APIError) -> bool:
    """Return whether the server refused an object because of its content, so that an immediate retry is useless.

    Transient failures do not count: of the server, of the credentials, or because of an out-of-date state. A conflict
    counts only if it names fields of other field managers. A 422 does not count if only the uid differs, since a real
    API server answers so.
    """
    causes = error.details.get("causes") or ()
    if isinstance(error, Conflict):
        return any(cause.get("reason") == "FieldManagerConflict" for cause in causes)
    if isinstance(error, Invalid):
        return not causes or any(cause.get("field") != "metadata.uid" for cause in causes)
    return 400 <= error.code < 500 and not isinstance(error, TooManyRequests | Unauthorized)


def refused(write: Apply, seen: Seen, error: APIError, now: float) -> RefusedApply:
    """Return the record of a refusal, with the time of the next try.

    Args:
        write: The apply that was refused.
        seen: The state of the object as it was known.
        error: The server's answer.
        now: The time in monotonic seconds.
    """
    digest, before = write.wanted.digest, seen.refusal
    present = identity_of(write.wanted.body, seen.current)
    is_same = before is not None and before.digest == digest
    tries = before.tries + 1 if before is not None and is_same else 1
    delay = min(FIRST_DELAY * 2.0 ** min(tries - 1, 10), LONGEST_DELAY)
    return RefusedApply(digest, present, kept_text(error), tries, now + delay)


class RefusalWarnings:
    """Reports refused and foreign objects by Warning events about the primary, each change once.

    The event recorder is made for the first such event, unless the manager has one of that name. So a program without
    such objects needs no rights for events.

    Args:
        manager: The manager, whose recorders are used.
        name: The reporting component.
        primary: The resource of the primaries.

    Threads: any.
    """

    def __init__(self, manager: Manager, name: str, primary: Resource[Any]) -> None:
        self._manager = manager
        self._name = name
        self._primary = primary

    def tell(self, primary: AnyObject, states: Sequence[DependentState], memory: PrimaryMemory) -> None:
        """Queue a warning event for each refused or foreign object, unless the same was reported before."""
        for state in states:
            each, reason = (state.owned.resource, state.key), state.progress.value
            if state.progress not in (Progress.REFUSED, Progress.NOT_OWNED):
                memory.told.pop(each, None)
                continue
            if memory.told.get(each) == state.message:
                continue
            memory.told[each] = state.message
            try:
                self._recorder().event(primary, "Warning", reason, str(state), resource=self._primary, action="Apply")
            except (UsageError, ValueError) as why:  # the manager stops, or the name is no name of a component
                log.debug("no event about an object", object=str(state), error=why)

    def _recorder(self) -> EventRecorder:
        found = self._find()
        if found is not None:
            return found
        try:
            return self._manager.recorder(self._name)
        except UsageError:
            found = self._find()  # another worker has just made it
            if found is None:
                raise
            return found

    def _find(self) -> EventRecorder | None:
        return next((each for each in self._manager.recorders if each.component == self._name), None)

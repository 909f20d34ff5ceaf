# SPDX-License-Identifier: Apache-2.0
"""Decides what to do for one primary: which objects to apply, which to delete, and how each of them is.

All functions are pure.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs
import msgspec

from apimachinery.errors import UNREADABLE, DecodeError, UsageError
from apimachinery.objects import Cached, ObjectKey, OwnerReference
from controller_runtime.api.resources import Resource
from controller_runtime.dependents.memory import PrimaryMemory, Record, RefusedApply, holds, identity_of, values_of
from controller_runtime.dependents.owned import Id, Owned, Wanted

LOOK_AGAIN = 30.0
"""Seconds until an object that is not owned is checked again in the cache: its end causes no reconcile."""

ABSENT = {"resourceVersion": "1"}
"""The precondition of an apply that must create the object.

An apply that names a resourceVersion is refused if the object has another one, and creates the object if there is
none. No object has version 1, because the first write to etcd has version 2.
"""


class Progress(enum.Enum):
    """The progress of one desired object."""

    READY = "Ready"
    """The object is as desired, and ready."""
    NOT_READY = "NotReady"
    """The object is as desired, as far as the cache shows it, and not ready."""
    WAITING = "Waiting"
    """The object is not applied yet, because another object that comes first is not ready."""
    REFUSED = "Refused"
    """The server refuses the object."""
    NOT_OWNED = "NotOwned"
    """An object of this name exists that the primary does not own."""


@attrs.frozen
class DependentState:
    """The state of one object that a primary should have.

    Attributes:
        owned: Its declaration.
        key: Its name and namespace.
        progress: The progress of the object.
        message: Why it is not ready, as a sentence without its subject; empty if it is ready.
        object: The object as last seen, or None.
        retry_at: When to check the object again even if nothing has changed, in monotonic seconds; None for never.
    """

    owned: Owned[Any, Any]
    key: ObjectKey
    progress: Progress
    message: str = ""
    object: Cached | None = attrs.field(default=None, repr=False)
    retry_at: float | None = None

    def __str__(self) -> str:
        return f"{self.owned.resource.kind} {self.key}" + (f": {self.message}" if self.message else "")


@attrs.frozen
class Seen:
    """The known state of one object.

    Attributes:
        current: The newest known state: from the cache, or from our last write if the cache does not show it yet; None
            if absent.
        record: The last apply that was carried out.
        refusal: The last apply, if it was refused.
    """

    current: Cached | None
    record: Record | None = None
    refusal: RefusedApply | None = None


@attrs.frozen
class Apply:
    """A server-side apply that is to be sent.

    Attributes:
        wanted: The fields.
        precondition: Fields of the metadata that require the object on which the decision was based; see `ABSENT`.
    """

    wanted: Wanted
    precondition: Mapping[str, str]


@attrs.frozen
class Plan:
    """The decisions for one primary.

    Attributes:
        applies: The applies to send now, in this order.
        states: The state of each wanted object before the applies are sent.
    """

    applies: Sequence[Apply]
    states: Sequence[DependentState]


def in_order(declared: Sequence[Owned[Any, Any]], primary: Resource[Any]) -> list[Owned[Any, Any]]:
    """Return the declarations sorted so that each comes after those in its `after`, otherwise in the given order.

    Args:
        declared: The declarations.
        primary: The resource of their owner.

    Raises:
        UsageError: There are no declarations, one is given twice, or one depends on another that is not given. Or a
            namespaced owner has a cluster-scoped kind, whose objects the garbage collector would delete.
    """
    if not declared or len({*declared}) < len(declared):
        raise UsageError("give at least one Owned, and each once")
    for owned in declared:
        if primary.namespaced and not owned.resource.namespaced:
            text = f"a {primary.kind} is in a namespace, so it cannot own a {owned.resource.kind}, which is in none"
            raise UsageError(text)
        if missing := [each for each in owned.after if each not in declared]:
            text = f"the Owned of {owned.resource} comes after one of {missing[0].resource} that is not given"
            raise UsageError(f"{text}: give both to the same Dependents")
    ordered: list[Owned[Any, Any]] = []
    while len(ordered) < len(declared):  # `after` cannot be circular: it names what was made before
        ordered.append(next(each for each in declared if each not in ordered and all(e in ordered for e in each.after)))
    return ordered


def decide(wanted: Sequence[Wanted], seen: Mapping[Id, Seen], *, uid: str, field_manager: str, now: float) -> Plan:
    """Decide which objects to apply, and return that with the state of each object.

    Args:
        wanted: The objects that the primary should have, in the order of their declarations.
        seen: The known state of each.
        uid: The primary's uid.
        field_manager: The owner of the applied fields.
        now: The time in monotonic seconds.

    Raises:
        DecodeError: An object cannot be read.
    """
    applies: list[Apply] = []
    states: list[DependentState] = []
    for each in wanted:
        blocker = next((s for s in states if s.progress is not Progress.READY and s.owned in each.owned.after), None)
        verdict = judge(each, seen[each.id], uid=uid, field_manager=field_manager, now=now)
        if isinstance(verdict, DependentState):
            states.append(verdict)
            continue
        current = seen[each.id].current
        if blocker is None:
            applies.append(verdict)
            states.append(DependentState(each.owned, each.key, Progress.NOT_READY, "is being applied", current))
        else:
            states.append(_waiting(each, seen[each.id], blocker))
    return Plan(applies, states)


def _waiting(wanted: Wanted, seen: Seen, blocker: DependentState) -> DependentState:
    """Return the state of an object whose apply has to wait for another object.

    One that has the wanted values is judged by itself: a manager that has just started knows of no apply.
    """
    current = seen.current
    if current is not None and seen.record is None and holds(wanted.body, current):
        problem = wanted.owned.unready(current)
        progress = Progress.NOT_READY if problem else Progress.READY
    else:
        progress, problem = Progress.WAITING, f"waits for {blocker.owned.resource.kind} {blocker.key}"
    return DependentState(wanted.owned, wanted.key, progress, problem, current)


def judge(wanted: Wanted, seen: Seen, *, uid: str, field_manager: str, now: float) -> Apply | DependentState:
    """Return the apply that an object needs; if it needs none, its state. For the arguments see `decide`."""
    current, refusal = seen.current, seen.refusal

    def state(progress: Progress, message: str = "", retry_at: float | None = None) -> DependentState:
        return DependentState(wanted.owned, wanted.key, progress, message, current, retry_at)

    if current is not None:
        held = _held(current)
        if problem := _not_owned(held, wanted, uid, field_manager):
            return state(Progress.NOT_OWNED, problem, now + LOOK_AGAIN)
        if held.deletion_timestamp is not None:
            return state(Progress.NOT_READY, "is being deleted")
    if refusal is not None and now < refusal.retry_at and _is_the_same(refusal, wanted, current):
        return state(Progress.REFUSED, f"is refused: {refusal.message}", refusal.retry_at)
    if current is None:
        return Apply(wanted, ABSENT)
    if has_drifted(wanted, seen.record, current):
        return Apply(wanted, {"uid": current.uid})
    problem = wanted.owned.unready(current)
    return state(Progress.NOT_READY if problem else Progress.READY, problem)


def _is_the_same(refusal: RefusedApply, wanted: Wanted, current: Cached | None) -> bool:
    """Return whether an apply would send what was refused, for an object that is as it was then."""
    return refusal.digest == wanted.digest and refusal.present == identity_of(wanted.body, current)


def has_drifted(wanted: Wanted, record: Record | None, current: Cached) -> bool:
    """Return whether an object may differ from the desired state, so that it must be applied."""
    if record is None or record.digest != wanted.digest or record.uid != current.uid:
        return True
    return record.version != current.resource_version and values_of(wanted.body, current) != record.values


def unwanted(
    owned: Iterable[Cached], resource: Resource[Any], states: Sequence[DependentState], memory: PrimaryMemory
) -> list[Cached]:
    """Return the objects of one kind that could be deleted: the primary owns them, but they are not desired.

    The list is empty until all wanted objects of the kind are applied, so that nothing is deleted before its
    replacement is accepted.

    Args:
        owned: The objects in the cache that the primary owns.
        resource: Their resource.
        states: The states of the wanted objects, of all kinds.
        memory: The memory of the primary, with the objects that were deleted already or belong to other field managers.
    """
    same = [state for state in states if state.owned.resource == resource]
    if any(state.progress not in (Progress.READY, Progress.NOT_READY) for state in same):
        return []
    keys = {state.key for state in same}
    done = memory.deleted | memory.not_ours
    found = [each for each in owned if each.key not in keys and each.uid not in done]
    return [each for each in found if _held(each).deletion_timestamp is None]


def may_delete(cached: Cached, *, uid: str, field_manager: str) -> bool:
    """Return whether this controller may delete an object: the primary controls it, and this controller has applied it.

    The field manager shows that, not a label. Two controllers may own objects of one kind for one primary, and the
    server records which of them applied an object; a label could be copied, removed, or set by others.

    Args:
        cached: The object as the server has it.
        uid: The primary's uid.
        field_manager: The owner of the applied fields.
    """
    held = _held(cached)
    controller = held.controller
    return controller is not None and controller.uid == uid and held.was_applied_by(field_manager)


class _Entry(msgspec.Struct, gc=False):
    manager: str = ""
    operation: str = ""


class _Held(msgspec.Struct, gc=False, rename="camel"):
    """The fields of the metadata that tell whose an object is."""

    deletion_timestamp: str | None = None
    owner_references: list[OwnerReference] | None = None
    managed_fields: list[_Entry] | None = None

    @property
    def controller(self) -> OwnerReference | None:
        return next((owner for owner in self.owner_references or () if owner.controller), None)

    def was_applied_by(self, field_manager: str) -> bool:
        entries = self.managed_fields or ()
        return any(each.manager == field_manager and each.operation == "Apply" for each in entries)


class _WithHeld(msgspec.Struct, gc=False):
    metadata: _Held


_decoder = msgspec.json.Decoder(_WithHeld)


def _held(cached: Cached) -> _Held:
    try:
        return _decoder.decode(cached.raw).metadata
    except UNREADABLE as error:
        raise DecodeError(f"{cached.key}: {error}") from error


def _not_owned(held: _Held, wanted: Wanted, uid: str, field_manager: str) -> str:
    """Return why a present object is not the primary's, in words; empty if it is, or may become so."""
    controller = held.controller
    if controller is not None:
        return "" if controller.uid == uid else f"is controlled by {controller.kind} {controller.name} already"
    if wanted.owned.adopt or held.was_applied_by(field_manager):
        return ""  # only its owner reference was removed: by hand, or by a deletion that orphans
    return "exists already and has no controller: delete it, or let its Owned adopt it"

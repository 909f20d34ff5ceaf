# SPDX-License-Identifier: Apache-2.0
"""Applies and prunes the objects that primaries own, and writes the condition that sums them up."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

import attrs

from apimachinery.errors import APIError, TerminalError, UsageError
from apimachinery.log import get_logger
from apimachinery.objects import AnyObject, ObjectKey, ObjectMeta, meta
from apimachinery.plain_functions import synchronous
from controller_runtime.api.resources import Kind, Resource, resource_of
from controller_runtime.cache.observed import ObservedReads
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.handlers import enqueue_owner
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.core.attempts import current_attempt
from controller_runtime.deletions import DeletionBudget
from controller_runtime.dependents.memory import Memory, PrimaryMemory, is_behind, recorded
from controller_runtime.dependents.owned import Id, Owned, Wanted, wanted_of
from controller_runtime.dependents.plain_memory import plain_memory, restore_memory
from controller_runtime.dependents.plan import Apply, DependentState, Seen, decide, in_order
from controller_runtime.dependents.pruning import Pruner, controller_uid
from controller_runtime.dependents.refusals import RefusalWarnings, is_refusal, refused
from controller_runtime.dependents.status import StatusWriter
from controller_runtime.dependents.summary import Applied, applied, problem_of
from controller_runtime.manager.manager import Manager

log = get_logger(__name__)

P = TypeVar("P", bound=AnyObject)

Status = Callable[[P, Applied], Mapping[str, Any]]
"""Returns fields of the primary's status, by their names on the wire, from the primary and its dependents."""


class Dependents(Generic[P]):
    """Creates, updates and deletes the objects that each primary object owns, as pure functions desire them.

    Each object is applied by server-side apply with an owner reference (`controller` and `blockOwnerDeletion`), and
    deleted when it is no longer desired. When a primary is deleted, the garbage collector deletes its objects. A
    reconcile that finds no change sends no request; only after its start a process applies each object once.

    An object that exists already and does not belong to the primary is neither changed nor deleted. An object that the
    server refuses is tried again after growing delays, from 5 s to 5 min, and at once when the object or its desired
    state changes. Both cases are reported in the condition `Ready`, and in a Warning event.

    The role of the program needs `get`, `list`, `watch`, `create`, `patch` and `delete` of the owned kinds; `get`,
    `list` and `watch` of the primary's kind, `patch` of its `status`, and `update` of its `finalizers`, which
    `blockOwnerDeletion` requires.

    Args:
        manager: The manager, whose caches, client, clock and event recorders are used.
        name: The field manager, and the name of the controller; unique in its manager. Objects that were applied under
            another name are not pruned, so do not change it.
        primary: The resource of the owners, or their declared class.
        *owned: Declarations of the objects that each owner has.
        condition: The type of the condition that summarizes the owned objects.
        budgets: Deletion budgets for the owned kinds, which are added to `Manager.deletions`. A reconcile that would
            exceed one fails, and nothing more is deleted.

    Raises:
        UsageError: The declarations cannot be ordered, the name is taken, or a budget has a kind that is not owned.

    Threads: any; one primary on one thread at a time, as in a controller.
    """

    def __init__(
        self,
        manager: Manager,
        name: str,
        primary: Kind[P],
        *owned: Owned[P, Any],
        condition: str = "Ready",
        budgets: Sequence[DeletionBudget] = (),
    ) -> None:
        self.name = name
        self._host = manager.host
        self._client = manager.client
        self._primary: Resource[P] = resource_of(primary)
        self._owned = in_order(owned, self._primary)
        store = ObservedReads(self._primary, manager.informer(self._primary).reads)
        self._status = StatusWriter(manager.host, manager.client, self._primary, store, condition)
        self._memory = Memory(manager.host)
        self._warnings = RefusalWarnings(manager, name, self._primary)
        self._pruner = Pruner(manager.client, self._primary, name)
        self._primaries = manager.lister(self._primary)
        self._stores: dict[Resource[Any], ObservedReads] = {}
        for resource in dict.fromkeys(each.resource for each in self._owned):
            informer = manager.informer(resource)
            self._stores[resource] = ObservedReads(resource, informer.reads)
            try:
                informer.add_index(self._pruner.index, controller_uid)
            except ValueError as error:
                raise UsageError(f"this manager has Dependents of the name {name} already") from error
        if others := [each.name for each in budgets if each.kind not in self._stores]:
            raise UsageError(f"{name}: a deletion budget of {others[0]}, which it does not own")
        manager.deletions.limit(*budgets)

    def controller(self, *, workers: int = 1, status: Status[P] | None = None) -> Controller:
        """Return a controller that only applies the dependents and reports their state. Add it to the manager.

        Args:
            workers: The most primaries that are reconciled at the same time.
            status: Returns additional fields for the status of a primary; see `report`.
        """
        more = None if status is None else synchronous(f"{self.name}: the status of Dependents", status)
        controller = Controller(self.name, _Owning(self, more), workers=workers)
        return self.watch(controller.watch(self._primary))

    def watch(self, controller: Controller) -> Controller:
        """Let changes of owned objects request their primaries, in a controller with your own reconciler.

        Returns:
            The controller, so that calls can be chained.
        """
        for resource in self._stores:
            controller.watch(resource, map=enqueue_owner(self._primary))
        return controller

    def get(self, request: Request) -> P | None:
        """Return the primary from the cache. If it does not exist, forget its applied objects and return None.

        Raises:
            UnreadableObject: The primary cannot be decoded into its class.
        """
        found = self._primaries.get(request)
        if found is None:
            self._memory.forget(request)
        return found

    def apply(self, primary: P) -> Applied:
        """Apply and delete the objects of one primary as desired, and return their states.

        Call it in each reconcile of the primary. If the primary is being deleted, nothing is done.

        Args:
            primary: The primary as read from the cache.

        Raises:
            TerminalError: The functions desire an object that the primary cannot own.
            Conflict: Another client has changed an object meanwhile; the next reconcile decides again.
            APIError: The server failed for an object; other objects that were to be applied then were still tried.
            ExceptionGroup: It failed for several; each error is an `APIError`, perhaps a `Conflict`.
            ConnectionLost: There was no answer; no other object is tried then.
            Exception: A function of a declaration raised it.
        """
        owner = _meta(primary)
        if owner.deletion_timestamp is not None:
            return Applied(is_deleted=True)
        memory = self._memory_of(owner)
        wanted = wanted_of(self._owned, primary, self._primary)
        memory.keep({each.id for each in wanted})
        states = self._apply_all(primary, owner, wanted, memory)
        self._pruner.prune(owner, self._stores, states, memory)
        return applied(states, self._host.monotonic())

    def report(self, primary: P, applied: Applied, status: Mapping[str, Any] | None = None) -> None:
        """Write the condition, and other fields, into the primary's status, if any of them differs.

        The condition is true if all objects are ready; otherwise its reason and message name those that are not.

        Args:
            primary: The primary that was passed to `apply`.
            applied: The value that `apply` returned.
            status: Additional fields of the status by their JSON names. A list replaces the existing one.

        Raises:
            Conflict: Another client has changed the primary meanwhile; the next reconcile decides again.
            TerminalError: The kind has no `status.conditions`.
        """
        if not applied.is_deleted:
            owner = _meta(primary)
            self._status.write(owner, *problem_of(applied.states), status or {}, self._memory_of(owner))

    def report_problem(self, primary: P, reason: str, message: str) -> None:
        """Write the condition as false for a reason that does not come from owned objects, such as an invalid spec.

        Args:
            primary: The primary.
            reason: The reason of the condition, one CamelCase word.
            message: The message of the condition, for people.

        Raises:
            Conflict: Another client has changed the primary meanwhile; see `report`.
            TerminalError: The kind has no `status.conditions`.
        """
        owner = _meta(primary)
        self._status.write(owner, reason, message, {}, self._memory_of(owner))

    def _apply_all(
        self, primary: P, owner: ObjectMeta, wanted: list[Wanted], memory: PrimaryMemory
    ) -> list[DependentState]:
        """Apply what can be applied now, in as many rounds as that makes objects ready that others wait for."""
        failures: list[APIError] = []
        sent: set[Id] = set()
        while True:
            seen = {each.id: self._seen(each.id, memory) for each in wanted}
            now = self._host.monotonic()
            plan = decide(wanted, seen, uid=owner.uid, field_manager=self.name, now=now)
            # Once each: what another client changes meanwhile causes the next reconcile.
            writes = [write for write in plan.applies if write.wanted.id not in sent]
            if not writes:
                break
            for write in writes:
                sent.add(write.wanted.id)
                try:
                    self._apply_one(write, seen[write.wanted.id], memory)
                except APIError as error:
                    failures.append(error)
            if failures:
                raise failures[0] if len(failures) == 1 else ExceptionGroup(f"{self._primary} {owner.name}", failures)
        self._warnings.tell(primary, plan.states, memory)
        return [*plan.states]

    def _memory_of(self, owner: ObjectMeta) -> PrimaryMemory:
        memory = self._memory.of(ObjectKey(owner.name, owner.namespace), owner.uid)
        if (attempt := current_attempt()) is not None:  # a reconcile that is recorded, or replayed
            resources = {str(resource): resource for resource in self._stores}
            name = f"Dependents {self.name} of {owner.namespace}/{owner.name}"
            attempt.state(
                name,
                lambda: plain_memory(memory, self._host.monotonic()),
                lambda plain: restore_memory(memory, plain, resources, self._host.monotonic()),
            )
        return memory

    def _seen(self, each: Id, memory: PrimaryMemory) -> Seen:
        store = self._stores[each[0]]
        record, refusal = memory.applied.get(each), memory.refused.get(each)
        if record is not None and record.resets != store.resets:
            record = None
        if record is not None and record.answer is not None:
            if is_behind(record, store):
                return Seen(record.answer, record, refusal)
            memory.applied[each] = attrs.evolve(record, answer=None)  # the cache shows it, so it need not be kept
        # The cache is read after that look at its version, so that it is not older than the answer.
        return Seen(store.get(each[1]), record, refusal)

    def _apply_one(self, write: Apply, seen: Seen, memory: PrimaryMemory) -> None:
        wanted = write.wanted
        body = {**wanted.body, "metadata": {**wanted.body["metadata"], **write.precondition}}
        resource, force = wanted.owned.resource, wanted.owned.force
        try:
            answer = self._client.apply(resource, body, field_manager=self.name, force=force)
        except APIError as error:
            if not is_refusal(error):
                raise
            memory.refused[wanted.id] = refused(write, seen, error, self._host.monotonic())
            log.warning("object refused", object=str(wanted), error=error)
        else:
            memory.refused.pop(wanted.id, None)
            memory.applied[wanted.id] = recorded(wanted, answer, self._stores[resource])
            log.debug("object applied", object=str(wanted))


class _Owning(Reconciler, Generic[P]):
    """The reconciler of a controller that owns objects and does nothing else."""

    def __init__(self, dependents: Dependents[P], status: Status[P] | None) -> None:
        self._dependents = dependents
        self._status = status

    def reconcile(self, request: Request) -> Result:
        primary = self._dependents.get(request)
        if primary is None:
            return Result()
        try:
            applied = self._dependents.apply(primary)
        except TerminalError as error:
            self._dependents.report_problem(primary, "Invalid", str(error))
            raise
        more = self._status(primary, applied) if self._status is not None and not applied.is_deleted else {}
        self._dependents.report(primary, applied, more)
        return applied.result


def _meta(primary: Any) -> ObjectMeta:
    return meta(primary)

# SPDX-License-Identifier: Apache-2.0
"""One step of admission, and the attributes of a write that it gets."""

from __future__ import annotations

import enum
from collections.abc import Callable, Collection
from typing import Any, NamedTuple

import attrs
import msgspec

from apimachinery.host import Host
from embedded_apiserver.groups.all import KINDS
from embedded_apiserver.kinds.kind import Kind, Kinds
from embedded_apiserver.kinds.release import NEWEST, Release
from embedded_apiserver.objects import Object
from embedded_apiserver.options import DeleteOptions, WriteOptions
from embedded_apiserver.status import StatusError, forbidden
from embedded_apiserver.storage.storage import Storage
from embedded_apiserver.users import ADMIN, User
from embedded_apiserver.webhooks.caller import Caller, Hand, Nowhere, hand_of


class Operation(enum.StrEnum):
    """The operation of a write. It is a text, so that it has a fast hash: each write is looked up by it."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"


EVERY_OPERATION = tuple(Operation)
"""All operations, for a step that also applies to deletions."""

_OPTIONS_OF = {Operation.CREATE: "CreateOptions", Operation.UPDATE: "UpdateOptions", Operation.DELETE: "DeleteOptions"}


def options_shown(operation: Operation, options: WriteOptions | DeleteOptions) -> dict[str, Any]:
    """Return the options of a request as JSON for policies and webhooks, with kind and apiVersion."""
    return {"kind": _OPTIONS_OF[operation], "apiVersion": "meta.k8s.io/v1", **options.shown()}


class Asked(msgspec.Struct, frozen=True):
    """The user and the options of a write request.

    Attributes:
        user: The user of the request.
        options: The options of the request.
        warnings: The warnings for the response so far; admission steps add more by `Attributes.warn`.
        dry_run: True if the options request a dry run.
    """

    user: User
    options: WriteOptions | DeleteOptions
    warnings: list[str]
    dry_run: bool


def by_the_server() -> Asked:
    """Return the user and options for a write by the server itself."""
    return Asked(ADMIN, WriteOptions(dry_run=False, field_validation="", field_manager="", force=False), [], False)


@attrs.define
class Rounds:
    """The rounds of `Step.admit` for one write. If a step requests it, all steps are called a second time after a
    change.

    Attributes:
        is_second: True in the second round.
        is_second_wanted: True to have a second round; set by a step in the first one.
        notes: A value for each step by its name, which the step keeps from the first round for the second.

    Threads: one.
    """

    is_second: bool = False
    is_second_wanted: bool = False
    notes: dict[str, Any] = attrs.Factory(dict)


class Attributes(NamedTuple):
    """A write, as passed to admission steps.

    Attributes:
        operation: The operation on the object.
        kind: The kind in the request's path.
        namespace: The namespace in the request's path; empty for a cluster-scoped kind.
        asked: The user and the options of the request.
        obj: The object: before its validation in `Step.admit`, in the form to be stored in `Step.validate`; empty for a
            deletion.
        old: The stored object, in the form of `kind`; None if the object is new.
        subresource: The written subresource; empty for the object itself.
        sent: The kind of the request's body, such as `Scale`, if it differs from `kind`; policies and webhooks get
            `obj` and `old` as this kind. None otherwise.
        rounds: The rounds of `Step.admit` for this write.
    """

    operation: Operation
    kind: Kind
    namespace: str
    asked: Asked
    obj: Object
    old: Object | None = None
    subresource: str = ""
    sent: Kind | None = None
    rounds: Rounds | None = None

    @property
    def name(self) -> str:
        """The name of the object; empty if the server has to generate it."""
        found: str = self.obj.get("metadata", {}).get("name", "")
        return found or ("" if self.old is None else self.old["metadata"]["name"])

    @property
    def user(self) -> User:
        """The user of the request."""
        return self.asked.user

    @property
    def dry_run(self) -> bool:
        """True if the request is a dry run."""
        return self.asked.dry_run

    def options(self) -> dict[str, Any]:
        """Return the options of the request as JSON for policies and webhooks."""
        return options_shown(self.operation, self.asked.options)

    def warn(self, text: str) -> None:
        """Add a warning to the response, whether the write succeeds or is refused."""
        self.asked.warnings.append(text)

    def refused(self, text: str) -> StatusError:
        """Return the error (403) with which an admission step rejects the write; `text` is the reason."""
        return forbidden(self.kind, self.name, text)


@attrs.frozen
class Surroundings:
    """The parts of the server that admission steps use, in addition to the objects.

    Attributes:
        host: The source of time and random identifiers.
        kinds: A function that returns the currently served kinds.
        release: The Kubernetes release that the server serves.
        caller: Sends requests to webhooks.
        hand: Passes reviews to webhooks in this process.
    """

    host: Host
    kinds: Callable[[], Kinds] = lambda: KINDS
    release: Release = NEWEST
    caller: Caller = attrs.field(factory=Nowhere)
    hand: Hand = attrs.field(init=False)

    @hand.default
    def _hand(self) -> Hand:
        return hand_of(self.caller)


class Step:
    """One admission step; a subclass overrides `admit`, `validate` or both.

    A step never modifies the object that it gets: `admit` returns a changed copy, or the object itself.

    Args:
        storage: The objects; a step only reads them.
        around: The other parts of the server that the step may use.

    Attributes:
        name: The name by which a real API server switches the step on and off.
        kinds: The kinds to whose writes the step applies; None for all kinds.
        operations: The operations to which the step applies.
        subresources: The subresources to whose writes the step applies as well; None for all.
        counts: True if the result of its check is valid only until the next write. Such a check runs last, while no
            other such write is stored.

    Threads: any.
    """

    name = ""
    kinds: tuple[Kind, ...] | None = None
    operations: tuple[Operation, ...] = (Operation.CREATE, Operation.UPDATE)
    subresources: Collection[str] | None = ()
    counts = False

    def __init__(self, storage: Storage, around: Surroundings) -> None:
        self._storage = storage
        self._around = around

    def is_idle(self) -> bool:
        """Return True if the step does nothing for any write, because a certain collection is empty.

        The result may depend only on which collections are empty, because it is cached until that changes.
        """
        return False

    def admit(self, attributes: Attributes) -> Object:
        """Return the object with the step's changes.

        Raises:
            StatusError: The step refuses the write.
        """
        return attributes.obj

    def validate(self, attributes: Attributes) -> None:
        """Check an object that has passed the validation of its kind; for a deletion, the object to delete.

        Raises:
            StatusError: The step refuses the write.
        """

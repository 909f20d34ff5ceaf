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
    """The operation of a write; a text, which is hashed at once, because each write is looked up by it."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"


EVERY_OPERATION = tuple(Operation)
"""The operations of a step that sees deletions, too."""

_OPTIONS_OF = {Operation.CREATE: "CreateOptions", Operation.UPDATE: "UpdateOptions", Operation.DELETE: "DeleteOptions"}


def options_shown(operation: Operation, options: WriteOptions | DeleteOptions) -> dict[str, Any]:
    """Return the options of a request as policies and webhooks see them."""
    return {"kind": _OPTIONS_OF[operation], "apiVersion": "meta.k8s.io/v1", **options.shown()}


class Asked(msgspec.Struct, frozen=True):
    """The user who asks for a write, and the options of the request.

    Attributes:
        user: The user of the request.
        options: Its options.
        warnings: The warnings of the answer so far. Steps add to them, with `Attributes.warn`.
        dry_run: Whether nothing is stored, as the options say.
    """

    user: User
    options: WriteOptions | DeleteOptions
    warnings: list[str]
    dry_run: bool


def by_the_server() -> Asked:
    """Return how the server's own writes are asked for."""
    return Asked(ADMIN, WriteOptions(dry_run=False, field_validation="", field_manager="", force=False), [], False)


@attrs.define
class Rounds:
    """The rounds of `Step.admit` for one write: after a change, steps are called a second time if one asks for it.

    Attributes:
        is_second: Whether this is the second round.
        is_second_wanted: Whether there is to be a second one; set by a step in the first.
        notes: By the name of a step, the value that it keeps from the first round for the second.

    Threads: one.
    """

    is_second: bool = False
    is_second_wanted: bool = False
    notes: dict[str, Any] = attrs.Factory(dict)


class Attributes(NamedTuple):
    """A write, as the steps of admission see it.

    Attributes:
        operation: The operation on the object.
        kind: The kind of the object in the path.
        namespace: The namespace in the path; empty for a cluster-scoped kind.
        asked: The user who asks for the write, and the options.
        obj: The object: before its rules in `Step.admit`, as it is to be stored in `Step.validate`; empty in a
            deletion, which sends none.
        old: The stored object, in the form of `kind`; None if the object is new.
        subresource: The subresource that is written; empty for the object itself.
        sent: The kind that is sent to the subresource, such as `Scale`, in whose form `obj` and `old` are shown to
            policies and webhooks; None if that is `kind`.
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
        """The name of the object; empty if the server is to generate it."""
        found: str = self.obj.get("metadata", {}).get("name", "")
        return found or ("" if self.old is None else self.old["metadata"]["name"])

    @property
    def user(self) -> User:
        """The user of the request."""
        return self.asked.user

    @property
    def dry_run(self) -> bool:
        """Whether nothing is stored."""
        return self.asked.dry_run

    def options(self) -> dict[str, Any]:
        """Return the options of the request as policies and webhooks see them."""
        return options_shown(self.operation, self.asked.options)

    def warn(self, text: str) -> None:
        """Add a warning to the answer, whether it is a success or a refusal."""
        self.asked.warnings.append(text)

    def refused(self, text: str) -> StatusError:
        """Return the 403 with which a step refuses the write."""
        return forbidden(self.kind, self.name, text)


@attrs.frozen
class Surroundings:
    """The parts of the server that steps use besides the objects.

    Attributes:
        host: Provides time and identifiers.
        kinds: Returns the kinds that are served at present.
        release: The release of Kubernetes as which the server answers.
        caller: Calls webhooks.
        hand: Hands reviews to those in this process.
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
    """One step of admission; a subclass overrides `admit`, `validate`, or both.

    A step never modifies the object that it is given: `admit` returns another one, or the same.

    Args:
        storage: The objects, which a step only reads.
        around: The other parts of the server that it may use.

    Attributes:
        name: The name by which a real server switches the step on and off.
        kinds: The kinds whose writes it sees; None for those of all kinds.
        operations: The operations that it sees.
        subresources: The subresources whose writes it sees, too; None for all of them.
        counts: Whether its check holds only until the next write: it is made last, while no such write is stored.

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
        """Return whether the step has nothing to do, whatever is written, because some collection is empty.

        It may depend on nothing else: it is asked again only when a collection becomes empty, or is empty no more.
        """
        return False

    def admit(self, attributes: Attributes) -> Object:
        """Return the object with the step's changes.

        Raises:
            StatusError: The step refuses the write.
        """
        return attributes.obj

    def validate(self, attributes: Attributes) -> None:
        """Check an object that has passed the rules of its kind; or, in a deletion, the one that is to be deleted.

        Raises:
            StatusError: The step refuses the write.
        """

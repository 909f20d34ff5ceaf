# SPDX-License-Identifier: Apache-2.0
"""One step of admission, and what it is told about a write."""

from __future__ import annotations

import enum
from typing import NamedTuple

from controller_runtime.apiserver.kinds.kind import Kind
from controller_runtime.apiserver.rules.rules import Object
from controller_runtime.apiserver.status import StatusError, forbidden
from controller_runtime.apiserver.storage.storage import Storage


class Operation(enum.Enum):
    """What a write does to an object."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"


class Attributes(NamedTuple):
    """A write, as the steps of admission see it.

    Attributes:
        operation: Whether the object is new.
        kind: Its kind.
        namespace: The namespace in the path; empty for a cluster-scoped kind.
        obj: The object: before its rules in `Step.admit`, as it is to be stored in `Step.validate`.
        old: The stored object; None if the object is new.
        subresource: The subresource that is written; empty for the object itself.
    """

    operation: Operation
    kind: Kind
    namespace: str
    obj: Object
    old: Object | None = None
    subresource: str = ""

    def refused(self, text: str) -> StatusError:
        """Return the 403 with which a step refuses the write."""
        return forbidden(self.kind, self.obj.get("metadata", {}).get("name", ""), text)


class Step:
    """One step of admission; a subclass overrides `admit`, `validate`, or both.

    A step never modifies the object that it is given: `admit` returns another one, or the same.

    Args:
        storage: The objects, which a step only reads.

    Attributes:
        name: The name by which a real server switches the step on and off.
        kinds: The kinds whose writes it sees; None for those of all kinds.
        operations: The operations that it sees.
        subresources: Whether it sees the writes of subresources, too.

    Threads: any.
    """

    name = ""
    kinds: tuple[Kind, ...] | None = None
    operations: tuple[Operation, ...] = (Operation.CREATE, Operation.UPDATE)
    subresources = False

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def is_idle(self) -> bool:
        """Return whether the step has nothing to do at present, whatever is written; it is asked at each write."""
        return False

    def admit(self, attributes: Attributes) -> Object:
        """Return the object with the step's changes.

        Raises:
            StatusError: 403 or 404, the step refuses the write.
        """
        return attributes.obj

    def validate(self, attributes: Attributes) -> None:
        """Check an object that has passed the rules of its kind.

        Raises:
            StatusError: 403, the step refuses the write.
        """

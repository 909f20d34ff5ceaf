# SPDX-License-Identifier: Apache-2.0
"""The record of one run of a test: each write that landed, each state at rest, and the story that can be told again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import attrs

from apimachinery.http import HTTPRequest
from controller_runtime.testing.outside.calls import Call, text_of
from controller_runtime.testing.outside.courses import LATE
from controller_runtime.testing.perturbation.naming import Kin
from controller_runtime.testing.perturbation.world import State
from embedded_apiserver.perturbation import Name

MANAGER, STORY, OTHER = "manager", "story", "other"
"""The writers: the manager under test, the test's `cluster.user`, and parts of a cluster such as garbage collection."""


@attrs.frozen
class Landed:
    """A write that changed an object.

    Attributes:
        version: Its resourceVersion, counted from the server's start.
        name: The object.
        writer: `MANAGER`, `STORY` or `OTHER`.
        number: The number of the manager's request, or of the story's step, from 1; 0 for other writers.
        step: How many steps the story had taken.
        phase: How many steps the story had taken, and how many of its waits the world had come to rest in.
        fields: The paths that it changed; empty for a creation or a deletion.
        creates: True if the object was not there before.
        deletes: True if it is not there any more.
        kin: The owners and the labels of an object that is created.
    """

    version: int
    name: Name
    writer: str
    number: int
    step: int
    phase: int
    fields: tuple[str, ...] = ()
    creates: bool = False
    deletes: bool = False
    kin: Kin = frozenset()


@attrs.frozen
class Sent:
    """A write that the manager sent, or a call that it made to an outside service, in the order of sending.

    Attributes:
        number: From 1.
        method: Of HTTP, or `call`.
        target: The resource, the key and the subresource, such as `deployments.apps default/web status`; of a call
            its text.
    """

    number: int
    method: str
    target: str

    def __str__(self) -> str:
        return f"{self.method} {self.target}"


@attrs.frozen
class Called:
    """A call of the manager to an outside service.

    Attributes:
        number: Its number among the manager's writes.
        call: The call.
        step: How many steps the story had taken.
    """

    number: int
    call: Call
    step: int


class Act(NamedTuple):
    """A call of the test to an outside service, by which it was changed.

    Attributes:
        outside: The name of the outside.
        method: The method.
        args: Its arguments.
        kwargs: Those given by name.
    """

    outside: str
    method: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]

    def __str__(self) -> str:
        return text_of(self.outside, self.method, self.args, self.kwargs)


class Told(NamedTuple):
    """A part of the story: a write of the test's user, its change of an outside service, or a wait.

    Attributes:
        step: The write or the change; None for a wait.
        seconds: How long the test waited, in virtual time; 0 until all threads had to wait.
    """

    step: HTTPRequest | Act | None
    seconds: float = 0.0

    @property
    def request(self) -> HTTPRequest | None:
        """The request of a write; None for other records."""
        return self.step if isinstance(self.step, HTTPRequest) else None


@attrs.frozen
class Rest:
    """The world after a wait of the test, or at its end.

    Attributes:
        state: The objects.
        step: How many steps of the story have been told.
        reached: The newest version, counted from the server's start.
        is_withheld: Whether a change is still being missed here, so that the program cannot be where it would be.
    """

    state: State
    step: int = 0
    reached: int = 0
    is_withheld: bool = False


@attrs.define
class Run:
    """The record of one run.

    Attributes:
        sent: The manager's writes, also those that changed nothing.
        calls: The manager's calls to outsides.
        landed: All changes, in order.
        watched: The resources that the manager watched.
        story: The acts of the test, in order.
        prelude: How much of the story the test told before it started the manager; None if it never did.
        rests: The world after each wait of the test, and after its end.
        any_version: The resources whose first list asked for any version, which a server may answer with an old one.
        reads: The paths that the manager's views read, by resource.
        requests: How many requests the manager sent until the end.
        idle: How many requests it sent while nothing happened, after the end.
        failing: The objects whose last reconcile failed, at the end.
        broken: The checks of the test's `always` and `eventually` that did not hold.
        forbidden: The rights that the program needed and does not have, if it acts as an account with few.
        failures: The errors that ended the test, or an act of its story.
        is_whole: False if the story was not told to its end.
        late: Seconds by which a late call to an outside service is late.
        is_retellable: False if the test changed the state of an outside service by other ways than its methods.
    """

    sent: list[Sent] = attrs.field(factory=list)
    calls: list[Called] = attrs.field(factory=list)
    landed: list[Landed] = attrs.field(factory=list)
    watched: set[str] = attrs.field(factory=set)
    story: list[Told] = attrs.field(factory=list)
    prelude: int | None = None
    rests: list[Rest] = attrs.field(factory=list)
    any_version: set[str] = attrs.field(factory=set)
    reads: Mapping[str, frozenset[str]] = attrs.field(factory=dict)
    requests: int = 0
    idle: int = 0
    failing: list[str] = attrs.field(factory=list)
    broken: list[str] = attrs.field(factory=list)
    forbidden: list[str] = attrs.field(factory=list)
    failures: list[str] = attrs.field(factory=list)
    is_whole: bool = True
    late: float = LATE
    is_retellable: bool = True

    @property
    def steps(self) -> int:
        """How many steps the story has taken: writes of the test's user, and its changes of outsides."""
        return sum(told.step is not None for told in self.story)

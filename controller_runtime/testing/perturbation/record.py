# SPDX-License-Identifier: Apache-2.0
"""The record of one run of a test: each change, the state at each rest, and the actions of the test, which can be
repeated.
"""

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
    """A change of an object.

    Attributes:
        version: The resourceVersion, counted from the server's start.
        name: The object.
        writer: `MANAGER`, `STORY` (the test's user) or `OTHER`.
        number: The number of the manager's request, or of the test's step, from 1; 0 for other writers.
        step: The number of steps that the test had made.
        phase: The number of steps and waits that the test had made; it differs for changes with a rest in between.
        fields: The changed paths; empty for a creation or a deletion.
        creates: True if the object was created.
        deletes: True if the object was deleted.
        kin: The owners and the labels of a created object.
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
        number: The number, from 1.
        method: The HTTP method, or `call`.
        target: The resource, the key and the subresource, such as `deployments.apps default/web status`; for a call
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
        number: The number among the manager's writes.
        call: The call.
        step: The number of steps that the test had made.
    """

    number: int
    call: Call
    step: int


class Act(NamedTuple):
    """A call by which the test itself changed an outside service.

    Attributes:
        outside: The name of the outside service.
        method: The name of the method.
        args: The positional arguments.
        kwargs: The keyword arguments.
    """

    outside: str
    method: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]

    def __str__(self) -> str:
        return text_of(self.outside, self.method, self.args, self.kwargs)


class Told(NamedTuple):
    """One action of the test: a write of `cluster.user`, a change of an outside service, or a wait.

    Attributes:
        step: The write or the change; None for a wait.
        seconds: The virtual seconds of the wait; 0 for a wait until all threads are blocked.
    """

    step: HTTPRequest | Act | None
    seconds: float = 0.0

    @property
    def request(self) -> HTTPRequest | None:
        """The request of a write; None for other actions."""
        return self.step if isinstance(self.step, HTTPRequest) else None


@attrs.frozen
class Rest:
    """The state after a wait of the test, or at its end, when program and cluster have nothing more to do.

    Attributes:
        state: The objects.
        step: The number of steps that the test has made.
        reached: The newest resourceVersion, counted from the server's start.
        is_withheld: True if a change is still hidden here, so that the program cannot have reached the expected state.
    """

    state: State
    step: int = 0
    reached: int = 0
    is_withheld: bool = False


@attrs.define
class Run:
    """The record of one run.

    Attributes:
        sent: The manager's writes and calls, also those that changed nothing.
        calls: The manager's calls to outside services.
        landed: All changes, in order.
        watched: The resources that the manager watched.
        story: The actions of the test, in order.
        prelude: The number of actions before the test started the manager, or before its body if a fixture started
            it; None if nothing did.
        rests: The states after each wait of the test, and after its end.
        before: The states at the rests before the fault of a perturbed run in real time, counted as `rests`. Until then
            the run is unperturbed. In a simulation a run is the same as an unperturbed one until its fault.
        any_version: The resources of which a list asked for any version, so that a server may answer with an old one.
        reads: The paths that the manager's views read, by resource.
        requests: The number of requests that the manager sent in the whole run, with its calls to outside services.
        idle: The number of requests that the manager sent after the end, while nothing happened.
        failing: The objects that wait for a retry at the end, and the changes that could not be mapped to requests.
        broken: The checks of the test's `always` and `eventually` that did not hold.
        forbidden: The permissions that the program needed and does not have, if it acts as a service account.
        failures: The errors that ended the test, or an action of it.
        is_whole: False if the run ended before the last action of the test.
        late: Seconds until a late call to an outside service is carried out.
        is_retellable: False if the test changed the state of an outside service other than by its methods, so that the
            actions cannot be repeated without the test.
    """

    sent: list[Sent] = attrs.field(factory=list)
    calls: list[Called] = attrs.field(factory=list)
    landed: list[Landed] = attrs.field(factory=list)
    watched: set[str] = attrs.field(factory=set)
    story: list[Told] = attrs.field(factory=list)
    prelude: int | None = None
    rests: list[Rest] = attrs.field(factory=list)
    before: list[Rest] = attrs.field(factory=list)
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
        """The number of steps that the test has made: writes of its user, and its changes of outside services."""
        return sum(told.step is not None for told in self.story)

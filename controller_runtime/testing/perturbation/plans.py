# SPDX-License-Identifier: Apache-2.0
"""The plans: each is one fault at one point of a test, which a correct Kubernetes cluster could cause as well."""

from __future__ import annotations

import json
from typing import Any

import attrs

from controller_runtime.testing.outside.courses import Fault
from controller_runtime.testing.perturbation.sequence_plan import StateSequence
from embedded_apiserver.perturbation import Name

PATTERNS = ("crash", "outside", "stale", "missed", "sequence")
"""The patterns of faults that `--perturb` knows."""

LAWFUL = "lawful"
"""The grade of a fault that any Kubernetes cluster can cause."""
DECLARED = "declared"
"""The grade of a fault of an outside service that is possible only if its fake declares it."""


@attrs.frozen
class Crash:
    """The manager is killed at one of its writes or calls to an outside service, and a new one starts.

    Attributes:
        write: The number of the write or call, from 1.
        landed: True if the write or call is carried out; its answer is lost in either case.
    """

    write: int
    landed: bool

    pattern = "crash"
    grade = LAWFUL
    remedy = "let each reconcile start from the objects alone: a write that follows another may never be sent"

    def __str__(self) -> str:
        return f"crash {'after' if self.landed else 'before'} write {self.write}"


@attrs.frozen
class Restart:
    """The manager is killed while nothing happens, and a new one starts.

    Attributes:
        rest: The number of the test's wait after which this happens, from 0.
    """

    rest: int

    pattern = "crash"
    grade = LAWFUL
    remedy = "keep nothing that later reconciles need in memory alone"

    def __str__(self) -> str:
        return f"restart after wait {self.rest + 1}"


@attrs.frozen
class Lag:
    """The watches of one resource deliver nothing from one change on, until everything else is at rest.

    Attributes:
        resource: The resource.
        version: The resourceVersion of the first change that is late, counted from the server's start.
    """

    resource: str
    version: int

    pattern = "stale"
    grade = LAWFUL
    remedy = "expect that a cache lacks your own last write: name what you create, and send the version that you judged"

    def __str__(self) -> str:
        return f"stale {self.resource} from version {self.version} on"


@attrs.frozen
class Stale:
    """The manager restarts while nothing happens, and first sees an old state of one resource.

    Attributes:
        resource: The resource.
        version: The resourceVersion of the old state, counted from the server's start.
        rest: The number of the test's wait after which the manager restarts, from 0.
    """

    resource: str
    version: int
    rest: int

    pattern = "stale"
    grade = LAWFUL
    remedy = "send the uid and the version that you judged with each deletion, and compare owners by uid"

    def __str__(self) -> str:
        return f"stale {self.resource} as of version {self.version}, after a restart at wait {self.rest + 1}"


@attrs.frozen
class Missed:
    """Only the second of two changes of one object is seen: the watch ends, and resuming it is refused with status 410.

    Attributes:
        name: The object.
        version: The resourceVersion of the first change, counted from the server's start.
        by_story: True if the second change is made by the test.
    """

    name: Name
    version: int
    by_story: bool

    pattern = "missed"
    grade = LAWFUL
    remedy = "act on what is there, not on what has changed: a state in between may never be seen"

    def __str__(self) -> str:
        return f"missed {self.name} at version {self.version}"


_DECLARED = (Fault.TWICE.value, Fault.PAST.value)
_REMEDIES = {
    Fault.REFUSED.value: "turn the errors of the service's library into a TemporaryError where you call it, and record "
    "nothing before the call has succeeded",
    Fault.REQUEST_LOST.value: "take a call without an answer for one that may not have been carried out: make it again",
    Fault.ANSWER_LOST.value: "take a call without an answer for one that may have been carried out: make it so that it "
    "can be repeated, and take 'exists' or 'is gone' for success",
    Fault.LATE.value: "expect that a call arrives after its time-out: let a later call of the same object win",
    Fault.TWICE.value: "give each call a key by which the service knows that it has carried it out",
    Fault.PAST.value: "decide nothing that cannot be undone by a read that may be old: look again, or ask by name",
}


@attrs.frozen
class OutsideFault:
    """A call to an outside service gets a fault, such as no answer.

    Attributes:
        call: The number of the call among the manager's writes and calls, from 1.
        fault: The fault, a value of `Fault`.
    """

    call: int
    fault: str

    pattern = "outside"

    @property
    def grade(self) -> str:
        """The grade: `lawful` if any service can have the fault, `declared` if its fake must have declared it."""
        return DECLARED if self.fault in _DECLARED else LAWFUL

    @property
    def remedy(self) -> str:
        """The change of the program that makes it correct despite this fault, in one line."""
        return _REMEDIES[self.fault]

    def __str__(self) -> str:
        return f"{self.fault} at call {self.call}"


Plan = Crash | Restart | Lag | Stale | Missed | OutsideFault | StateSequence

_ALL = (Crash, Restart, Lag, Stale, Missed, OutsideFault, StateSequence)
_KINDS: dict[str, type[Plan]] = {kind.__name__: kind for kind in _ALL}


def to_json(plan: Plan) -> dict[str, Any]:
    """Return a plan (one fault at one point of a run) as values that JSON can represent."""
    return {"plan": type(plan).__name__, **attrs.asdict(plan)}


def from_json(value: dict[str, Any]) -> Plan:
    """Return the plan of a result of `to_json`.

    Raises:
        ValueError: `value` is not a plan.
    """
    fields = dict(value)
    try:
        kind = _KINDS[fields.pop("plan")]
        if "name" in fields:
            fields["name"] = Name(*fields["name"])
        if "fault" in fields:
            Fault(fields["fault"])
        return kind(**fields)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{json.dumps(value)} is not a plan: {error}") from None

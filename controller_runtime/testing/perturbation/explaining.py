# SPDX-License-Identifier: Apache-2.0
"""The fault of a plan as text: the step of the test, the manager's write, and the change that was not seen."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from apimachinery.decoding import decoder_of
from apimachinery.http import HTTPRequest
from controller_runtime.core.resource_paths import resource_path
from controller_runtime.testing.outside.courses import PATIENCE, Fault
from controller_runtime.testing.perturbation.plans import Crash, Lag, Missed, OutsideFault, Plan, Restart, Stale
from controller_runtime.testing.perturbation.record import MANAGER, STORY, Act, Landed, Run, Told

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


class _Metadata(msgspec.Struct):
    name: str = ""


class _Named(msgspec.Struct):
    metadata: _Metadata


_decode: Callable[[bytes], _Named] = decoder_of(_Named)
_WENT = {
    Fault.REFUSED: "was refused before it was sent",
    Fault.REQUEST_LOST: f"was lost, and ended after {PATIENCE:g} s without an answer",
    Fault.ANSWER_LOST: f"was carried out, and ended after {PATIENCE:g} s without an answer",
    Fault.LATE: "was carried out and answered {late:g} s later",
    Fault.TWICE: "was carried out twice",
    Fault.PAST: "was answered as if the last change had not been made",
}
_SHOWN = 3
"""The most fields of one change that are named."""


def story_of(told: Sequence[Told]) -> str:
    """Return the numbered steps of a test as text: its writes and changes of outside services, without waits."""
    steps = [each.step for each in told if each.step is not None]
    return ", ".join(f"{number} {_step_of(step)}" for number, step in enumerate(steps, 1))


def _step_of(step: HTTPRequest | Act) -> str:
    return f"call {step}" if isinstance(step, Act) else f"{_VERBS.get(step.method, step.method)} {_target(step)}"


def _target(step: HTTPRequest) -> str:
    """Return the collection and the name that a step is about."""
    named = resource_path(step.path)
    if named is None:
        return step.path
    key = "/".join(filter(None, (named.namespace, named.name or _name_in(step.body))))
    return " ".join(filter(None, (named.plural, key, named.subresource)))


def _name_in(body: bytes | None) -> str:
    try:
        return _decode(body).metadata.name if body else ""
    except msgspec.MsgspecError:
        return ""


def happened(plan: Plan, calm: Run) -> str:
    """Return a text about the fault of a plan.

    Args:
        plan: The plan.
        calm: The record of the unperturbed run, to whose writes and changes the plan refers.
    """
    match plan:
        case Crash():
            sent = calm.sent[plan.write - 1] if plan.write <= len(calm.sent) else None
            effects = [each for each in calm.landed if each.writer == MANAGER and each.number == plan.write]
            when = "after it had landed and before its answer" if plan.landed else "before it was sent"
            return f"{_step(effects)}the manager ended at its write {plan.write}, {when}: {sent}{_fields(effects)}"
        case Restart():
            return f"the manager ended at rest, after wait {plan.rest + 1} of the test, and a new one began"
        case Lag():
            late = [each for each in calm.landed if (each.name.resource, each.version) == (plan.resource, plan.version)]
            return f"{_step(late)}the manager did not see until all else was at rest: {_change(late)}"
        case Stale():
            news = [
                each for each in calm.landed if each.name.resource == plan.resource and each.version > plan.version
            ][:1]
            began = f"the manager began again after wait {plan.rest + 1}"
            return f"{began}, and first read {plan.resource} before {_change(news)}"
        case Missed():
            of_it = [each for each in calm.landed if each.name == plan.name]
            missed = [each for each in of_it if each.version == plan.version]
            later = [each for each in of_it if each.version > plan.version]
            following = [each for each in later if each.writer == STORY or not plan.by_story][:1]
            return f"{_step(missed)}the manager never saw {_change(missed)}, but at once {_change(following)}"
        case OutsideFault():
            called = next((each for each in calm.calls if each.number == plan.call), None)
            where = "" if called is None else f"step {called.step}: "
            what = "a call" if called is None else f"call {plan.call}, {called.call},"
            return f"{where}{what} {_WENT[Fault(plan.fault)].format(late=calm.late)}"
        case _:
            return str(plan)


def _step(changes: Sequence[Landed]) -> str:
    return f"step {changes[0].step}: " if changes else ""


def _change(changes: Sequence[Landed]) -> str:
    if not changes:
        return "a later change"
    change = changes[0]
    kind = "creation" if change.creates else "deletion" if change.deletes else "change"
    writer = {MANAGER: f"by its own write {change.number}", STORY: f"by step {change.number}"}.get(change.writer, "")
    return f"the {kind} of {change.name}{_fields(changes)} {writer}".rstrip()


def _fields(changes: Sequence[Landed]) -> str:
    named = [field for change in changes[:1] for field in change.fields]
    more = f" and {len(named) - _SHOWN} more" if len(named) > _SHOWN else ""
    return f" ({', '.join(named[:_SHOWN])}{more})" if named else ""

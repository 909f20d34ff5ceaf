# SPDX-License-Identifier: Apache-2.0
"""The state of a manager at this moment as JSON, for people: what is cached, queued and running, since when and why."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from controller_runtime.cache.informer import Informer
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.counters import KEPT
from controller_runtime.controller.failing import Failing
from controller_runtime.controller.history import Why
from controller_runtime.controller.reconciler import Request
from controller_runtime.controller.unreadable import Trouble
from controller_runtime.deletions.limits import BudgetState
from controller_runtime.events.recorder import EventRecorder
from controller_runtime.manager.manager import Manager
from controller_runtime.queue.causes import Cause, PlainCause
from controller_runtime.queue.turns import Turn, TurnState

if TYPE_CHECKING:  # a program without a ring should not pay for it
    from controller_runtime.ring.ring import Ring

MOST_WAITING = 100
"""The most requests of each queue that are shown, in addition to those being reconciled."""

_SHOWN_AS = {
    "running": (TurnState.PROCESSING,),
    "due": (TurnState.READY, TurnState.BLOCKED),
    "later": (TurnState.DELAYED,),
}


def describe(manager: Manager) -> dict[str, Any]:
    """Return the state of a manager as a JSON-compatible dict; times are seconds relative to now.

    Each part is a snapshot of one moment, but the parts may be from different moments.
    """
    now = manager.host.monotonic()
    elector = manager.elector
    election = None
    if elector is not None:
        election = {
            "lease": str(elector.lock),
            "identity": elector.identity,
            "leader": elector.leader,
            "leads": elector.is_leader(),
            "token": None if elector.held is None else elector.held.token,
            "last_error": elector.last_error,
        }
    return {
        "stopping": manager.stopping.is_set(),
        "election": election,
        "rings": [_ring(ring) for ring in manager.rings],
        "controllers": [_controller(controller, now) for controller in manager.controllers],
        "self_wakes": [str(each) for each in manager.self_wakes.found()],
        "deletion_budgets": [_budget(state) for state in manager.deletions.states()],
        "recorders": [_recorder(recorder) for recorder in manager.recorders],
        "informers": [_informer(informer, now) for informer in manager.informers],
    }


def report(manager: Manager) -> str:
    """Return the state of a manager (see `describe`) as JSON text."""
    return as_json(describe(manager))


def as_json(shown: dict[str, Any]) -> str:
    """Return a result of `describe` or `why` as JSON text."""
    return json.dumps(shown, indent=2, ensure_ascii=False)


def why(manager: Manager, request: Request) -> dict[str, Any]:
    """Return why each controller reconciles a request now and next, and its last reconciles of it, the newest first.

    The result is a JSON-compatible dict; times are seconds relative to now. Controllers without data about the request
    are left out.
    """
    now = manager.host.monotonic()
    found = [(controller.name, controller.why(request)) for controller in manager.controllers]
    shown = [
        {"name": name, **_why(each, now)} for name, each in found if each is not None and (each.turns or each.past)
    ]
    wakes = [str(each) for each in manager.self_wakes.found() if each.request == request]
    return {"request": str(request), "remembered": KEPT, "controllers": shown, "self_wakes": wakes}


def _why(found: Why, now: float) -> dict[str, Any]:
    planned = {
        name: [{**_when(turn, now), "causes": _causes(turn.causes)} for turn in found.turns if turn.state in states]
        for name, states in _SHOWN_AS.items()
    }
    past = [
        {
            "ended": round(now - each.ended, 3),
            "took": round(each.took, 6),
            "outcome": each.outcome.name.lower(),
            "causes": _causes(each.causes),
        }
        for each in found.past
    ]
    return {**planned, "past": past}


def _causes(causes: Iterable[PlainCause]) -> list[dict[str, Any]]:
    return [_cause(Cause._make(each)) for each in causes]


def _cause(cause: Cause) -> dict[str, Any]:
    by = {} if cause.key is None else {"object": cause.object, "version": cause.version}
    return {"cause": cause.text, **by, "times": cause.times}


def _controller(controller: Controller, now: float) -> dict[str, Any]:
    turns = controller.turns(MOST_WAITING)
    counters = controller.counters()
    shown: dict[str, Any] = {"name": controller.name, "started": controller.has_begun, "workers": controller.workers}
    if counters is not None:
        reconciles, queue = counters
        shown |= {"reconciles": reconciles.reconciles, "errors": reconciles.errors}
        if controller.reconcile_timeout is not None:
            shown |= {"reconcile_timeout": controller.reconcile_timeout, "timeouts": reconciles.timeouts}
        shown |= {"queued": queue.depth, "queued_low": queue.low_depth}
    if channels := controller.channels:
        shown["channels"] = [{"pushed": channel.pushed, "refused": channel.refused} for channel in channels]
    if (trouble := controller.trouble()) is not None:
        shown |= _trouble(trouble)
    for name, states in _SHOWN_AS.items():
        shown[name] = [_turn(turn, now) for turn in turns if turn.state in states]
    return shown


def _trouble(trouble: Trouble) -> dict[str, Any]:
    failing = [each for source in trouble.sources for each in source.failing(MOST_WAITING)[1]]
    _, unreadable = trouble.unreadable.first(MOST_WAITING)
    return {
        "failing": [_failing(each) for each in failing],
        "unreadable": [{"request": str(each.request), "error": each.text} for each in unreadable],
    }


def _failing(failing: Failing) -> dict[str, Any]:
    what = {} if failing.key is None else {"kind": failing.kind, "key": str(failing.key)}
    return {**what, "failures": failing.failures, "error": failing.error}


def _when(turn: Turn[Request], now: float) -> dict[str, float]:
    age = now - turn.at
    return {"in": round(-age, 3)} if turn.state is TurnState.DELAYED else {"since": round(age, 3)}


def _turn(turn: Turn[Request], now: float) -> dict[str, Any]:
    return {
        "request": str(turn.item),
        **_when(turn, now),
        "causes": [str(Cause._make(each)) for each in turn.causes],
        "low": turn.low,
    }


def _recorder(recorder: EventRecorder) -> dict[str, Any]:
    return {"component": recorder.component, **{fate.name.lower(): n for fate, n in recorder.counts().items()}}


def _informer(informer: Informer, now: float) -> dict[str, Any]:
    reflector = informer.reflector
    return {
        "collection": str(informer),
        "synced": informer.has_synced(),
        "state": reflector.state.text,
        "objects": len(informer.store),
        "held_bytes": informer.store.sizes.held,
        "json_bytes": informer.store.sizes.json,
        **_bodies(informer),
        "version": informer.store.version,
        "heard_since": round(now - reflector.liveness.heard_at, 3),
        "last_error": reflector.liveness.last_error,
        "handlers": informer.handlers,
        "backlogs": {subscription.name: subscription.backlog for subscription in informer.subscriptions},
    }


def _bodies(informer: Informer) -> dict[str, Any]:
    if informer.bodies is None:
        return {}
    kept = informer.bodies.kept
    return {"bodies": {"kept": len(kept), "held_bytes": kept.held, "hits": kept.hits, "misses": kept.misses}}


def _budget(state: BudgetState) -> dict[str, Any]:
    return {
        "kind": state.budget.name,
        "budget": str(state.budget),
        "deleted": state.used,
        "limit": state.limit,
        "allowed": state.allowed,
        "refused": state.refused,
        "waiting": state.waiting,
        "opened_once_by": state.command,
    }


def _ring(ring: Ring) -> dict[str, Any]:
    """Return the state of a ring as values that JSON can hold."""
    counts = ring.member.status.counts()
    return {
        "name": ring.config.name,
        "identity": ring.member.identity,
        "epoch": ring.member.epoch,
        "slots": ring.ownership.owned.bit_count(),
        "in_hand": ring.ownership.in_hand.bit_count(),
        "members": dict(counts.members),
        "unclaimed": counts.unclaimed,
        "changes": dict(counts.changes),
        "problem": ring.problem(),
        "waiting": ring.member.status.waiting,
        "turn_age": round(counts.turn_age, 3),
        "last_error": ring.member.last_error,
        "missing_rights": [str(right) for right in ring.rights.missing],
    }

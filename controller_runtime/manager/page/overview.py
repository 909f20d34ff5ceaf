# SPDX-License-Identifier: Apache-2.0
"""The tables of the overview: controllers, requests, failures, caches, leaders, rings, events, the process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from controller_runtime.cache.informer import Informer
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.reconciler import Request
from controller_runtime.controller.self_wakes import SelfWake
from controller_runtime.controller.stories import Story
from controller_runtime.deletions.limits import BudgetState
from controller_runtime.manager.manager import Manager
from controller_runtime.manager.page.tables import StatusRow, StatusTable, seconds, size
from controller_runtime.manager.problems import STUCK_AFTER
from controller_runtime.queue.causes import Causes
from controller_runtime.queue.turns import Turn, TurnState

MOST_TURNS = 200
"""The most waiting requests of each queue that are searched."""

SLOWEST = 10
"""The most rows in the table of the slowest reconciles, and in that of controllers that cause their own reconciles."""


def overview(manager: Manager, stories: Sequence[Story]) -> Iterator[StatusTable]:
    """Yield the tables of a manager's current state."""
    now = manager.host.monotonic()
    turns = {controller.name: controller.turns(MOST_TURNS) for controller in manager.controllers}
    yield _controllers(manager.controllers, turns, now)
    yield _running(turns, now)
    yield _failing(manager.controllers, stories, now)
    if found := manager.self_wakes.found():
        yield _self_wakes(found)
    if states := manager.deletions.states():
        yield _deletions(states)
    yield _waiting(turns, now)
    yield _slowest(stories, now)
    yield _caches([*manager.informers], now)
    yield from _leaders(manager, now)
    if manager.rings:
        yield _rings(manager)
    if manager.recorders:
        yield _events(manager)
    yield last_reconciles(stories, now)


def _controllers(controllers: Sequence[Controller], turns: dict[str, list[Turn[Request]]], now: float) -> StatusTable:
    rows = []
    for one in controllers:
        counters = one.counters()
        if counters is None:
            rows.append(StatusRow((one.name, "waits to start", "", "", "", "", "", "", "", "")))
            continue
        reconciles, queue = counters
        due = [now - turn.at for turn in turns[one.name] if turn.state in (TurnState.READY, TurnState.BLOCKED)]
        mean = reconciles.durations.total / reconciles.reconciles if reconciles.reconciles else 0.0
        rows.append(
            StatusRow(
                (
                    one.name,
                    "runs" if one.has_begun else "is warm",
                    f"{reconciles.active_workers} of {one.workers}",
                    queue.depth + queue.low_depth,
                    seconds(max(due)) if due else "",
                    queue.retries,
                    reconciles.reconciles,
                    seconds(mean) if reconciles.reconciles else "",
                    reconciles.errors,
                    reconciles.panics,
                ),
                is_bad=queue.longest_running > STUCK_AFTER or bool(reconciles.panics),
            )
        )
    columns = ("controller", "state", "busy", "queued", "oldest", "retries", "reconciles", "mean", "errors", "panics")
    return StatusTable("Controllers", columns, rows)


def _self_wakes(found: Sequence[SelfWake]) -> StatusTable:
    rows = [
        StatusRow(
            (", ".join(one.controllers), str(one.request), one.object, ", ".join(one.fields), one.length),
            is_bad=True,
            story=(one.controllers[0], str(one.request)),
        )
        for one in found[:SLOWEST]
    ]
    return StatusTable("Wake themselves", ("controllers", "request", "wrote", "fields", "in a row"), rows)


def _deletions(states: Sequence[BudgetState]) -> StatusTable:
    rows = [
        StatusRow(
            (
                one.budget.name,
                one.used,
                "" if one.limit is None else one.limit,
                f"{one.budget.seconds:g} s",
                one.refused,
                one.waiting,
                one.command if one.waiting else "",
            ),
            is_bad=bool(one.waiting),
        )
        for one in states
    ]
    columns = ("kind", "deleted", "of", "in", "refused", "objects that wait", "opened once by")
    return StatusTable("Deletion budgets", columns, rows, "The deletions of all replicas, as this one knows them.")


def _running(turns: dict[str, list[Turn[Request]]], now: float) -> StatusTable:
    found = [(n, t) for n, some in turns.items() for t in some if t.state is TurnState.PROCESSING]
    found.sort(key=lambda each: each[1].at)
    rows = [
        StatusRow(
            (name, str(turn.item), seconds(now - turn.at), str(Causes(turn.causes))),
            is_bad=now - turn.at > STUCK_AFTER,
            story=(name, str(turn.item)),
        )
        for name, turn in found
    ]
    return StatusTable("Being reconciled", ("controller", "request", "for", "because"), rows)


def _waiting(turns: dict[str, list[Turn[Request]]], now: float) -> StatusTable:
    found = [(n, t) for n, some in turns.items() for t in some if t.state is not TurnState.PROCESSING]
    found.sort(key=lambda each: each[1].at)
    rows = [
        StatusRow(
            (name, str(turn.item), seconds(now - turn.at), "low" if turn.low else "", str(Causes(turn.causes))),
            story=(name, str(turn.item)),
        )
        for name, turn in found
    ]
    note = f"Up to {MOST_TURNS} of each queue; a delayed request says when it is due."
    return StatusTable("Waiting", ("controller", "request", "for", "priority", "because"), rows, note)


def _failing(controllers: Sequence[Controller], stories: Sequence[Story], now: float) -> StatusTable:
    """Return what fails now: requests whose last story is a failure, unmapped changes, unreadable objects."""
    latest: dict[tuple[str, Request], Story] = {}
    failures: dict[tuple[str, Request], int] = {}
    for story in stories:  # the newest first
        key = story.controller, story.request
        latest.setdefault(key, story)
        failures[key] = failures.get(key, 0) + story.has_failed
    rows = [
        StatusRow(
            (name, str(request), outcome_text(story), failures[name, request], seconds(now - story.ended), story.error),
            is_bad=True,
            story=(name, str(request)),
        )
        for (name, request), story in latest.items()
        if story.has_failed
    ]
    for one in controllers:
        trouble = one.trouble()
        for source in () if trouble is None else trouble.sources:
            for each in source.failing(MOST_TURNS)[1]:
                where = f"{each.kind} {each.key}" if each.key is not None else "a periodic function"
                rows.append(StatusRow((one.name, where, "not mapped", each.failures, "", each.error), is_bad=True))
        for unread in () if trouble is None else trouble.unreadable.first(MOST_TURNS)[1]:
            cells = (one.name, str(unread.request), "cannot be read", "", "", unread.text)
            rows.append(StatusRow(cells, is_bad=True, story=(one.name, str(unread.request))))
    columns = ("controller", "request", "ended", "failures", "ago", "last error")
    return StatusTable("Failing", columns, rows)


def _slowest(stories: Sequence[Story], now: float) -> StatusTable:
    found = sorted(stories, key=lambda story: -story.took)[:SLOWEST]
    rows = [
        StatusRow(
            (one.controller, str(one.request), seconds(one.took), outcome_text(one), seconds(now - one.ended)),
            story=(one.controller, str(one.request)),
        )
        for one in found
    ]
    return StatusTable("Slowest", ("controller", "request", "took", "ended", "ago"), rows, "Of the last reconciles.")


def last_reconciles(stories: Sequence[Story], now: float, title: str = "Last reconciles") -> StatusTable:
    """Return a table of stories, the newest first."""
    rows = [
        StatusRow(
            (
                one.number,
                one.controller,
                str(one.request),
                outcome_text(one),
                seconds(now - one.ended),
                seconds(one.took),
                str(one.causes),
                one.error,
            ),
            is_bad=one.has_failed,
            story=(one.controller, str(one.request)),
        )
        for one in stories
    ]
    return StatusTable(title, ("number", "controller", "request", "ended", "ago", "took", "because", "error"), rows)


def outcome_text(story: Story) -> str:
    """Return the outcome of a reconcile in a few words."""
    if story.requeue_after is not None:
        return f"again after {seconds(story.requeue_after)}"
    return story.outcome.name.lower().replace("_", " ")


def _caches(informers: Sequence[Informer], now: float) -> StatusTable:
    rows = []
    for one in informers:
        liveness, store = one.reflector.liveness, one.store
        silence = now - liveness.heard_at
        rows.append(
            StatusRow(
                (
                    str(one),
                    one.reflector.state.text,
                    store.version,
                    len(store),
                    size(store.sizes.held),
                    size(store.sizes.json),
                    _bodies(one),
                    seconds(store.staleness()) if store.filled else "",
                    seconds(silence),
                    sum(each.backlog for each in one.subscriptions),
                    liveness.last_error,
                ),
                is_bad=not one.has_synced() or silence > one.reflector.patience.overdue,
            )
        )
    columns = (
        "collection",
        "state",
        "version",
        "objects",
        "memory",
        "as JSON",
        "bodies",
        "lag",
        "silence",
        "backlog",
        "last error",
    )
    return StatusTable("Caches", columns, rows)


def _bodies(informer: Informer) -> str:
    """Return which bodies a cache of metadata keeps, and how many of those that were read were at hand."""
    if informer.bodies is None:
        return ""
    kept = informer.bodies.kept
    return f"{len(kept)} kept, {size(kept.held)}; {kept.hits} of {kept.hits + kept.misses} reads at hand"


def _leaders(manager: Manager, now: float) -> Iterator[StatusTable]:
    elector = manager.elector
    if elector is None:
        return
    leads = "leads" if elector.is_leader() else "does not lead"
    token = "" if elector.held is None else str(elector.held.token)
    cells = (str(elector.lock), elector.identity, leads, elector.leader or "no replica", token, elector.last_error)
    row = StatusRow(cells, is_bad=bool(elector.last_error) or not elector.leader)
    yield StatusTable("Election", ("lease", "this replica", "", "leader", "token", "last error"), [row])
    until, rows = now, []
    for since, leader in manager.leaders.all():
        rows.append(StatusRow((leader or "no replica", seconds(now - since), seconds(until - since))))
        until = since
    yield StatusTable("Leaders", ("leader", "since", "for"), rows, "As this replica has seen them, the newest first.")


def _rings(manager: Manager) -> StatusTable:
    rows = []
    for ring in manager.rings:
        member, owned = ring.member, ring.ownership.owned
        numbers = owned.bit_count(), ring.ownership.in_hand.bit_count(), member.epoch
        cells = (ring.name, member.identity, *numbers, member.status.waiting, member.last_error)
        rows.append(StatusRow(cells, is_bad=bool(member.last_error)))
    return StatusTable("Rings", ("ring", "member", "slots", "in hand", "epoch", "waits", "last error"), rows)


def _events(manager: Manager) -> StatusTable:
    rows = [
        StatusRow((one.component, fate.name.lower(), count))
        for one in manager.recorders
        for fate, count in one.counts().items()
    ]
    return StatusTable("Events", ("component", "fate", "events"), rows)

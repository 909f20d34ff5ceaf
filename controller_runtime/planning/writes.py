# SPDX-License-Identifier: Apache-2.0
"""Answers the writes of a plan: by a dry run where the server can judge them, else from what is planned already.

A write to an object that the server has never seen, or that builds on earlier writes of this pass, cannot be sent as it
is. The first is computed here. The second is sent as one patch from the state at the server, so that the server still
checks it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import attrs

from apimachinery.errors import UsageError
from apimachinery.host import Host
from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.objects import timestamp
from controller_runtime.api.differ import merge_patched
from controller_runtime.core.resource_paths import ResourcePath
from controller_runtime.planning.dry_runs import as_dry_run
from controller_runtime.planning.outcomes import (
    APPLY,
    absent,
    after_deletion,
    answered,
    applied,
    as_merge_patch,
    content_type,
    cumulative,
    document,
    done,
    exists,
    is_success,
    locally,
    meta_of,
    refusal,
    response,
    scale_of,
    webhook_without_dry_runs,
    with_identity,
    with_version,
    written,
)
from controller_runtime.planning.overlay import BlindSpot, Object, Overlay, PlannedObject, current_work
from controller_runtime.planning.patching import PatchFailed

Send: TypeAlias = "Callable[[HTTPRequest], HTTPResponse]"
"""Sends a request to the server, and returns its answer."""

Outcome: TypeAlias = "tuple[HTTPResponse, PlannedObject | None]"
"""The answer that a writer gets, and what is planned afterwards; None if the write changes no plan."""

_TRIES = 10
"""The number of times that a write is planned again because another one came between; few run at a time."""

_FORBIDDEN = (403, 405)
_NEVER_SENT = "builds on an object that was only planned"


def plan_write(host: Host, overlay: Overlay, request: HTTPRequest, target: ResourcePath, send: Send) -> HTTPResponse:
    """Plan a write of one object, and return the answer for its sender.

    Args:
        host: The source of time and randomness, for values that a server would add.
        overlay: The planned states.
        request: The write.
        target: The path of the object, also for a creation; without a name if the server generates it.
        send: Sends requests that change nothing.
    """
    for _ in range(_TRIES):
        planned = overlay.get(target)
        answer, after = _PlannedWrite(host, overlay, request, target, send).outcome(planned)
        if after is None or overlay.put(planned, after.by(current_work.get())):
            return answer
    raise UsageError(f"{request.method} {request.path}: other writes of the object come between again and again")


@attrs.frozen
class _PlannedWrite:
    """One write, judged by what is planned for its object at this moment."""

    host: Host
    overlay: Overlay
    request: HTTPRequest
    target: ResourcePath
    send: Send

    def outcome(self, planned: PlannedObject | None) -> Outcome:
        if self.request.method == "POST":
            return self._part(planned) if self.target.subresource else self._create(planned)
        if planned is not None and planned.state is None:
            if self._is_apply:
                return self._created_here(planned, BlindSpot.UNCHECKED, "its deletion was only planned")
            return absent(self.target.plural, self.target.name), None
        if planned is not None and (refused := self._refused(planned)) is not None:
            return refused, None
        if self.request.method == "DELETE":
            return self._delete(planned)
        if planned is None:
            return self._first_change()
        return self._change_of_new(planned) if planned.is_only_planned else self._further_change(planned)

    @property
    def _is_apply(self) -> bool:
        return self.request.method == "PATCH" and content_type(self.request) == APPLY and not self.target.subresource

    @property
    def _manager(self) -> str:
        return dict(self.request.query).get("fieldManager", "") if self._is_apply else ""

    # Creations.

    def _create(self, planned: PlannedObject | None) -> Outcome:
        if planned is not None and planned.state is not None:
            return exists(self.target.plural, self.target.name), None
        if planned is not None and not planned.is_only_planned:
            return self._created_here(planned, BlindSpot.UNCHECKED, "its deletion was only planned")
        answer = self.send(as_dry_run(self.request))
        if not is_success(answer):
            return self._refused_creation(planned, answer)
        return self._created(planned, answer)

    def _created(self, planned: PlannedObject | None, answer: HTTPResponse) -> Outcome:
        obj = document(answer.body)
        if not meta_of(obj).get("name"):  # a review: its answer is all there is
            return answer, None
        wanted = meta_of(document(self.request.body))
        generated = "" if wanted.get("name") else str(wanted.get("generateName", ""))
        return self._new(planned, with_version(obj), answer.status, generated)

    def _new(self, planned: PlannedObject | None, obj: dict[str, Any], status: int, generated: str) -> Outcome:
        target = self.target.named(obj["metadata"]["name"])
        after = planned or PlannedObject(target, None, None)
        after = attrs.evolve(after, state=obj, generate_name=generated, applied_by=self._manager, has_status=False)
        if generated:
            after = after.with_blind(
                BlindSpot.GENERATED_NAME, f"the server makes a name up that begins with {generated}"
            )
        return response(status, obj), after

    def _refused_creation(self, planned: PlannedObject | None, answer: HTTPResponse) -> Outcome:
        if spot := _webhook(answer):
            return self._created_here(planned, *spot)
        namespace = self.overlay.get(ResourcePath("", "v1", "namespaces", "", self.target.namespace))
        if answer.status == 404 and namespace is not None and namespace.is_only_planned and namespace.state is not None:
            return self._created_here(planned, BlindSpot.UNCHECKED, "its namespace was only planned")
        return answer, None

    def _created_here(self, planned: PlannedObject | None, spot: BlindSpot, why: str) -> Outcome:
        """Create the object as it was sent, without the server's defaults."""
        body = document(self.request.body)
        metadata = dict(meta_of(body))
        generated = "" if metadata.get("name") else str(metadata.get("generateName", ""))
        chance = self.host.random
        metadata.setdefault("name", f"{generated}{chance.getrandbits(20):05x}")
        if self.target.namespace:
            metadata["namespace"] = self.target.namespace
        metadata |= {"uid": f"planned-{chance.getrandbits(64):016x}", "creationTimestamp": timestamp(self.host.now())}
        obj = with_version({**body, "metadata": metadata})
        obj.pop("status", None)
        answer, after = self._new(planned, obj, 201, generated)
        return answer, None if after is None else after.with_blind(spot, f"{why}: the server did not check it")

    # Changes.

    def _first_change(self) -> Outcome:
        live = self._live()
        answer = self.send(as_dry_run(self.request))
        before = PlannedObject(self.target.named(self.target.name), live, live)
        if not is_success(answer):
            if live is None:
                return self._refused_creation(None, answer) if self._is_apply else (answer, None)
            return self._changed_here(before, *spot) if (spot := _webhook(answer)) else (answer, None)
        if live is None:
            return self._created(None, answer)
        if not live:
            before = before.with_blind(BlindSpot.UNCHECKED, "its state before is not known: it may not be read")
        return self._changed(before, answer)

    def _changed(self, planned: PlannedObject, answer: HTTPResponse) -> Outcome:
        obj = document(answer.body)
        state = answered(planned, obj, self.target.subresource)
        after = written(planned, state, self.target.subresource)
        shown = answer if self.target.subresource == "scale" else response(answer.status, state)
        return shown, after

    def _changed_here(self, planned: PlannedObject, spot: BlindSpot, why: str) -> Outcome:
        try:
            state = locally(planned.state or {}, self.request, self.target.subresource)
        except PatchFailed as error:
            return refusal(422, "Invalid", str(error)), None
        after = attrs.evolve(written(planned, state, self.target.subresource), applied_by="")
        after = after.with_blind(spot, f"{why}: the server did not check it")
        return response(200, scale_of(state) if self.target.subresource == "scale" else state), after

    def _change_of_new(self, planned: PlannedObject) -> Outcome:
        if not (self._is_apply and planned.applied_by == self._manager):
            return self._changed_here(planned, BlindSpot.UNCHECKED, f"a write {_NEVER_SENT}")
        answer = self.send(as_dry_run(self.request))
        if not is_success(answer):
            return answer, None
        state = answered(planned, with_identity(document(answer.body), planned.state or {}), "")
        return response(200, state), written(planned, state, "")

    def _further_change(self, planned: PlannedObject) -> Outcome:
        """Change an object that has a planned state beside the one at the server."""
        subresource = self.target.subresource
        if self.request.method == "PUT" or subresource == "scale":
            answer = self.send(as_dry_run(self.request))
            return self._changed(planned, answer) if is_success(answer) else (answer, None)
        if content_type(self.request) == APPLY:
            answer = self.send(as_dry_run(self.request))
            if not is_success(answer):
                return answer, None
            state = applied(planned, document(answer.body), subresource)
            return response(200, state), written(planned, state, subresource)
        try:
            wanted = locally(planned.state or {}, self.request, subresource)
        except PatchFailed as error:
            return refusal(422, "Invalid", str(error)), None
        patch = cumulative(planned, wanted, subresource)
        answer = self.send(as_dry_run(as_merge_patch(self.request, patch)))
        if answer.status in _FORBIDDEN:
            return self._changed_here(planned, BlindSpot.UNCHECKED, "a write that builds on a planned one was refused")
        return self._changed(planned, answer) if is_success(answer) else (answer, None)

    # Deletions and other subresources.

    def _part(self, planned: PlannedObject | None) -> Outcome:
        if planned is not None and planned.state is None:
            return absent(self.target.plural, self.target.name), None
        match self.target.subresource:
            case "eviction":
                return self._delete(planned)
            case "binding":
                return self._bind(planned)
        return self.send(as_dry_run(self.request)), None

    def _bind(self, planned: PlannedObject | None) -> Outcome:
        change = {"spec": {"nodeName": (document(self.request.body).get("target") or {}).get("name")}}
        if planned is not None and planned.is_only_planned:
            after = written(planned, merge_patched(planned.state or {}, change), "binding")
            return done(201), after.with_blind(
                BlindSpot.UNCHECKED, f"a write {_NEVER_SENT}: the server did not check it"
            )
        live = self._live() if planned is None else planned.live
        answer = self.send(as_dry_run(self.request))
        if not is_success(answer):
            return answer, None
        before = planned or PlannedObject(self.target.named(self.target.name), live, live)
        return answer, written(before, merge_patched(before.state or {}, change), "binding")

    def _delete(self, planned: PlannedObject | None) -> Outcome:
        if planned is not None and planned.is_only_planned:
            return done(200), self._deleted(planned, {})
        live = self._live() if planned is None else planned.live
        answer = self.send(as_dry_run(self.request))
        before = planned or PlannedObject(self.target.named(self.target.name), live, live)
        if not is_success(answer):
            if live is not None and (spot := _webhook(answer)):
                return done(200), self._deleted(before, {}).with_blind(*spot)
            return answer, None
        return answer, self._deleted(before, document(answer.body))

    def _deleted(self, planned: PlannedObject, answer: Object) -> PlannedObject:
        state = after_deletion(planned.state or {}, answer, timestamp(self.host.now()))
        after = attrs.evolve(planned, state=state)
        return after if planned.is_only_planned else after.with_blind(
            BlindSpot.COLLECTION, "objects that it owns or contains go with it, and are not listed"
        )  # fmt: skip

    # The state at the server, and refusals.

    def _live(self) -> Object | None:
        """Return the object as the server has it; None if there is none, and nothing of it if it may not be read."""
        headers = {name: value for name, value in self.request.headers.items() if name == "user-agent"}
        path = self.target.named(self.target.name).path
        answer = self.send(HTTPRequest("GET", path, (), {**headers, "accept": "application/json"}))
        if answer.status == 404:
            return None
        return document(answer.body) if is_success(answer) else {}

    def _refused(self, planned: PlannedObject) -> HTTPResponse | None:
        """Return the refusal of a write whose uid or version is not that of the planned state; None for others."""
        body = document(self.request.body)
        body = body if isinstance(body, dict) else {}
        asked = body.get("preconditions") if self.request.method == "DELETE" else meta_of(body)
        known = meta_of(planned.state or {})
        for name in ("uid", "resourceVersion"):
            if (value := (asked or {}).get(name)) and value != known.get(name):
                return refusal(409, "Conflict", f"{self.target.plural} {self.target.name!r} has another {name}")
        return None


def _webhook(answer: HTTPResponse) -> tuple[BlindSpot, str] | None:
    name = webhook_without_dry_runs(answer)
    return (BlindSpot.WEBHOOK, f"the webhook {name} has side effects and refuses dry runs") if name else None

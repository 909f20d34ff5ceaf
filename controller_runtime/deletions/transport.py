# SPDX-License-Identifier: Apache-2.0
"""A transport that sends no deletion beyond the budgets of its manager."""

from __future__ import annotations

import json
import math
from typing import Any

from apimachinery.host import Host
from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.objects import ObjectKey
from controller_runtime.api.builtin_resources import CONFIG_MAPS
from controller_runtime.api.resources import NAMESPACES
from controller_runtime.client.client import Client
from controller_runtime.client.transport import Transport, TransportWrapper
from controller_runtime.core.planning import is_planning
from controller_runtime.crd.definitions import DEFINITIONS
from controller_runtime.deletions.budget import DeletionBudget, DeletionBudgetExceeded
from controller_runtime.deletions.limits import DeletionLimits
from controller_runtime.deletions.looking import Looking
from controller_runtime.deletions.record import Want
from controller_runtime.deletions.requests import CONTAINERS, Deletion, Takes, deletion_of, is_last
from controller_runtime.deletions.window import WantedDeletions

_PAGE = 10_000
"""Objects of one collection that are counted for its deletion; of more it is not known how many."""

_FORBIDDEN, _NOT_FOUND = 403, 404


class BudgetTransport(TransportWrapper):
    """A `transport.Transport` that reserves each deletion of a kind with a budget before sending it.

    It finds out what a request would delete, reserves the number in the record, and sends the request so that it cannot
    delete more: a collection with that limit, and an object only with the same uid (unless its options are in the query
    alone). With that precondition, a further DELETE of an object that is being deleted already is not counted. A
    deletion of the record is refused. Other requests pass unchanged, and so do all requests while there is no budget.

    Args:
        host: The source of the time.
        inner: Carries all requests, including those of the record, so that the same limits apply to them.
        limits: The budgets.
        namespace: The namespace to which the manager is limited, in which objects are counted; empty for all
            namespaces.

    Raises:
        DeletionBudgetExceeded: Raised by `request`; nothing was sent then.

    Threads: any.
    """

    def __init__(self, host: Host, inner: Transport, limits: DeletionLimits, namespace: str) -> None:
        super().__init__(inner)
        self._limits, self._namespace = limits, namespace
        self._client = Client(host, inner)

    def request(self, request: HTTPRequest, deadline: float) -> HTTPResponse:
        budgets = self._limits.budgets
        deletion = deletion_of(request, budgets) if budgets and not is_planning() else None  # a plan is dry runs
        if deletion is None:
            return self.inner.request(request, deadline)
        looking = Looking(self.inner, request, deadline)
        return (self._collection if deletion.takes is Takes.COLLECTION else self._object)(looking, deletion)

    def _object(self, looking: Looking, deletion: Deletion) -> HTTPResponse:
        request = looking.request
        if deletion.kind == str(CONFIG_MAPS):
            self._keep_record(request, ObjectKey(deletion.name, deletion.namespace))
        budget, inside = self._limits.budgets.get(deletion.kind), self._inside(deletion)
        if budget is None and not inside:
            return self.inner.request(request, looking.deadline)
        answer, metadata = looking.object(deletion.path)
        if answer.status == _NOT_FOUND and deletion.takes is Takes.LAST_FINALIZER:  # an apply makes it
            return self.inner.request(request, looking.deadline)
        if answer.status not in (200, _FORBIDDEN):  # there is nothing to delete, or the server is in trouble
            return answer
        is_ending = "deletionTimestamp" in metadata
        if deletion.takes is Takes.LAST_FINALIZER:
            inside = []
            if metadata and not (is_ending and is_last(metadata, request)):
                return self.inner.request(request, looking.deadline)
        elif metadata and not (request.query and not request.body):
            request = only(request, metadata["uid"])
            if is_ending and request.method == "DELETE":
                return self.inner.request(request, looking.deadline)
        wants = [
            self._want(looking, each, WantedDeletions(count=number))
            for each, path in inside
            if (number := looking.count(path)) != 0
        ]
        if budget is not None:
            wants.append(
                self._want(
                    looking, budget, WantedDeletions(uid=metadata["uid"]) if metadata else WantedDeletions(count=1)
                )
            )
        self._reserve(looking, wants, deletion)
        return self.inner.request(request, looking.deadline)

    def _collection(self, looking: Looking, deletion: Deletion) -> HTTPResponse:
        request, budgets, path = looking.request, self._limits.budgets, deletion.path
        record = self._limits.key
        is_near = deletion.kind == str(CONFIG_MAPS) and deletion.namespace == record.namespace
        if is_near and looking.selects(path, record.name):
            self._keep_record(request, record)
        if deletion.kind in CONTAINERS:
            self._reserve(
                looking, [self._want(looking, each, WantedDeletions(count=None)) for each in budgets.values()], deletion
            )
        elif deletion.kind in budgets:
            answer, number = looking.selected(path, _PAGE)
            if number == 0:  # as a server answers the deletion of a collection: with the objects that it deleted
                return answer
            self._reserve(
                looking, [self._want(looking, budgets[deletion.kind], WantedDeletions(count=number))], deletion
            )
            if number is not None:
                query = (*(pair for pair in request.query if pair[0] != "limit"), ("limit", str(number)))
                request = request._replace(query=query)
        return self.inner.request(request, looking.deadline)

    def _inside(self, deletion: Deletion) -> list[tuple[DeletionBudget, str]]:
        """Return the budgets of what is in a namespace or of a definition, each with the path of the collection."""
        found = []
        for name, budget in self._limits.budgets.items():
            if deletion.kind == str(NAMESPACES) and budget.kind.namespaced:
                found.append((budget, budget.kind.path(deletion.name)))
            elif deletion.kind == str(DEFINITIONS) and deletion.name == name:
                found.append((budget, budget.kind.path()))
        return found

    def _want(self, looking: Looking, budget: DeletionBudget, wanted: WantedDeletions) -> Want:
        path = budget.kind.path(self._namespace if budget.kind.namespaced else "")
        return Want(budget, wanted, lambda: looking.count(path))

    def _reserve(self, looking: Looking, wants: list[Want], deletion: Deletion) -> None:
        if not wants:
            return
        request = looking.request
        refusal = self._limits.record(self._client).reserve(wants, looking.deadline)
        if refusal is not None:
            raise self._limits.refused(refusal, f"{request.method} {request.path}", deletion.path)
        numbers = {want.budget.name: want.wanted.number for want in wants}
        known = {name: 0 if math.isinf(number) else int(number) for name, number in numbers.items()}
        self._limits.allowed(known, deletion.path)

    def _keep_record(self, request: HTTPRequest, key: ObjectKey) -> None:
        if key == self._limits.key:
            raise DeletionBudgetExceeded(
                f"{request.method} {request.path} was not sent: the program's deletion budgets are kept there"
            )


def only(request: HTTPRequest, uid: Any) -> HTTPRequest:
    """Return a deletion or an eviction with a precondition, so that the server refuses it if the uid differs."""
    document: Any = {"kind": "DeleteOptions", "apiVersion": "v1"}
    if request.body:
        document = json.loads(request.body)
    options = document if request.method == "DELETE" else document.get("deleteOptions") or {}
    preconditions = options.get("preconditions") or {}
    if request.method not in ("DELETE", "POST") or preconditions.get("uid"):
        return request
    options = {**options, "preconditions": {**preconditions, "uid": uid}}
    body = options if request.method == "DELETE" else {**document, "deleteOptions": options}
    headers = {**request.headers, "content-type": "application/json"}
    return request._replace(headers=headers, body=json.dumps(body).encode())

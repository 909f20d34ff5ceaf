# SPDX-License-Identifier: Apache-2.0
"""Admission of a write: the chain of steps, and around the write the count of quotas and the addresses of services."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext

from controller_runtime.apiserver.admission.chain import Chain
from controller_runtime.apiserver.admission.resource_quota import ResourceQuota
from controller_runtime.apiserver.admission.step import Attributes, Operation, Step
from controller_runtime.apiserver.kinds.kind import Kind
from controller_runtime.apiserver.kinds.registry import SERVICE
from controller_runtime.apiserver.routes import Route
from controller_runtime.apiserver.rules.rules import Object
from controller_runtime.apiserver.storage.storage import Storage
from controller_runtime.apiserver.writes.addresses import Addresses
from controller_runtime.apiserver.writes.quota_counts import QuotaCounts
from controller_runtime.core.host import Host

Check = Callable[[Object], None]
"""Refuses an object that has passed the rules of its kind, or returns."""


class Admitting:
    """Admits the writes of one server.

    Args:
        host: Provides the time and locks.
        storage: The objects.
        enabled: The names of steps to switch on that are off by default.
        disabled: The names of steps to switch off.

    Raises:
        UsageError: A name is unknown, or is given twice.

    Threads: any.
    """

    def __init__(
        self, host: Host, storage: Storage, enabled: Collection[str] = (), disabled: Collection[str] = ()
    ) -> None:
        self._addresses = Addresses(host, storage)
        self._chain = Chain(storage, enabled, disabled)
        self._quotas = QuotaCounts(host, storage, is_on=self._chain.has(ResourceQuota.name))

    def create(self, kind: Kind, namespace: str, obj: Object) -> tuple[Object, Check | None]:
        """Return a new object as the steps have left it, and the check of what is made of it, if there is one.

        Raises:
            StatusError: 403 or 404, a step refuses the write.
        """
        steps = self._chain.steps(kind, Operation.CREATE, "")
        return _admitted(steps, Attributes(Operation.CREATE, kind, namespace, obj)) if steps else (obj, None)

    def update(self, route: Route, old: Object, obj: Object) -> tuple[Object, Check | None]:
        """Return a changed object as the steps have left it, and the check of what is made of it, if there is one.

        Raises:
            StatusError: 403, a step refuses the write.
        """
        kind, part = route.kind, route.subresource
        steps = self._chain.steps(kind, Operation.UPDATE, part)
        if not steps:
            return obj, None
        return _admitted(steps, Attributes(Operation.UPDATE, kind, route.namespace, obj, old, part))

    def written(
        self,
        kind: Kind,
        namespace: str,
        obj: Object,
        old: Object | None = None,
        subresource: str = "",
        *,
        dry_run: bool = False,
    ) -> AbstractContextManager[Object]:
        """Return an object with what is given to one at a time, while the context lasts: the object is stored in it.

        Raises:
            StatusError: 422, a service asks for an address that it cannot get.
        """
        if (kind is not SERVICE or subresource) and not self._quotas.concern(kind, namespace, dry_run=dry_run):
            return nullcontext(obj)
        return self._written(kind, namespace, obj, old, subresource, dry_run)

    @contextmanager
    def _written(
        self, kind: Kind, namespace: str, obj: Object, old: Object | None, subresource: str, dry_run: bool
    ) -> Iterator[Object]:
        with (
            self._quotas.counted(kind, namespace, dry_run=dry_run),
            self._addresses.claimed(kind, obj, old, subresource, dry_run=dry_run) as given,
        ):
            yield given

    def counted(self, kind: Kind, namespace: str, *, dry_run: bool = False) -> AbstractContextManager[None]:
        """See `QuotaCounts.counted`."""
        return self._quotas.counted(kind, namespace, dry_run=dry_run)


def _admitted(steps: Sequence[Step], attributes: Attributes) -> tuple[Object, Check]:
    for step in steps:
        obj = step.admit(attributes)
        if obj is not attributes.obj:
            attributes = attributes._replace(obj=obj)

    def check(made: Object) -> None:
        for step in steps:
            step.validate(attributes._replace(obj=made))

    return attributes.obj, check

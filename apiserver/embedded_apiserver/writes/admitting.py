# SPDX-License-Identifier: Apache-2.0
"""The admission of a write: the chain of steps, and around the write the quotas and the addresses of services."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial

from apimachinery.host import Host
from embedded_apiserver.admission.chain import WEBHOOKS, Awake, Chain
from embedded_apiserver.admission.resource_quota import ResourceQuota
from embedded_apiserver.admission.step import Asked, Attributes, Operation, Rounds, Step, Surroundings
from embedded_apiserver.custom import forms
from embedded_apiserver.groups.all import KINDS
from embedded_apiserver.groups.certificates.kinds import SIGNING_REQUEST
from embedded_apiserver.groups.core.kinds import SERVICE
from embedded_apiserver.kinds.kind import Kind, Kinds
from embedded_apiserver.kinds.release import NEWEST, Release
from embedded_apiserver.objects import Object
from embedded_apiserver.routes import Route
from embedded_apiserver.status import StatusError
from embedded_apiserver.storage.storage import Storage
from embedded_apiserver.webhooks.caller import Caller, Nowhere
from embedded_apiserver.writes.address_records import AddressRecords
from embedded_apiserver.writes.addresses import Addresses
from embedded_apiserver.writes.commits import UNCHECKED, Check
from embedded_apiserver.writes.managed import completed
from embedded_apiserver.writes.quota_counts import QuotaCounts
from embedded_apiserver.writes.warned import of_rules


class Admitting:
    """The admission of all writes: runs the admission steps, updates quotas, and assigns addresses to services.

    Args:
        host: The source of time and locks.
        storage: The objects.
        enabled: The names of admission steps to switch on that are off by default.
        disabled: The names of admission steps to switch off.
        caller: Sends requests to webhooks; None leaves out the steps with webhooks.
        kinds: A function that returns the currently served kinds.
        release: The Kubernetes release that the server serves.
        records: The `IPAddress` objects of services; None for a server that creates none.

    Raises:
        UsageError: A name is unknown, or is given twice.

    Threads: any.
    """

    def __init__(
        self,
        host: Host,
        storage: Storage,
        enabled: Collection[str] = (),
        disabled: Collection[str] = (),
        *,
        caller: Caller | None = None,
        kinds: Callable[[], Kinds] = lambda: KINDS,
        release: Release = NEWEST,
        records: AddressRecords | None = None,
    ) -> None:
        self._addresses = Addresses(host, storage, records)
        if caller is None:
            disabled = {*disabled, *WEBHOOKS}
            enabled = {*enabled} - {*WEBHOOKS}
        around = Surroundings(host, kinds, release, caller or Nowhere())
        self._chain = Chain(storage, around, enabled, disabled)
        self._quotas = QuotaCounts(host, storage, is_on=self._chain.has(ResourceQuota.name))

    def create(self, kind: Kind, namespace: str, obj: Object, asked: Asked) -> tuple[Object, Check | None]:
        """Return `obj`, which is to be created, as the mutating admission steps leave it.

        The second result is a function that lets validating steps check the final object, and then updates the usage
        in quotas; None if no admission step and no quota concerns the object.

        Raises:
            StatusError: A step refuses the write.
        """
        obj = completed(kind, _requested_by(asked, obj) if kind == SIGNING_REQUEST else obj)
        steps = self._chain.steps(kind, Operation.CREATE, "")
        if steps is None and not self._quotas.concern(kind, namespace, dry_run=asked.dry_run):
            return obj, None
        return self._admitted(steps, Attributes(Operation.CREATE, kind, namespace, asked, obj))

    def update(self, route: Route, old: Object, obj: Object, asked: Asked) -> tuple[Object, Check | None]:
        """Return `obj`, the new state of `old` in an update, as the mutating admission steps leave it.

        The second result is a function that lets validating steps check the final object, and then updates the usage
        in quotas; None if no admission step and no quota concerns the object.

        Raises:
            StatusError: A step refuses the write.
        """
        kind, part = route.kind, route.subresource
        steps = self._chain.steps(kind, Operation.UPDATE, part)
        if steps is None and not self._quotas.concern(kind, route.namespace, dry_run=asked.dry_run):
            return obj, None
        sent = None if route.sent == kind else route.sent
        return self._admitted(steps, Attributes(Operation.UPDATE, kind, route.namespace, asked, obj, old, part, sent))

    def create_part(self, route: Route, sent: Object, asked: Asked) -> Object:
        """Return the object of a POST to a subresource, such as an eviction, after the admission steps.

        Raises:
            StatusError: A step refuses the write.
        """
        steps = self._chain.steps(route.kind, Operation.CREATE, route.subresource)
        if steps is None:
            return sent
        named = {**sent, "metadata": {**sent["metadata"], "name": route.name}}
        attributes = Attributes(
            Operation.CREATE, route.kind, route.namespace, asked, named, None, route.subresource, route.sent
        )
        attributes = _changed(steps.changing, attributes)
        for step in (*steps.checking, *steps.counting):
            step.validate(attributes)
        return attributes.obj

    def delete(self, route: Route, old: Object, asked: Asked) -> None:
        """Let the admission steps check the deletion of an object.

        Args:
            route: The kind, namespace and name of the object.
            old: The stored object.
            asked: The user and the options of the request.

        Raises:
            StatusError: A step refuses the deletion.
        """
        kind = route.kind
        if steps := self._chain.steps(kind, Operation.DELETE, ""):
            shown = forms.shown(kind, old)
            attributes = Attributes(Operation.DELETE, kind, route.namespace, asked, {}, shown, rounds=Rounds())
            for step in steps.changing:
                step.admit(attributes)
            for step in (*steps.checking, *steps.counting):
                step.validate(attributes)

    def addressed(
        self, route: Route, obj: Object, old: Object | None, *, dry_run: bool
    ) -> AbstractContextManager[Object] | None:
        """Return a context manager in which a service has reserved addresses; store the service inside it. None for
        other kinds, and for subresources of a service.

        The context manager yields the service with its addresses. See `Addresses.claimed`.

        Raises:
            StatusError: 422, when the context is entered: a requested address, port or IP family is not available.
        """
        if route.kind != SERVICE or route.subresource:
            return None
        return self._addresses.claimed(route.namespace, obj, old, dry_run=dry_run)

    def counted(self, kind: Kind, namespace: str, *, dry_run: bool = False) -> AbstractContextManager[None]:
        """Return a context manager that updates the usage in the ResourceQuotas of the namespace after the writes
        inside it. Meanwhile no other counted write is possible.

        Args:
            kind: The kind of the written object.
            namespace: The namespace of the object.
            dry_run: True if the write is only a dry run, which changes no quota.
        """
        return self._quotas.counted(kind, namespace, dry_run=dry_run)

    def _admitted(self, steps: Awake | None, attributes: Attributes) -> tuple[Object, Check]:
        if steps is None:
            return attributes.obj, partial(self._checked, (), (), attributes)
        if steps.changing:
            attributes = _changed(steps.changing, attributes)
        return attributes.obj, partial(self._checked, steps.checking, steps.counting, attributes)

    def _checked(
        self, checking: Sequence[Step], counting: Sequence[Step], attributes: Attributes, made: Object
    ) -> AbstractContextManager[None]:
        """Run the validating steps for the final object; a `Check`. Webhooks are called here, with no lock held.

        The warnings of the rules come before those of the steps, as on a real API server.
        """
        # Not by `_replace`, which takes several times as long: each write of an object passes here.
        operation, kind, namespace, asked, obj, old, part, sent, rounds = attributes
        attributes = Attributes(operation, kind, namespace, asked, made, old, part, sent, rounds)
        before = len(asked.warnings)
        try:
            for step in checking:
                step.validate(attributes)
        except StatusError:
            asked.warnings[before:before] = of_rules(kind, part, obj, old, made)
            raise
        if len(asked.warnings) > before:
            asked.warnings[before:before] = of_rules(kind, part, obj, old, made)
        if not counting and not self._quotas.concern(kind, namespace, dry_run=asked.dry_run):
            return UNCHECKED
        return self._counted(counting, attributes)

    @contextmanager
    def _counted(self, steps: Sequence[Step], attributes: Attributes) -> Iterator[None]:
        with self._quotas.counted(attributes.kind, attributes.namespace, dry_run=attributes.dry_run):
            for step in steps:
                step.validate(attributes)
            yield


def _requested_by(asked: Asked, obj: Object) -> Object:
    """Return a request for a certificate with the user who asks for it, whatever the client says."""
    user = asked.user.info()
    spec = {name: value for name, value in (obj.get("spec") or {}).items() if name not in _REQUESTER}
    return {**obj, "spec": {**spec, **user}}


_REQUESTER = ("username", "uid", "groups", "extra")


def _changed(steps: Sequence[Step], attributes: Attributes) -> Attributes:
    """Return the attributes with the object as the steps have left it, after one round or two."""
    rounds = Rounds()
    attributes = attributes._replace(rounds=rounds)
    while True:
        for step in steps:
            obj = step.admit(attributes)
            if obj is not attributes.obj:
                attributes = attributes._replace(obj=obj)
        if rounds.is_second or not rounds.is_second_wanted:
            return attributes
        rounds.is_second = True

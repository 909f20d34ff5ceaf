# SPDX-License-Identifier: Apache-2.0
"""Deleting: at once, or marked and left to whoever must finish first.

An object waits for its finalizers, a running pod for its grace, a namespace for its
content. Marking is a write like any other; the last write of what waits removes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from controller_runtime.api.objects import timestamp
from controller_runtime.apiserver.kinds.registry import DEFINITION, NAMESPACE, Kind
from controller_runtime.apiserver.options import DeleteOptions, ListOptions, Preconditions
from controller_runtime.apiserver.reads.listing import Page, page_of
from controller_runtime.apiserver.reads.selection import Selection
from controller_runtime.apiserver.routes import Route
from controller_runtime.apiserver.rules.ruleset import rules_of
from controller_runtime.apiserver.rules.strategy import deletion_grace, is_finished
from controller_runtime.apiserver.status import StatusError, forbidden, not_found, precondition_failed
from controller_runtime.apiserver.storage.storage import Storage
from controller_runtime.apiserver.storage.stored import Draft, Stored
from controller_runtime.core.host import Clock

_ORPHAN, _FOREGROUND = "orphan", "foregroundDeletion"
_LONGEST_GRACE = 100 * 365 * 86400  # seconds; the calendar ends somewhere
# Deleted by other code in a real server, which counts neither seconds of grace nor a generation.
_ENDED_BY_THE_SERVER = (NAMESPACE, DEFINITION)
_KEPT_NAMESPACES = ("default", "kube-system", "kube-public")

Object = Mapping[str, Any]


class Deleted(NamedTuple):
    """What became of an object.

    Attributes:
        raw: Its last state, or its present one if it is left.
        uid: Its uid.
        gone: Whether it has been removed.
    """

    raw: bytes
    uid: str
    gone: bool


class Deletion:
    """The deletion of objects of all kinds, under the rules of the API.

    Every method raises `StatusError` for what is refused.

    Threads: any.
    """

    def __init__(self, clock: Clock, storage: Storage) -> None:
        self._clock = clock
        self._storage = storage

    def delete(self, route: Route, options: DeleteOptions) -> Deleted:
        """DELETE of one object."""
        kind = route.kind
        if kind is NAMESPACE and route.name in _KEPT_NAMESPACES:
            raise forbidden(kind, route.name, "this namespace may not be deleted")
        while True:
            current = self._storage.get(kind.resource, route.key)
            if current is None:
                raise not_found(kind, route.name)
            old = current.decode()
            check_preconditions(kind, route.name, old, options.preconditions)
            deleted = self._step(kind, current, old, options)
            if deleted is not None:
                return deleted

    def delete_collection(self, route: Route, listed: ListOptions, options: DeleteOptions) -> Page:
        """DELETE of a collection: each selected object by itself; gives them as they were listed."""
        selection = Selection(route.kind, route.namespace, listed.labels, listed.fields)
        page = page_of(self._storage, route.kind.resource, selection, listed)
        for item in page.items:
            try:
                self.delete(route._replace(namespace=item.namespace, name=item.name), options)
            except StatusError as error:
                if error.code != 404:  # somebody else was faster, which is as good
                    raise
        return page

    def _step(self, kind: Kind, current: Stored, old: Object, options: DeleteOptions) -> Deleted | None:
        """One try: mark the object if it has to wait, remove it if not; None if somebody else was faster."""
        uid = old["metadata"]["uid"]
        marked = mark(kind, old, options, self._clock.now())
        if options.dry_run:
            raw = Draft.of(marked).at(current.version)
            return Deleted(raw, uid, is_finished(kind, marked))
        if marked != old and (not is_finished(kind, marked) or kind.deletes_with_object):
            # Watchers are shown why the object goes, where something may wait for it.
            change = self._storage.commit(kind.resource, current.key, current, Draft.of(marked))
            if change is None or change.new is None:
                return None
            current = change.new
        if not is_finished(kind, marked):
            return Deleted(current.raw, uid, gone=False)
        change = self._storage.commit(kind.resource, current.key, current, None)
        return Deleted(current.raw_at(change.version), uid, gone=True) if change else None


def mark(kind: Kind, old: Object, options: DeleteOptions, now: datetime) -> Object:
    """`old` as a deletion leaves it; equal to `old` if that changes nothing.

    An object that is marked already keeps its deletionTimestamp: its grace can only
    become shorter.
    """
    metadata = dict(old["metadata"])
    if kind is not DEFINITION:  # whose objects go first, whatever is asked for
        _set_finalizers(metadata, options)
    grace = min(deletion_grace(kind, old, options.grace_period_seconds), _LONGEST_GRACE)
    if "deletionTimestamp" not in metadata:
        metadata["deletionTimestamp"] = timestamp(now + timedelta(seconds=grace))
        if kind not in _ENDED_BY_THE_SERVER:
            metadata["deletionGracePeriodSeconds"] = grace
            if metadata.get("generation", 0) > 0:
                metadata["generation"] += 1
    elif options.grace_period_seconds is not None and grace < (left := metadata.get("deletionGracePeriodSeconds", 0)):
        ends = datetime.fromisoformat(metadata["deletionTimestamp"])
        metadata["deletionTimestamp"] = timestamp(ends - timedelta(seconds=left - grace))
        metadata["deletionGracePeriodSeconds"] = grace
    marked = {**old, "metadata": metadata}
    return rules_of(kind).on_delete(marked, now)


def _set_finalizers(metadata: dict[str, Any], options: DeleteOptions) -> None:
    """Add and remove the finalizers that say what happens to dependents; without a wish they stay as they are."""
    match options.propagation_policy, options.orphan_dependents:
        case (None, None):
            return
        case ("Orphan", _) | (None, True):
            wanted = [_ORPHAN]
        case ("Foreground", _):
            wanted = [_FOREGROUND]
        case _:
            wanted = []
    others = [one for one in metadata.get("finalizers", ()) if one not in (_ORPHAN, _FOREGROUND)]
    metadata["finalizers"] = others + wanted
    if not metadata["finalizers"]:
        del metadata["finalizers"]


def check_preconditions(kind: Kind, name: str, old: Object, wanted: Preconditions) -> None:
    """Refuse to go on with an object that is no longer what it must be.

    Raises:
        StatusError: 409.
    """
    metadata = old["metadata"]
    if wanted.uid is not None and wanted.uid != metadata["uid"]:
        raise precondition_failed(kind, name, "UID", wanted.uid, metadata["uid"])
    version = metadata["resourceVersion"]
    if wanted.resource_version is not None and wanted.resource_version != version:
        raise precondition_failed(kind, name, "ResourceVersion", wanted.resource_version, version)

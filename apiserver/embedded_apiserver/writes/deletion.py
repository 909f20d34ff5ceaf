# SPDX-License-Identifier: Apache-2.0
"""Deletion: an object is removed at once, or marked as terminating until nothing delays its removal.

Finalizers delay it, for a running pod the grace period, and for a namespace the deletion of its content. Marking is an
update like any other. The update after which nothing delays the removal removes the object.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from apimachinery.host import Clock, Host
from apimachinery.objects import timestamp
from embedded_apiserver.admission.namespace_lifecycle import PERMANENT
from embedded_apiserver.admission.step import Asked
from embedded_apiserver.groups.core.kinds import NAMESPACE
from embedded_apiserver.groups.definitions.kinds import DEFINITION
from embedded_apiserver.groups.pods.kinds import POD
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.list_options import ListOptions
from embedded_apiserver.objects import part
from embedded_apiserver.options import DeleteOptions, Preconditions
from embedded_apiserver.reads.listing import Page, page_of
from embedded_apiserver.reads.selection import Selection
from embedded_apiserver.routes import Route
from embedded_apiserver.status import StatusError, forbidden, not_found, precondition_failed
from embedded_apiserver.storage.storage import Storage
from embedded_apiserver.storage.stored import Draft, Stored
from embedded_apiserver.writes.admitting import Admitting
from embedded_apiserver.writes.strategy import deletion_grace, is_finished

_ORPHAN, _FOREGROUND = "orphan", "foregroundDeletion"
# Seconds. A longer grace period could end after the year 9999, which timestamps cannot express.
_LONGEST_GRACE = 100 * 365 * 86400
# A real server deletes these by other code, which sets no grace period and does not increase the generation.
_ENDED_BY_THE_SERVER = (NAMESPACE, DEFINITION)

# Their deletion is an update first, so that watches see the deletionTimestamp although there is nothing to wait for.
_MARKED_FIRST = (POD, NAMESPACE)

Object = Mapping[str, Any]


class Deleted(NamedTuple):
    """The result of a deletion.

    Attributes:
        raw: The object's JSON: its last state if it was removed, otherwise its current state.
        uid: The object's uid.
        gone: True if the object was removed, or in a dry run would have been; False if it is only marked as
            terminating.
    """

    raw: bytes
    uid: str
    gone: bool


class Deletion:
    """Deletes objects of all kinds, under the rules of the API.

    Each method raises `StatusError` for a refused request.

    Args:
        host: The source of time.
        storage: The objects.
        admitting: The admission of the server, which also keeps the usage in quotas; None for one with the default
            steps.

    Threads: any.
    """

    def __init__(self, host: Host, storage: Storage, admitting: Admitting | None = None) -> None:
        self._clock: Clock = host
        self._storage = storage
        self._admitting = admitting or Admitting(host, storage)

    def delete(self, route: Route, options: DeleteOptions, asked: Asked | None = None) -> Deleted:
        """Delete one object. If another write changes the object meanwhile, the deletion is tried again.

        `asked` has the user and the options of the request; None for a deletion by the server itself, which skips
        admission.
        """
        kind = route.kind
        if kind == NAMESPACE and route.name in PERMANENT:
            raise forbidden(kind, route.name, "this namespace may not be deleted")
        while True:
            current = self._storage.get(kind.resource, route.key)
            if current is None:
                raise not_found(kind, route.name)
            old = current.decode()
            check_preconditions(kind, route.name, old, options.preconditions)
            if asked is not None:
                self._admitting.delete(route, old, asked)
            with self._admitting.counted(kind, route.namespace, dry_run=bool(options.dry_run)):
                deleted = self._step(kind, current, old, options)
            if deleted is not None:
                return deleted

    def delete_collection(
        self, route: Route, listed: ListOptions, options: DeleteOptions, asked: Asked | None = None
    ) -> Page:
        """Delete each object on the page that `listed` requests, one by one, and return the page as it was before."""
        selection = Selection.of(route.kind, route.namespace, listed)
        page = page_of(self._storage, route.kind, selection, listed)
        for item in page.items:
            try:
                self.delete(route._replace(namespace=item.namespace, name=item.name), options, asked)
            except StatusError as error:
                if error.code != 404:  # another client deleted it since the list
                    raise
        return page

    def _step(self, kind: Kind, current: Stored, old: Object, options: DeleteOptions) -> Deleted | None:
        """Mark the object if it has to wait, otherwise remove it; return None if another write came first."""
        uid = old["metadata"]["uid"]
        marked = mark(kind, old, options, self._clock.now())
        ends, is_marked = is_finished(kind, marked), kind in _MARKED_FIRST and _end_of(marked) != _end_of(old)
        if options.dry_run:
            shown = marked if not ends or is_marked else old
            return Deleted(Draft.of(shown).at(current.version), uid, ends)
        if marked != old and (not ends or is_marked):
            change = self._storage.commit(kind.resource, current.key, current, Draft.of(marked))
            if change is None or change.new is None:
                return None
            current = change.new
        if not ends:
            return Deleted(current.raw, uid, gone=False)
        change = self._storage.commit(kind.resource, current.key, current, None)
        return Deleted(current.raw_at(change.version), uid, gone=True) if change else None


def mark(kind: Kind, old: Object, options: DeleteOptions, now: datetime) -> Object:
    """Return `old` marked as terminating; equal to `old` if the deletion changes nothing.

    If `old` is already terminating, a shorter grace period replaces its deletionTimestamp, a longer one does not.
    """
    metadata = dict(old["metadata"])
    if kind == NAMESPACE and "deletionTimestamp" in metadata and part(old, "spec").get("finalizers"):
        return old  # until its content is gone, another deletion says nothing new
    grace = min(deletion_grace(kind, old, options.grace_period_seconds), _LONGEST_GRACE)
    left = metadata.get("deletionGracePeriodSeconds")
    shortens = options.grace_period_seconds is not None and grace < (left or 0)
    is_pending = kind == POD and bool(left) and "deletionTimestamp" in metadata
    # The objects of a definition are deleted first, whatever propagation policy is asked for, and a pod that is ending
    # keeps its policy unless it shall end sooner.
    if kind != DEFINITION and (shortens or not is_pending):
        _set_finalizers(kind, metadata, options)
    if "deletionTimestamp" not in metadata:
        metadata["deletionTimestamp"] = timestamp(now + timedelta(seconds=grace))
        if kind not in _ENDED_BY_THE_SERVER:
            metadata["deletionGracePeriodSeconds"] = grace
            if metadata.get("generation", 0) > 0:
                metadata["generation"] += 1
    elif shortens:
        ends = datetime.fromisoformat(metadata["deletionTimestamp"])
        metadata["deletionTimestamp"] = timestamp(ends - timedelta(seconds=(left or 0) - grace))
        metadata["deletionGracePeriodSeconds"] = grace
    marked = {**old, "metadata": metadata}
    return kind.policy.deleted(marked, now)


def _end_of(obj: Object) -> tuple[object, object]:
    metadata = obj["metadata"]
    return metadata.get("deletionTimestamp"), metadata.get("deletionGracePeriodSeconds")


def _set_finalizers(kind: Kind, metadata: dict[str, Any], options: DeleteOptions) -> None:
    """Set the finalizers that decide what happens to dependents; they are left alone if they decide so already."""
    before = metadata.get("finalizers", [])
    said = [one for one in before if one in (_ORPHAN, _FOREGROUND)]
    match options.propagation_policy, options.orphan_dependents:
        case _ if not kind.policy.dependents:
            wanted = []
        case ("Orphan", _) | (None, True):
            wanted = [_ORPHAN]
        case ("Foreground", _):
            wanted = [_FOREGROUND]
        case (None, None):
            wanted = said or ([_ORPHAN] if kind.policy.dependents == "Orphan" else [])
        case _:
            wanted = []
    if wanted == said:
        return
    metadata["finalizers"] = [one for one in before if one not in said] + wanted
    if not metadata["finalizers"]:
        del metadata["finalizers"]


def deletion_warnings(kind: Kind, options: DeleteOptions) -> list[str]:
    """Return the warnings for a deletion: pods of a job that is deleted without a propagation policy are not
    deleted.
    """
    has_policy = options.propagation_policy is not None or options.orphan_dependents is not None
    return [] if has_policy or not kind.orphaning else [kind.orphaning]


def check_preconditions(kind: Kind, name: str, old: Object, wanted: Preconditions) -> None:
    """Refuse a request whose preconditions the object `old` does not meet.

    Raises:
        StatusError: 409, the object has another uid or resourceVersion.
    """
    metadata = old["metadata"]
    if wanted.uid is not None and wanted.uid != metadata["uid"]:
        raise precondition_failed(kind, name, "UID", wanted.uid, metadata["uid"])
    version = metadata["resourceVersion"]
    if wanted.resource_version is not None and wanted.resource_version != version:
        raise precondition_failed(kind, name, "ResourceVersion", wanted.resource_version, version)

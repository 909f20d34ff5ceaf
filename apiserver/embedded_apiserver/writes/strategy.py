# SPDX-License-Identifier: Apache-2.0
"""The steps of a create, an update and a deletion that all kinds share.

Kubernetes calls this the strategy of a resource. Metadata that the server sets is never taken from the client. Fields
that a write to this path must not change are taken from the stored object. An object that breaks rules is refused with
all its errors at once. Every function is pure and does not modify its arguments.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from apimachinery.objects import timestamp
from embedded_apiserver import status
from embedded_apiserver.checks.metadata import metadata_causes, updated_metadata_causes
from embedded_apiserver.custom.forms import of_own_type
from embedded_apiserver.custom.objects import custom_checks
from embedded_apiserver.groups.core.kinds import NAMESPACE
from embedded_apiserver.groups.pods.kinds import POD
from embedded_apiserver.groups.pods.strategy import grace_of
from embedded_apiserver.kinds.checks import Checks
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.kinds.metadata import CLIENT_METADATA, DELETION_METADATA, METADATA_ORDER
from embedded_apiserver.objects import Object, part
from embedded_apiserver.typed.empty_lists import without_empty_lists
from embedded_apiserver.writes.generated_names import generated_name

_VERSION = re.compile(r"[0-9]{1,20}")  # 20 digits: those of the largest unsigned number of 64 bits
_METADATA = tuple((name, name in CLIENT_METADATA) for name in METADATA_ORDER)
_PARTS = ("metadata", "spec", "status")
_OTHER_NAMESPACE = "the namespace of the provided object does not match the namespace sent on the request"


def prepare_create(kind: Kind, obj: Object, *, namespace: str, now: datetime, uid: str, suffix: str) -> dict[str, Any]:
    """Return a new object in the form to be stored, except for its resourceVersion.

    Args:
        kind: The kind of the object.
        obj: The object, as returned by `decode`.
        namespace: The namespace in the request's path; empty for cluster-scoped kinds.
        now: The creationTimestamp.
        uid: A fresh random uid.
        suffix: The suffix for a generated name.

    Raises:
        StatusError: 400 if the object names another namespace, 422 if it breaks rules.
    """
    sent = obj["metadata"]
    check_namespace(obj, namespace if kind.namespaced else "")
    name = sent.get("name", "")
    if not name and (stem := sent.get("generateName")):
        name = generated_name(stem, suffix)
    elif not name and kind.policy.is_named_by_uid:
        name = f"{uid[:-1]}{'1' if uid.endswith('0') else '0'}"  # any that is free: a real server draws another uid
    # A real server takes a generation from the client, too; the rules of a kind that counts generations replace it.
    generation = {"generation": sent["generation"]} if "generation" in sent else {}
    owned = {"name": name, "uid": uid, "creationTimestamp": timestamp(now), **generation}
    owned |= {field: sent[field] for field in DELETION_METADATA if sent.get(field) is not None}
    if kind.namespaced:
        owned["namespace"] = namespace
    obj = without_empty_lists(kind, of_own_type(kind, name, obj))
    made = kind.policy.create({**kind.policy.stored_form(obj), "metadata": _metadata_of(owned, sent)})
    checks = _checks_of(kind)
    found = checks.new(made)
    if checks.before_metadata:
        status.check(kind.stored, name, found)
        found = ()
    causes = itertools.chain(metadata_causes(kind, made["metadata"]), found)
    status.check(kind.stored, name, causes)
    return _in_order(made)


def prepare_update(
    kind: Kind,
    old: Object,
    new: Object,
    *,
    subresource: str = "",
    now: datetime | None = None,
    told: list[str] | None = None,
) -> dict[str, Any]:
    """Return an updated object in the form to be stored, with the resourceVersion of `old`.

    The result equals `old` if the update changes nothing.

    Args:
        kind: The kind of the object.
        old: The stored object, with its resourceVersion.
        new: The object from the client, as returned by `decode` or `admit`.
        subresource: `status`, `finalize` (namespaces), or empty.
        now: The time of the write; None to set no times.
        told: A list to which warnings about errors that `old` already had are appended; None to drop them.

    Raises:
        StatusError: 400 if name or namespace differ, 409 if the version is stale, 500 if it is not a number, 422 if it
            is missing but required, the uid differs or rules are broken.
    """
    before, sent = old["metadata"], new["metadata"]
    name = before["name"]
    check_name(new, namespace=before.get("namespace", ""), name=name)
    _check_version(kind, before, new, subresource)
    new = without_empty_lists(kind, of_own_type(kind, name, new, subresource))
    policy, tolerated = kind.policy, [] if told is None else told
    made = policy.update(old, {**policy.stored_form(new), "metadata": _metadata_of(before, sent)}, subresource)
    if now is not None:
        made = policy.dated(old, made, now)
    causes = itertools.chain(
        updated_metadata_causes(kind, before, made["metadata"], sent, subresource),
        _checks_of(kind, tolerated.append).causes_of_change(old, made, subresource),
    )
    try:
        status.check(kind.stored, name, causes)
    except status.StatusError as error:
        error.warnings = [*error.warnings, *tolerated]
        raise
    return _in_order(made)


def _checks_of(kind: Kind, tolerate: Callable[[str], None] = lambda text: None) -> Checks:
    return kind.checks if kind.definition is None else custom_checks(kind, kind.definition, tolerate)


def undeleted(obj: Object) -> Object:
    """Return `obj` without the metadata fields that a deletion sets, because a POST ignores them.

    A PUT or a server-side apply that creates an object keeps them.
    """
    metadata = obj.get("metadata") or {}
    if metadata.keys().isdisjoint(DELETION_METADATA):
        return obj
    return {**obj, "metadata": {name: value for name, value in metadata.items() if name not in DELETION_METADATA}}


def unversioned(obj: Object) -> Object:
    """Return `obj` without its resourceVersion."""
    metadata = {name: value for name, value in obj["metadata"].items() if name != "resourceVersion"}
    return {**obj, "metadata": metadata}


def named_version(obj: Object) -> int:
    """Return the resourceVersion in an object that is to be created; 0 if there is no valid one."""
    version = obj["metadata"].get("resourceVersion", "")
    return int(version) if _VERSION.fullmatch(version) else 0


def sent_version(obj: Object) -> int:
    """Return the resourceVersion in an update's object; 0 if it has none.

    Raises:
        StatusError: 500, the resourceVersion is not a number. A 400 would be right, but a real API server answers 500.
    """
    version = obj["metadata"].get("resourceVersion", "")
    if version and not _VERSION.fullmatch(version):
        raise status.untyped(f"strconv.ParseUint: parsing {json.dumps(version)}: invalid syntax")
    return int(version or 0)


def check_name(obj: Object, *, namespace: str, name: str) -> None:
    """Refuse an object whose name or namespace differs from that in the request's path.

    For a PUT that may create an object, call this before reading the stored object; `prepare_update` calls it for each
    update.

    Raises:
        StatusError: 400, the name is missing, or name or namespace differ.
    """
    check_namespace(obj, namespace)
    metadata = obj["metadata"]
    if not (own := metadata.get("name")):
        raise status.bad_request(
            f"the name of the object ({name} based on URL) was undeterminable: name must be provided"
        )
    if own != name:
        raise status.bad_request(f"the name of the object ({own}) does not match the name on the URL ({name})")


def check_namespace(obj: Object, namespace: str) -> None:
    """Refuse an object whose namespace differs from that in the request's path.

    An empty `namespace` means a request without a namespace, which is not checked.

    Raises:
        StatusError: 400, the namespaces differ.
    """
    if namespace and obj["metadata"].get("namespace", namespace) not in ("", namespace):
        raise status.bad_request(_OTHER_NAMESPACE)


def _check_version(kind: Kind, before: Object, new: Object, subresource: str) -> None:
    name, version = before["name"], sent_version(new)
    if not version and not kind.unconditional_update and subresource != "scale":
        raise status.must_have_version(kind, name)
    if version and version != int(before["resourceVersion"]):
        raise status.conflict(kind, name)


def _metadata_of(owned: Object, sent: Object) -> dict[str, Any]:
    """Return metadata with the server's fields of `owned` and the client's of `sent`, in a real API server's order."""
    metadata = {}
    for name, is_clients in _METADATA:
        source = sent if is_clients else owned
        if name in source:
            metadata[name] = source[name]
    if len(owners := metadata.get("ownerReferences", ())) > 1:
        metadata["ownerReferences"] = _each_once(owners)
    return metadata


def _each_once(owners: Sequence[Object]) -> Sequence[Object]:
    """Return the references to owners without those that occur before; the same list if absent."""
    each = {tuple(sorted(owner.items())): owner for owner in reversed(owners)}
    return owners if len(each) == len(owners) else list(reversed(each.values()))


def _in_order(obj: Object) -> dict[str, Any]:
    first = {name: obj[name] for name in _PARTS if name in obj}
    return first if len(first) == len(obj) else {**first, **obj}


def is_finished(kind: Kind, obj: Object) -> bool:
    """Return whether a terminating object has no finalizers and no grace period left, so that this write removes it."""
    metadata = obj["metadata"]
    if "deletionTimestamp" not in metadata or metadata.get("deletionGracePeriodSeconds"):
        return False
    # A namespace also waits for the finalizers in its spec. Another kind, such as a custom one, may have a field
    # `spec.finalizers` with a meaning of its own.
    return not metadata.get("finalizers") and not (kind == NAMESPACE and part(obj, "spec").get("finalizers"))


def deletion_grace(kind: Kind, obj: Object, asked: int | None) -> int:
    """Return the grace period in seconds for a deletion; 0 unless the object is an unfinished pod on a node.

    Args:
        kind: The kind of the object.
        obj: The stored object.
        asked: The requested grace period in seconds; None if the client requested none.
    """
    return grace_of(obj, asked) if kind == POD else 0

# SPDX-License-Identifier: Apache-2.0
"""What becomes of an object between the client's wish and the store: the rules of create and update.

The server's own metadata is the server's, what a path may not write is taken from the
stored object, and what breaks a rule is refused with all its faults at once. Every
function is pure and modifies nothing it is given.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from controller_runtime.api.objects import timestamp
from controller_runtime.apiserver import status
from controller_runtime.apiserver.kinds.metadata import CLIENT_METADATA, METADATA_ORDER
from controller_runtime.apiserver.kinds.registry import NAMESPACE, POD, Kind
from controller_runtime.apiserver.rules import pod as pod_rules
from controller_runtime.apiserver.rules.rules import Object, part
from controller_runtime.apiserver.rules.ruleset import rules_of
from controller_runtime.apiserver.rules.validation import metadata_causes

_VERSION = re.compile(r"[0-9]{1,20}")
_STEM_LENGTH = 58  # of a generated name, so that it is a DNS label with its suffix
_PARTS = ("metadata", "spec", "status")


def prepare_create(kind: Kind, obj: Object, *, namespace: str, now: datetime, uid: str, suffix: str) -> dict[str, Any]:
    """The object as it will be stored, but for its resourceVersion.

    Args:
        kind: What it is.
        obj: From `decode`.
        namespace: Of the path; empty for cluster-scoped kinds.
        now: The creationTimestamp.
        uid: A fresh random one.
        suffix: What a generated name ends with.

    Raises:
        StatusError: 400 for another namespace, or 422.
    """
    sent = obj["metadata"]
    if kind.namespaced and sent.get("namespace", namespace) not in ("", namespace):
        raise status.bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    name = sent.get("name", "")
    if not name and (stem := sent.get("generateName")):
        name = f"{stem[:_STEM_LENGTH]}{suffix}"
    generation = {"generation": sent["generation"]} if "generation" in sent else {}  # the client's: sic
    owned = {"name": name, "uid": uid, "creationTimestamp": timestamp(now), **generation}
    if kind.namespaced:
        owned["namespace"] = namespace
    rules = rules_of(kind)
    made = rules.on_create({**rules.stored_form(obj), "metadata": _metadata_of(owned, sent)})
    causes = itertools.chain(metadata_causes(kind, made["metadata"]), rules.causes_of_new(made))
    status.check(kind.stored, name, causes)
    return _in_order(made)


def as_said(kind: Kind, made: Object, sent: Object) -> Object:
    """A new object as its creator owns it: `made` without what the server added to what was `sent`."""
    rules = rules_of(kind)
    said = dict(rules.shown_form(made))
    for section, name in rules.adds:
        if section in said and name not in (sent.get(section) or {}):
            said[section] = {key: value for key, value in said[section].items() if key != name}
    return said


def prepare_update(kind: Kind, old: Object, new: Object, *, subresource: str = "") -> dict[str, Any]:
    """The object as it will be stored, with `old`'s resourceVersion; equal to `old` when there is nothing to write.

    Args:
        kind: What it is.
        old: As stored, with its resourceVersion.
        new: From `decode` or `admit`.
        subresource: `status`, `finalize` (namespaces), or empty.

    Raises:
        StatusError: 400 (other name), 409 (other uid, stale version), 422.
    """
    before, sent = old["metadata"], new["metadata"]
    name = before["name"]
    check_name(new, namespace=before.get("namespace", ""), name=name)
    _check_version(kind, before, new)
    rules = rules_of(kind)
    made = rules.on_update(kind, old, {**rules.stored_form(new), "metadata": _metadata_of(before, sent)}, subresource)
    causes = itertools.chain(
        metadata_causes(kind, made["metadata"], before), rules.causes_of_change(old, made, subresource)
    )
    status.check(kind.stored, name, causes)
    return _in_order(made)


def named_version(obj: Object) -> int:
    """The version that a new object should not have; 0 for none, and for words that are no version."""
    version = obj["metadata"].get("resourceVersion", "")
    return int(version) if _VERSION.fullmatch(version) else 0


def sent_version(obj: Object) -> int:
    """The version that an update names; 0 is none, as if it was left out.

    Raises:
        StatusError: 500, it is no number: a real server takes the blame.
    """
    version = obj["metadata"].get("resourceVersion", "")
    if version and not _VERSION.fullmatch(version):
        raise status.untyped(f"strconv.ParseUint: parsing {json.dumps(version)}: invalid syntax")
    return int(version or 0)


def check_name(obj: Object, *, namespace: str, name: str) -> None:
    """Refuse an object that names itself differently from its path. For a PUT that may create; updates check it again.

    Raises:
        StatusError: 400.
    """
    metadata = obj["metadata"]
    if not (own := metadata.get("name")):
        raise status.bad_request(
            f"the name of the object ({name} based on URL) was undeterminable: name must be provided"
        )
    if own != name:
        raise status.bad_request(f"the name of the object ({own}) does not match the name on the URL ({name})")
    if namespace and metadata.get("namespace", namespace) not in ("", namespace):
        raise status.bad_request(
            f"the namespace of the object ({metadata['namespace']}) "
            f"does not match the namespace on the request ({namespace})"
        )


def _check_version(kind: Kind, before: Object, new: Object) -> None:
    name, uid, version = before["name"], new["metadata"].get("uid"), sent_version(new)
    if uid and uid != before["uid"]:
        raise status.uid_conflict(kind, before.get("namespace", ""), name, uid, before["uid"])
    if not version and not kind.unconditional_update:
        raise status.must_have_version(kind, name)
    if version and version != int(before["resourceVersion"]):
        raise status.conflict(kind, name)


def _metadata_of(owned: Object, sent: Object) -> dict[str, Any]:
    """The server's own fields from `owned`, the client's from `sent`, in the server's order."""
    metadata = {}
    for name in METADATA_ORDER:
        source = sent if name in CLIENT_METADATA else owned
        if name in source:
            metadata[name] = source[name]
    return metadata


def _in_order(obj: Object) -> dict[str, Any]:
    first = {name: obj[name] for name in _PARTS if name in obj}
    return first if len(first) == len(obj) else {**first, **obj}


def is_finished(kind: Kind, obj: Object) -> bool:
    """Whether a terminating object has nothing left to wait for, so that this write removes it."""
    metadata = obj["metadata"]
    if "deletionTimestamp" not in metadata or metadata.get("deletionGracePeriodSeconds"):
        return False
    # Namespaces wait for more; in the spec of another kind, the same words mean what its makers want.
    return not metadata.get("finalizers") and not (kind is NAMESPACE and part(obj, "spec").get("finalizers"))


def deletion_grace(kind: Kind, obj: Object, asked: int | None) -> int:
    """Seconds an object is left to end by itself when it is deleted now; 0 for everything but running pods.

    Args:
        kind: What it is.
        obj: As stored.
        asked: What the client asks for, if it does.
    """
    return pod_rules.grace_of(obj, asked) if kind is POD else 0


def supported_fields(kind: Kind) -> tuple[str, ...]:
    """The fields that a field selector of this kind may name."""
    return ("metadata.name", *(("metadata.namespace",) if kind.namespaced else ()), *kind.fields)


def fields_for_selector(kind: Kind, obj: Object) -> dict[str, str]:
    """The values of these fields, as texts."""
    metadata = obj["metadata"]
    fields = {"metadata.name": metadata["name"]}
    if kind.namespaced:
        fields["metadata.namespace"] = metadata["namespace"]
    for path, absent in kind.fields.items():
        value: Any = obj
        for step in kind.field_paths.get(path, path).split("."):
            value = value.get(step) if isinstance(value, Mapping) else None
        fields[path] = _text(value, absent)
    return fields


def _text(value: object, absent: str) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case int():
            return str(value)
    return absent  # there is nothing, or nothing that a text could equal


def check_fields(kind: Kind, fields: Sequence[str]) -> None:
    """Refuse a field selector over fields that cannot be selected.

    Raises:
        StatusError: 400.
    """
    supported = supported_fields(kind)
    for field in fields:
        if field in supported:
            continue
        if kind.names_known_fields:
            known = ", ".join(f'"{name}"' for name in supported)
            raise status.bad_request(f'"{field}" is not a known field selector: only {known}')
        raise status.bad_request(f"field label not supported: {field}")

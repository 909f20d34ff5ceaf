# SPDX-License-Identifier: Apache-2.0
"""Decoding of request bodies into objects of a kind: typed, normalised, or refused."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import NoneType
from typing import Any

import msgspec

from apimachinery.schema import Schema
from embedded_apiserver import status
from embedded_apiserver.bounds import MOST_TOLD, abbreviated
from embedded_apiserver.kinds.kind import Kind, cached_by_kind
from embedded_apiserver.kinds.recorded import schemas_of
from embedded_apiserver.kinds.release import Release
from embedded_apiserver.typed import documents
from embedded_apiserver.typed.decoding_errors import conversion_error, json_error
from embedded_apiserver.typed.go_values import plain
from embedded_apiserver.typed.shape import Compiler, Misshapen, Place, Shape, path_of
from embedded_apiserver.typed.stored_forms import defaults_of, stored_form_of
from embedded_apiserver.typed.structural_shape import structural_shape

STRICT = "Strict"
IGNORE = "Ignore"

# Required structs that are left out before they are set.
_LEFT_OUT = {"io.k8s.api.networking.v1.IPAddressSpec": ("parentRef",)}
ACCEPTED = ("application/json", "application/yaml", "application/vnd.kubernetes.protobuf")
YAML_TYPES = ("application/yaml", "application/x-yaml", "text/yaml")


def decode(kind: Kind, body: bytes, content_type: str, field_validation: str = "") -> tuple[dict[str, Any], list[str]]:
    """Return the object in a request's body, and the warnings about it.

    It has metadata, but neither kind nor apiVersion, unless a custom object has another kind: `of_own_type` checks it.

    Args:
        kind: The kind in the request's path.
        body: The body, in JSON or YAML.
        content_type: The content type of the request; empty for JSON.
        field_validation: `Ignore`, `Warn` or `Strict`; empty: `Warn`. Repeated owner references always cause a warning.

    Raises:
        StatusError: 400, the body is malformed, has another apiVersion or, for a built-in kind, another kind, or
            `Strict` makes an error of a warning; 413, it has too many values; 415, its media type is not supported.
    """
    media_type = content_type.partition(";")[0].strip().lower()
    try:
        if media_type in YAML_TYPES:
            raw, repeated = documents.from_yaml(body)
        elif media_type in ("", "application/json"):
            raw, repeated = documents.from_json(body, tell_repeated=field_validation != IGNORE)
        else:
            raise status.unsupported_media_type(ACCEPTED)
    except documents.Unreadable as error:
        raise status.bad_request(
            f"the object provided is unrecognized (must be of type {kind.kind}): couldn't get version/kind; {error}"
        ) from error
    if kind.definition is not None:
        _check_has_kind(kind, raw, body)
    version, body_kind = raw.get("apiVersion") or kind.api_version, raw.get("kind") or kind.kind
    refusal = f'{body_kind} in version "{str(version).rpartition("/")[2]}" cannot be handled as a {kind.kind}'
    foreign = {}
    try:
        if kind.definition is not None and body_kind != kind.kind and version == kind.api_version:
            foreign = _foreign_type(kind, raw)
        else:
            _check_registered(kind, version, body_kind)
            _check_kind(kind, version, body_kind)
        obj, unknown = _shaped(kind, raw, None)
        obj |= foreign
    except Misshapen as error:
        is_of_kind = kind.definition is None and (version, body_kind) == (kind.api_version, kind.kind)
        told = json_error(kind.schema, raw) if is_of_kind else ""
        raise status.bad_request(f"{refusal}: {told or error}") from error
    documents.check_weight(obj, len(body))
    findings = [*repeated, *unknown][:MOST_TOLD]
    if findings and field_validation == STRICT:
        raise status.bad_request(f"{refusal}: strict decoding error: {', '.join(findings)}")
    findings = [] if field_validation == IGNORE else findings
    return obj, [*findings, *documents.of_owners(obj["metadata"].get("ownerReferences") or ())]


def admit(
    kind: Kind,
    obj: Mapping[str, Any],
    field_validation: str = "",
    *,
    old: Mapping[str, Any] | None = None,
    is_applied: bool = False,
    strategic: bytes = b"",
) -> tuple[dict[str, Any], list[str]]:
    """Return `obj`, which is already decoded, with values converted to their stored form, and the warnings.

    It is for objects after a patch. Parts that `obj` shares with `old` (the same Python objects) are not checked again
    unless they are stored in another API version, so the cost depends on the size of the change. `obj` is not modified.

    Args:
        kind: The kind of the object.
        obj: The object.
        field_validation: `Ignore`, `Warn` or `Strict`; see `decode`.
        old: The object before the write; None for a new object.
        is_applied: True if the object is the result of a server-side apply, which may have null fields for a custom
            kind.
        strategic: The strategic merge patch that led to the object, for an error message; empty for other writes.

    Raises:
        StatusError: 400, `obj` has an apiVersion other than that of `kind`, which is built-in; 422, any other error;
            500, a custom object has no apiVersion.
    """
    try:
        foreign = {}
        if kind.definition is None:
            _check_kind(kind, obj.get("apiVersion") or kind.api_version, obj.get("kind") or kind.kind)
        elif not is_applied:
            foreign = _foreign_type(kind, obj)
        shaped, findings = _shaped(kind, obj, old, is_applied=is_applied)
        shaped |= foreign
    except Misshapen as error:
        find = conversion_error if strategic else json_error
        told = find(kind.schema, obj) if kind.definition is None else ""
        raise _patch_refused(told or str(error), strategic) from error
    if findings and field_validation == STRICT:
        raise _patch_refused(f"strict decoding error: {', '.join(findings)}", strategic)
    return shaped, [] if field_validation == IGNORE else findings


def reread(kind: Kind, obj: Mapping[str, Any], old: Mapping[str, Any]) -> dict[str, Any]:
    """Return `obj` with values in stored form and with defaults, without kind and apiVersion.

    It is for objects that a webhook or a policy has changed; `old` is the object before. Parts that both share are not
    checked again; see `admit`.

    Raises:
        Misshapen: A value has the wrong type.
    """
    return _shaped(kind, obj, old)[0]


def strictly_reread(kind: Kind, obj: Mapping[str, Any], old: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return an object changed by a policy, as `reread` does, and texts about its first unknown fields.

    Null fields of a custom object stay unless a default replaces them; its validation refuses those that the schema
    does not allow.

    Raises:
        Misshapen: A value has the wrong type.
    """
    return _shaped(kind, obj, old, is_applied=True)


def configuration(kind: Kind, raw: Mapping[str, Any]) -> tuple[dict[str, Any], list[Place]]:
    """Return the checked fields of an applied configuration, and the places of its unknown fields.

    No defaults are added, and empty values, nulls and the spelling of quantities are kept, because the client will own
    exactly the fields that it sent. The fields of a custom kind are returned unchecked.

    Raises:
        Misshapen: A value has the wrong type.
    """
    unknown: list[Place] = []
    bare = {name: value for name, value in raw.items() if name not in ("kind", "apiVersion")}
    return _unfilled_shape_of(kind)(bare, None, None, unknown), unknown


@cached_by_kind
def empty(kind: Kind) -> dict[str, Any]:
    """Return an object of this kind without any fields set. It is shared: do not modify it."""
    if kind.definition is not None:
        return {"metadata": {}}
    return _bare(kind.schema, kind.release)


def _bare(schema: Schema, release: Release) -> dict[str, Any]:
    """Return an object with the empty values that its schema gives as defaults, and with null for required fields.

    In a real API server, an object of which no field has been set yet has null in its required lists and maps and in
    its times, instead of lacking them. Ownership in a new object is computed by comparing it with such an empty one.
    """
    nulls = [name for name, value in defaults_of(schema.name, release).items() if value is None]
    form = stored_form_of(schema.name, release)
    # A required field that is left out when it is empty is not there before it is set.
    optional = [] if form is None else [name for name, zero in form.zeros.items() if zero is None]
    optional += _LEFT_OUT.get(schema.name, ())
    needed = [name for name in schema.required if name not in optional]
    bare: dict[str, Any] = dict.fromkeys((*needed, *nulls))
    for name, child in schema.properties.items():
        if type(child.default) is dict:
            bare[name] = _bare(child, release)
        elif child.default is not None and not child.default:
            bare[name] = child.default
    return bare


def _patch_refused(text: str, strategic: bytes) -> status.StatusError:
    if strategic:
        text = f"{json.dumps(plain(msgspec.json.decode(strategic)), ensure_ascii=False)}: {text}"
    cause = status.Cause("FieldValueInvalid", f"Invalid value: {text}", "patch")
    return status.StatusError(422, "Invalid", f' "" is invalid: {cause}', details={"causes": [cause._asdict()]})


def _check_has_kind(kind: Kind, raw: Mapping[str, Any], body: bytes) -> None:
    """Refuse an object without kind or apiVersion. A real API server supplies them from the path for built-in kinds
    only.

    Raises:
        StatusError: 400.
    """
    if not raw.get("kind"):
        whole = body.decode("utf-8", "replace")
        missing = f"Object 'Kind' is missing in '{whole}' ({documents.beginning_of(body)})"
        raise status.bad_request(f"the object provided is unrecognized (must be of type {kind.kind}): {missing}")
    if not raw.get("apiVersion"):
        raise _other_version(kind, "")


def _check_registered(kind: Kind, api_version: object, name: object) -> None:
    """Refuse a kind that a real API server's code does not know, for kinds that are in that code.

    Raises:
        Misshapen: In its words.
    """
    if (api_version, name) == (kind.api_version, kind.kind) or kind.definition is not None or not kind.scheme:
        return
    group, _, version = str(api_version).rpartition("/")
    if (group, version, str(name)) not in schemas_of(str(kind.release)):
        raise Misshapen(f'no kind "{name}" is registered for version "{api_version}" in scheme "{kind.scheme}"')


def _check_kind(kind: Kind, api_version: object, name: object) -> None:
    if name != kind.kind:
        group, version = kind.group.partition(".")[0] or "core", str(api_version)
        version = version.replace("/", ".") if kind.definition is not None else version.rpartition("/")[2]
        raise Misshapen(f"converting ({version}.{name}) to ({group}.{kind.kind}): unknown conversion")
    if api_version != kind.api_version:
        raise _other_version(kind, api_version)


def _other_version(kind: Kind, api_version: object) -> status.StatusError:
    return status.bad_request(
        f"the API version in the data ({api_version}) does not match the expected API version ({kind.api_version})"
    )


def _foreign_type(kind: Kind, obj: Mapping[str, Any]) -> dict[str, Any]:
    """Return the kind and the apiVersion that a patch gave a custom object, if they are not those of the kind.

    They are a cause like others, which `strategy` reports with the words of validation, and ignored in the status.

    Raises:
        Misshapen: The object has no kind, or one of both is not a text.
        StatusError: 500, it has no apiVersion.
    """
    version, name = obj.get("apiVersion"), obj.get("kind")
    if type(version) not in (str, NoneType) or not name or type(name) is not str:
        raise Misshapen("Object 'Kind' is missing" if not name else "kind and apiVersion must be strings")
    if not version:
        raise status.internal("Object 'apiVersion' is missing in 'object has no apiVersion field'")
    found = {"apiVersion": version, "kind": name}
    return {} if (version, name) == (kind.api_version, kind.kind) else found


def _shaped(
    kind: Kind, raw: Mapping[str, Any], old: Mapping[str, Any] | None, *, is_applied: bool = False
) -> tuple[dict[str, Any], list[str]]:
    unknown: list[Place] = []
    bare = {name: value for name, value in raw.items() if name not in ("kind", "apiVersion")}
    shape = _applied_shape_of(kind) if is_applied else _shape_of(kind)
    # An object stored under another version's schema lacks this one's defaults, also where nothing changes.
    obj = shape(bare, old if kind.storage is None else None, None, unknown)
    # A real server also lists only the first hundred.
    return obj, [abbreviated(f'unknown field "{path_of(place)}"') for place in unknown[:MOST_TOLD]]


@cached_by_kind
def _shape_of(kind: Kind) -> Shape:
    return Compiler(kind.release).shape(kind.schema) if kind.definition is None else structural_shape(kind.definition)


@cached_by_kind
def _applied_shape_of(kind: Kind) -> Shape:
    return _shape_of(kind) if kind.definition is None else structural_shape(kind.definition, keep_nulls=True)


@cached_by_kind
def _unfilled_shape_of(kind: Kind) -> Shape:
    if kind.definition is not None:
        return _as_sent
    return Compiler(kind.release, fill=False).shape(kind.schema)


def _as_sent(value: Any, old: Any, place: Place, unknown: list[Place]) -> Any:
    """Return the configuration of a custom object as it was sent: `typed` finds its errors."""
    return value

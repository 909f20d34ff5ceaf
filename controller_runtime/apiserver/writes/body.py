# SPDX-License-Identifier: Apache-2.0
"""What a client sent, as an object of a kind: decoded, typed, normalised, or refused."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from controller_runtime.api.schema import Schema
from controller_runtime.apiserver import status
from controller_runtime.apiserver.bounds import MOST_TOLD, abbreviated
from controller_runtime.apiserver.kinds.registry import Kind
from controller_runtime.apiserver.rules.definitions.structural_shape import structural_shape
from controller_runtime.apiserver.rules.shape import Compiler, Misshapen, Place, Shape, path_of
from controller_runtime.apiserver.writes import documents

STRICT = "Strict"
IGNORE = "Ignore"

# Kinds remembered: more than there are, but not all that ever come and go.
_KINDS = 512
_ACCEPTED = ("application/json", "application/yaml", "application/vnd.kubernetes.protobuf")
_YAML = ("application/yaml", "application/x-yaml", "text/yaml")


def decode(kind: Kind, body: bytes, content_type: str, field_validation: str = "") -> tuple[dict[str, Any], list[str]]:
    """The object in a request's body, without kind and apiVersion, metadata first; and warnings.

    Args:
        kind: What the path says it is.
        body: JSON or YAML.
        content_type: Of the request; empty is JSON.
        field_validation: `Ignore`, `Warn` (also when empty) or `Strict`, which refuses what others warn of.

    Raises:
        StatusError: 400, 413 for too many values, or 415 for another media type.
    """
    media_type = content_type.partition(";")[0].strip().lower()
    try:
        if media_type in _YAML:
            raw, repeated = documents.from_yaml(body)
        elif media_type in ("", "application/json"):
            raw, repeated = documents.from_json(body, tell_repeated=field_validation != IGNORE)
        else:
            raise status.unsupported_media_type(_ACCEPTED)
    except documents.Unreadable as error:
        raise status.bad_request(
            f"the object provided is unrecognized (must be of type {kind.kind}): couldn't get version/kind; {error}"
        ) from error
    if kind.definition is not None:
        _check_words(kind, raw)
    version, body_kind = raw.get("apiVersion") or kind.api_version, raw.get("kind") or kind.kind
    refusal = f'{body_kind} in version "{str(version).rpartition("/")[2]}" cannot be handled as a {kind.kind}'
    try:
        _check_kind(kind, version, body_kind)
        obj, unknown = _shaped(kind, raw, None)
    except Misshapen as error:
        raise status.bad_request(f"{refusal}: {error}") from error
    documents.check_weight(obj, len(body))
    findings = [*repeated, *unknown][:MOST_TOLD]
    if findings and field_validation == STRICT:
        raise status.bad_request(f"{refusal}: strict decoding error: {', '.join(findings)}")
    return obj, [] if field_validation == IGNORE else findings


def admit(
    kind: Kind, obj: Mapping[str, Any], field_validation: str = "", *, old: Mapping[str, Any] | None = None
) -> tuple[dict[str, Any], list[str]]:
    """The same for an object already decoded, such as one just patched.

    Parts that *are* parts of `old` (by identity) were checked before and are taken as they are.
    `obj` is not modified.

    Raises:
        StatusError: 400 for another kind, 422 for anything else.
    """
    name = str((old or obj).get("metadata", {}).get("name", ""))
    try:
        _check_kind(kind, obj.get("apiVersion", kind.api_version), obj.get("kind", kind.kind))
        shaped, findings = _shaped(kind, obj, old)
    except Misshapen as error:
        raise _patch_refused(kind, name, str(error)) from error
    if findings and field_validation == STRICT:
        raise _patch_refused(kind, name, f"strict decoding error: {', '.join(findings)}")
    return shaped, [] if field_validation == IGNORE else findings


def configuration(kind: Kind, raw: Mapping[str, Any]) -> tuple[dict[str, Any], list[Place]]:
    """The fields a client applies, in stored form, and the places of those that do not exist.

    Nothing is filled in and nothing empty is left out, for what is said is owned; null says nothing.

    Raises:
        Misshapen: A value has the wrong type.
    """
    unknown: list[Place] = []
    bare = {name: value for name, value in raw.items() if name not in ("kind", "apiVersion")}
    return _said_of(kind)(bare, None, None, unknown), unknown


@functools.lru_cache(_KINDS)
def empty(kind: Kind) -> dict[str, Any]:
    """An object of which nothing has been said yet: its parts, without content. Shared, so do not change it."""
    if kind.definition is not None:
        return {"metadata": {}}
    obj, _ = _shaped(kind, {}, None)
    return _bare(kind.schema, obj)


def _bare(schema: Schema, value: dict[str, Any]) -> dict[str, Any]:
    """`value` without what a default says, and with null for the lists and maps that have to be there.

    So a real server sees an object before anybody has written it: those are null, not absent.
    """
    bare: dict[str, Any] = dict.fromkeys(schema.required)
    for name, part in value.items():
        if type(part) is dict:
            bare[name] = _bare(schema.properties[name], part)
        elif not part:
            bare[name] = part
    return bare


def _patch_refused(kind: Kind, name: str, text: str) -> status.StatusError:
    return status.invalid(kind, name, [status.Cause("FieldValueInvalid", f"Invalid value: {text}", "patch")])


def _check_words(kind: Kind, raw: Mapping[str, Any]) -> None:
    """Refuse an object that does not say what it is: of custom kinds a real server does not guess it."""
    for word, title in (("kind", "Kind"), ("apiVersion", "apiVersion")):
        if not raw.get(word):
            text = f"the object provided is unrecognized (must be of type {kind.kind}): Object '{title}' is missing"
            raise status.bad_request(text)


def _check_kind(kind: Kind, api_version: object, name: object) -> None:
    if name != kind.kind:
        group, version = kind.group.partition(".")[0] or "core", str(api_version).replace("/", ".")
        raise Misshapen(f"converting ({version}.{name}) to ({group}.{kind.kind}): unknown conversion")
    if api_version != kind.api_version:
        raise status.bad_request(
            f"the API version in the data ({api_version}) does not match the expected API version ({kind.api_version})"
        )


def _shaped(kind: Kind, raw: Mapping[str, Any], old: Mapping[str, Any] | None) -> tuple[dict[str, Any], list[str]]:
    unknown: list[Place] = []
    bare = {name: value for name, value in raw.items() if name not in ("kind", "apiVersion")}
    obj = _shape_of(kind)(bare, old, None, unknown)
    # A real server tells the first hundred, too.
    return obj, [abbreviated(f'unknown field "{path_of(place)}"') for place in unknown[:MOST_TOLD]]


@functools.lru_cache(_KINDS)
def _shape_of(kind: Kind) -> Shape:
    return Compiler().shape(kind.schema) if kind.definition is None else structural_shape(kind.definition)


@functools.lru_cache(_KINDS)
def _said_of(kind: Kind) -> Shape:
    if kind.definition is not None:
        return structural_shape(kind.definition, fill=False)
    return Compiler(fill=False).shape(kind.schema)

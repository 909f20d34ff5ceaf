# SPDX-License-Identifier: Apache-2.0
"""Parses the parameters of requests, from the query or the body, and refuses those that contradict each other."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import msgspec

from apimachinery.decoding import converter_of
from apimachinery.errors import UNREADABLE
from embedded_apiserver.bounds import has_too_many_values
from embedded_apiserver.quoting import quoted
from embedded_apiserver.status import (
    DELETE_OPTIONS,
    PATCH_OPTIONS,
    Cause,
    Options,
    bad_request,
    check,
    too_many_values,
)

# The place of the code in a real server that knows these options; its refusals name it.
_OPTIONS_SCHEME = "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27"

Query = Mapping[str, str]
"""Query parameters by name. If one is given several times, the first counts, as in a real API server."""

MANAGER_LENGTH = 128
"""The most bytes in the name of a field manager."""

_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]+")
_MOST_DIGITS = 20  # more do not fit into 64 bits, and take long to read


def query_of(pairs: tuple[tuple[str, str], ...]) -> Query:
    """Return the parameters as a dict. Of a repeated parameter, the first value counts."""
    return dict(reversed(pairs))  # reversed, so that the first of a name overwrites the others


def is_true(value: str | None) -> bool:
    """Return whether a boolean parameter is true: not None, and no `0` or `false`, as on a real API server."""
    return value is not None and value.lower() not in ("false", "0")


def number_of(query: Query, name: str) -> int | None:
    """Return a parameter as a whole number; None if the parameter is absent.

    Raises:
        StatusError: 400, the parameter is not a number of 64 bits.
    """
    value = query.get(name)
    if value is None:
        return None
    if not _WHOLE_NUMBER.fullmatch(value):
        raise bad_request(f"strconv.ParseInt: parsing {quoted(value)}: invalid syntax")
    number = int(value) if len(value) <= _MOST_DIGITS else 1 << 63
    if not -(1 << 63) <= number < 1 << 63:
        raise bad_request(f"strconv.ParseInt: parsing {quoted(value)}: value out of range")
    return number


def check_segment(name: str, verb: str) -> None:
    """Refuse an object's name in a path if the name is `.` or `..`, or contains `%`.

    An update is not refused here, because a real API server first checks the name in its body.

    Raises:
        StatusError: 400.
    """
    if verb == "update":
        return
    if name in (".", ".."):
        raise bad_request(f"Name parameter invalid: \"{name}\": may not be '{name}'")
    if "%" in name:
        raise bad_request(f"Name parameter invalid: {quoted(name)}: may not contain '%'")


def unsupported(field: str, value: str, supported: tuple[str, ...]) -> Cause:
    """Return the validation error for a value that is not one of `supported`."""
    known = ", ".join(f'"{one}"' for one in supported)
    return Cause("FieldValueNotSupported", f'Unsupported value: "{value}": supported values: {known}', field)


def _dry_run_causes(stages: list[str] | None) -> list[Cause]:
    """Return what is wrong with the values of `dryRun`: the only valid one is `All`."""
    if all(stage == "All" for stage in stages or ()):
        return []
    sent = msgspec.json.encode(stages).decode()
    return [Cause("FieldValueNotSupported", f'Unsupported value: {sent}: supported values: "All"', "dryRun")]


def forbidden(field: str, text: str) -> Cause:
    """Return the validation error for a field that must not be set."""
    return Cause("FieldValueForbidden", f"Forbidden: {text}", field)


class WriteOptions(msgspec.Struct, frozen=True):
    """The options of a create, update or patch request.

    Options can be hashed, so that the JSON that webhooks get of them is encoded only once for equal options.

    Attributes:
        dry_run: True to return the resulting object without storing it.
        field_validation: The treatment of unknown and duplicate fields: `Ignore`, `Warn` or `Strict`; empty if not
            given.
        field_manager: The name of the field manager; empty to derive it from the User-Agent.
        force: True to take over fields that other managers own with other values (server-side apply only).
    """

    dry_run: bool
    field_validation: str
    field_manager: str
    force: bool

    @classmethod
    def parse(cls, query: Query, kind: Options, *, applies: bool = False) -> WriteOptions:
        """Return the options in the parameters of a request.

        Args:
            query: The parameters.
            kind: The kind of the options, such as `CreateOptions`, for the message of an error.
            applies: True for a server-side apply, which must have a `fieldManager` and may have `force`.

        Raises:
            StatusError: 422, a parameter is not valid.
        """
        dry_run, validation = query.get("dryRun"), query.get("fieldValidation", "")
        manager = query.get("fieldManager", "")
        causes = _manager_causes(manager)
        if applies and not manager:
            causes.append(Cause("FieldValueRequired", "Required value: is required for apply patch", "fieldManager"))
        if kind is PATCH_OPTIONS and "force" in query and not applies:
            causes.append(forbidden("force", "may not be specified for non-apply patch"))
        causes += _dry_run_causes(None if dry_run is None else [dry_run])
        if validation not in ("", "Ignore", "Warn", "Strict"):
            causes.append(unsupported("fieldValidation", validation, ("", "Ignore", "Strict", "Warn")))
        check(kind, "", causes)
        return cls(dry_run == "All", validation, manager, is_true(query.get("force")))

    def shown(self) -> dict[str, Any]:
        """Return the options as decoded JSON for policies and webhooks, without kind, apiVersion and `force`."""
        shown: dict[str, Any] = {}
        if self.dry_run:
            shown["dryRun"] = ["All"]
        if self.field_manager:
            shown["fieldManager"] = self.field_manager
        if self.field_validation:
            shown["fieldValidation"] = self.field_validation
        return shown


def _manager_causes(manager: str) -> list[Cause]:
    field = "fieldManager"
    if len(manager.encode()) > MANAGER_LENGTH:
        return [Cause("FieldValueTooLong", f"Too long: may not be more than {MANAGER_LENGTH} bytes", field)]
    if manager.isprintable():
        return []
    shown = quoted(manager)
    return [
        Cause(
            "FieldValueInvalid",
            f"Invalid value: {shown}: invalid character U+{ord(character):04X} "
            f"(at position {len(manager[:place].encode())})",
            field,
        )
        for place, character in enumerate(manager)
        if not character.isprintable()
    ]


class Preconditions(msgspec.Struct, frozen=True, rename="camel"):
    """The preconditions of a deletion or a binding; None accepts any value.

    Attributes:
        uid: The uid that the object must have.
        resource_version: The resourceVersion that the object must have.
    """

    uid: str | None = None
    resource_version: str | None = None


_Int64 = Annotated[int, msgspec.Meta(ge=-(1 << 63), le=(1 << 63) - 1)]


class DeleteOptions(msgspec.Struct, frozen=True, rename="camel"):
    """The options of a delete request.

    Attributes:
        grace_period_seconds: The grace period in seconds; None for the default of the object.
        preconditions: The conditions that the object must meet.
        orphan_dependents: The deprecated form of `propagation_policy`; None if it is not given.
        propagation_policy: `Orphan`, `Background` or `Foreground`; None for the default of the kind.
        dry_run: `["All"]` to change nothing; None or empty otherwise.
    """

    grace_period_seconds: _Int64 | None = None
    preconditions: Preconditions = Preconditions()
    orphan_dependents: bool | None = None
    propagation_policy: str | None = None
    dry_run: list[str] | None = None

    @classmethod
    def parse(cls, query: Query, body: bytes) -> DeleteOptions:
        """Return the options in the body, or if the body is empty, in the query; a real API server does not combine
        them either.

        Raises:
            StatusError: 400 if the body or a number cannot be read, 413 if the body has too many values, 422 if an
                option is not valid.
        """
        options = cls._from_body(body) if body.strip() else cls._from_query(query)
        policy, causes = options.propagation_policy, []
        if policy not in (None, "Foreground", "Background", "Orphan"):
            causes.append(unsupported("propagationPolicy", policy, ("Foreground", "Background", "Orphan", "nil")))
        if policy is not None and options.orphan_dependents is not None:
            text = "orphanDependents and propagationPolicy cannot both be set"
            causes.append(Cause("FieldValueInvalid", f'Invalid value: "{policy}": {text}', "propagationPolicy"))
        check(DELETE_OPTIONS, "", itertools.chain(causes, _dry_run_causes(options.dry_run)))
        return options

    def shown(self) -> dict[str, Any]:
        """Return the options as decoded JSON for policies and webhooks, without kind and apiVersion."""
        shown: dict[str, Any] = msgspec.to_builtins(self)
        shown["preconditions"] = {name: value for name, value in shown["preconditions"].items() if value is not None}
        return {name: value for name, value in shown.items() if value not in (None, {}, [])}

    @classmethod
    def _from_body(cls, body: bytes) -> DeleteOptions:
        if has_too_many_values(body):
            raise too_many_values()
        try:
            content: dict[str, Any] = msgspec.json.decode(body, type=dict[str, Any] | None) or {}
            if (kind := content.get("kind") or cls.__name__) != cls.__name__:
                version = content.get("apiVersion", "")
                text = f'no kind "{kind}" is registered for version "{version}" in scheme "{_OPTIONS_SCHEME}"'
                raise bad_request(text)
            # Everywhere in the API, a null field counts as absent.
            return _as_options({name: value for name, value in content.items() if value is not None})
        except UNREADABLE as error:
            raise bad_request(f"the body is not a DeleteOptions: {error}") from None

    @classmethod
    def _from_query(cls, query: Query) -> DeleteOptions:
        orphan = query.get("orphanDependents")
        return cls(
            grace_period_seconds=number_of(query, "gracePeriodSeconds"),
            orphan_dependents=None if orphan is None else is_true(orphan),
            propagation_policy=query.get("propagationPolicy"),
            dry_run=[query["dryRun"]] if "dryRun" in query else None,
        )


_as_options: Callable[[Any], DeleteOptions] = converter_of(DeleteOptions)

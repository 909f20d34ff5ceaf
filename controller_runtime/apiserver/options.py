# SPDX-License-Identifier: Apache-2.0
"""The parameters of requests, from the query or a body: parsed, and refused when they contradict each other."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from typing import Annotated, Any

import attrs
import msgspec

from controller_runtime.apiserver.bounds import has_too_many_values
from controller_runtime.apiserver.status import (
    DELETE_OPTIONS,
    LIST_OPTIONS,
    PATCH_OPTIONS,
    Cause,
    Options,
    bad_request,
    check,
    too_many_values,
)
from controller_runtime.core.errors import UNREADABLE

Query = Mapping[str, str]
"""The parameters by name; of one given several times, the first."""

MANAGER_LENGTH = 128
"""Bytes that the name of a field manager may have."""

_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]{1,18}")  # of 64 bits, as all numbers of the API
_VERSION = re.compile(r"[0-9]{1,19}")
_EXACT, _NOT_OLDER = "Exact", "NotOlderThan"


def query_of(pairs: tuple[tuple[str, str], ...]) -> Query:
    """The parameters by name."""
    return dict(reversed(pairs))


def _is_true(value: str | None) -> bool:
    return value is not None and value.lower() not in ("false", "0")


def _number(query: Query, name: str) -> int | None:
    value = query.get(name, "")
    if not value:
        return None
    if not _WHOLE_NUMBER.fullmatch(value):
        raise bad_request(f"{name} must be a whole number, not {value!r}")
    return int(value)


def _unsupported(field: str, value: str, supported: tuple[str, ...]) -> Cause:
    known = ", ".join(f'"{one}"' for one in supported)
    return Cause("FieldValueNotSupported", f'Unsupported value: "{value}": supported values: {known}', field)


def _dry_run_causes(stages: list[str] | None) -> list[Cause]:
    """What is wrong with the stages that are only tried; there is one, which is all of them."""
    if all(stage == "All" for stage in stages or ()):
        return []
    told = msgspec.json.encode(stages).decode()
    return [Cause("FieldValueNotSupported", f'Unsupported value: {told}: supported values: "All"', "dryRun")]


def _forbidden(field: str, text: str) -> Cause:
    return Cause("FieldValueForbidden", f"Forbidden: {text}", field)


@attrs.frozen
class WriteOptions:
    """How a create, update or patch is done.

    Attributes:
        dry_run: Answer, but change nothing.
        field_validation: What to do about fields that are unknown or stand there twice.
        field_manager: Who writes, by the client's own word; empty leaves it to its User-Agent.
        force: Apply what others own with another value.
    """

    dry_run: bool
    field_validation: str
    field_manager: str
    force: bool

    @classmethod
    def parse(cls, query: Query, kind: Options, *, applies: bool = False) -> WriteOptions:
        """Read the query.

        Raises:
            StatusError: 422 on `kind`.
        """
        dry_run, validation = query.get("dryRun"), query.get("fieldValidation", "")
        manager = query.get("fieldManager", "")
        causes = _manager_causes(manager)
        if applies and not manager:
            causes.append(Cause("FieldValueRequired", "Required value: is required for apply patch", "fieldManager"))
        if kind is PATCH_OPTIONS and "force" in query and not applies:
            causes.append(_forbidden("force", "may not be specified for non-apply patch"))
        causes += _dry_run_causes(None if dry_run is None else [dry_run])
        if validation not in ("", "Ignore", "Warn", "Strict"):
            causes.append(_unsupported("fieldValidation", validation, ("", "Ignore", "Warn", "Strict")))
        check(kind, "", causes)
        return cls(dry_run == "All", validation, manager, _is_true(query.get("force")))


def _manager_causes(manager: str) -> list[Cause]:
    field = "fieldManager"
    if len(manager.encode()) > MANAGER_LENGTH:
        return [Cause("FieldValueTooLong", f"Too long: may not be more than {MANAGER_LENGTH} bytes", field)]
    return [
        Cause("FieldValueInvalid", f'Invalid value: "{manager}": invalid character (at position {place})', field)
        for place, character in enumerate(manager)
        if not character.isprintable()
    ]


class Preconditions(msgspec.Struct, frozen=True, rename="camel"):
    """What an object must still be, to be deleted or bound; None is anything."""

    uid: str | None = None
    resource_version: str | None = None


_Int64 = Annotated[int, msgspec.Meta(ge=-(1 << 63), le=(1 << 63) - 1)]


class DeleteOptions(msgspec.Struct, frozen=True, rename="camel"):
    """How an object is deleted.

    Attributes:
        grace_period_seconds: Asked for by the client; None leaves it to the object.
        preconditions: What the object must still be.
        orphan_dependents: The old form of `propagation_policy`.
        propagation_policy: `Orphan`, `Background`, `Foreground`, or None.
        dry_run: `["All"]` to change nothing.
    """

    grace_period_seconds: _Int64 | None = None
    preconditions: Preconditions = Preconditions()
    orphan_dependents: bool | None = None
    propagation_policy: str | None = None
    dry_run: list[str] | None = None

    @classmethod
    def parse(cls, query: Query, body: bytes) -> DeleteOptions:
        """Read the body if there is one, else the query.

        Raises:
            StatusError: 400, or 422 on DeleteOptions.
        """
        options = cls._from_body(body) if body.strip() else cls._from_query(query)
        policy, causes = options.propagation_policy, []
        if policy not in (None, "Foreground", "Background", "Orphan"):
            causes.append(_unsupported("propagationPolicy", policy, ("Foreground", "Background", "Orphan", "nil")))
        if policy is not None and options.orphan_dependents is not None:
            text = "orphanDependents and propagationPolicy cannot both be set"
            causes.append(Cause("FieldValueInvalid", f'Invalid value: "{policy}": {text}', "propagationPolicy"))
        check(DELETE_OPTIONS, "", itertools.chain(causes, _dry_run_causes(options.dry_run)))
        return options

    @classmethod
    def _from_body(cls, body: bytes) -> DeleteOptions:
        if has_too_many_values(body):
            raise too_many_values()
        try:
            content: dict[str, Any] = msgspec.json.decode(body, type=dict[str, Any] | None) or {}
            if (kind := content.get("kind") or cls.__name__) != cls.__name__:
                raise bad_request(f'no kind "{kind}" is registered for version "{content.get("apiVersion", "")}"')
            # Null is the same as absent, everywhere in the API.
            return msgspec.convert({name: value for name, value in content.items() if value is not None}, cls)
        except UNREADABLE as error:
            raise bad_request(f"the body is no DeleteOptions: {error}") from None

    @classmethod
    def _from_query(cls, query: Query) -> DeleteOptions:
        orphan = query.get("orphanDependents")
        return cls(
            grace_period_seconds=_number(query, "gracePeriodSeconds"),
            orphan_dependents=None if orphan is None else _is_true(orphan),
            propagation_policy=query.get("propagationPolicy"),
            dry_run=[query["dryRun"]] if "dryRun" in query else None,
        )


@attrs.frozen
class ListOptions:
    """What a list or a watch asks for.

    Attributes:
        labels: Text of the label selector.
        fields: Text of the field selector.
        version: resourceVersion, as sent.
        match: resourceVersionMatch, as sent.
        limit: Most objects of one page; 0 is no limit.
        token: Where to go on.
        initial_events: sendInitialEvents; None if it was not sent.
        bookmarks: allowWatchBookmarks.
        timeout: Seconds until a watch ends; None leaves it to the server.
    """

    labels: str
    fields: str
    version: str
    match: str
    limit: int
    token: str
    initial_events: bool | None
    bookmarks: bool
    timeout: int | None

    @classmethod
    def parse(cls, query: Query) -> ListOptions:
        """Read the query.

        Raises:
            StatusError: 400, or 422 on ListOptions.
        """
        initial, timeout = query.get("sendInitialEvents"), _number(query, "timeoutSeconds")
        options = cls(
            labels=query.get("labelSelector", ""),
            fields=query.get("fieldSelector", ""),
            version=query.get("resourceVersion", ""),
            match=query.get("resourceVersionMatch", ""),
            limit=max(_number(query, "limit") or 0, 0),
            token=query.get("continue", ""),
            initial_events=None if initial is None else _is_true(initial),
            bookmarks=_is_true(query.get("allowWatchBookmarks")),
            timeout=timeout if timeout and timeout > 0 else None,
        )
        check(LIST_OPTIONS, "", options._watch_causes() if is_watch(query) else options._list_causes())
        return options

    def _list_causes(self) -> list[Cause]:
        causes, field = [], "resourceVersionMatch"
        if self.match and not self.version:
            causes.append(_forbidden(field, "resourceVersionMatch is forbidden unless resourceVersion is provided"))
        if self.match and self.token:
            causes.append(_forbidden(field, "resourceVersionMatch is forbidden when continue is provided"))
        if self.match not in ("", _EXACT, _NOT_OLDER):
            causes.append(_unsupported(field, self.match, (_EXACT, _NOT_OLDER, "")))
        if self.match == _EXACT and self.version == "0":
            causes.append(_forbidden(field, 'the match "Exact" is forbidden for resourceVersion "0"'))
        if self.initial_events is not None:
            causes.append(_forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
        return causes

    def _watch_causes(self) -> list[Cause]:
        causes, field = [], "resourceVersionMatch"
        if self.initial_events is not None and self.match != _NOT_OLDER:
            text = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
            causes.append(_forbidden(field, text))
        if self.initial_events is None and self.match:
            causes.append(_forbidden(field, "resourceVersionMatch is forbidden for watch without sendInitialEvents"))
        if self.match and self.token:
            causes.append(_forbidden(field, "resourceVersionMatch is forbidden when continue is provided"))
        return causes

    @property
    def is_exact(self) -> bool:
        """Whether the state of exactly `version` is asked for: by match, or by the old rule for pages."""
        by_old_rule = self.version not in ("", "0") and not self.match and self.limit > 0
        return self.match == _EXACT or by_old_rule


def is_watch(query: Query) -> bool:
    """Whether a list asks to go on."""
    return _is_true(query.get("watch"))


def version_number(text: str) -> int:
    """A resourceVersion as sent; empty is 0.

    Raises:
        StatusError: 400, it is no number. (For a watch or a get a real server answers 500.)
    """
    if not text:
        return 0
    if not _VERSION.fullmatch(text):
        raise bad_request(f'invalid resource version: resourceVersion: Invalid value: "{text}": not a decimal number')
    return int(text)

# SPDX-License-Identifier: Apache-2.0
"""Parses the parameters of lists and watches, and refuses those that contradict each other or the server's release."""

from __future__ import annotations

import re

import attrs

from apimachinery.selectors import FieldSelector, LabelSelector
from embedded_apiserver.kinds.release import NEWEST, Release
from embedded_apiserver.options import Query, forbidden, is_true, number_of, unsupported
from embedded_apiserver.quoting import quoted
from embedded_apiserver.status import LIST_OPTIONS, Cause, bad_request, check, untyped

_NUMBER = re.compile(r"[0-9]+")
_MOST_DIGITS = 20  # more do not fit into 64 bits, and take long to read
SHARDS = "shardSelector"
"""The parameter that selects by hash; whether it is read at all is for a feature gate to say."""
_EXACT, _NOT_OLDER = "Exact", "NotOlderThan"
_SINCE, _MATCH, _INITIAL = "resourceVersion", "resourceVersionMatch", "sendInitialEvents"
_NOT_WITH_TOKEN = f"{_MATCH} is forbidden when continue is provided"


@attrs.frozen
class ListOptions:
    """The options of a list or a watch.

    Attributes:
        labels: The text of the label selector.
        fields: The text of the field selector.
        shards: The text of the shard selector; empty if it is not given, or its feature is off.
        version: The `resourceVersion`, as sent; empty if it is not given.
        match: The `resourceVersionMatch`, as sent; empty if it is not given.
        limit: The maximum number of objects on a page; 0 for no limit.
        token: The `continue` token from the previous page; empty for the first page.
        initial_events: The value of `sendInitialEvents`; None if it is not given.
        bookmarks: The value of `allowWatchBookmarks`.
        timeout: The seconds after which a watch ends; negative if a client sent that; None for the server's choice.
    """

    labels: str
    fields: str
    shards: str
    version: str
    match: str
    limit: int
    token: str
    initial_events: bool | None
    bookmarks: bool
    timeout: int | None

    @classmethod
    def parse(cls, query: Query, release: Release = NEWEST) -> ListOptions:
        """Return the options in the parameters of a request.

        Args:
            query: The parameters.
            release: The Kubernetes release that the server serves.

        Raises:
            StatusError: 400 if a number cannot be read; 422 if parameters are invalid or contradict each other, but 400
                if a selector cannot be read either. Without other errors, selectors are not checked here.
        """
        initial, timeout = query.get("sendInitialEvents"), number_of(query, "timeoutSeconds")
        options = cls(
            labels=query.get("labelSelector", ""),
            fields=query.get("fieldSelector", ""),
            shards=query.get(SHARDS, ""),
            version=query.get("resourceVersion", ""),
            match=query.get("resourceVersionMatch", ""),
            limit=max(number_of(query, "limit") or 0, 0),
            token=query.get("continue", ""),
            initial_events=None if initial is None else is_true(initial),
            bookmarks=is_true(query.get("allowWatchBookmarks")),
            timeout=timeout or None,
        )
        causes = options._watch_causes(release) if is_watch(query) else options._list_causes()
        if causes:  # a real server reads the selectors first
            parsed_selectors(options.labels, options.fields)
        check(LIST_OPTIONS, "", causes)
        return options

    def _list_causes(self) -> list[Cause]:
        match, is_zero = self.match, self.version == "0"
        causes = [
            *_forbidden_if(
                bool(match) and not self.version, _MATCH, f"{_MATCH} is forbidden unless {_SINCE} is provided"
            ),
            *_forbidden_if(bool(match and self.token), _MATCH, _NOT_WITH_TOKEN),
        ]
        if match not in ("", _EXACT, _NOT_OLDER):
            causes.append(unsupported(_MATCH, match, (_EXACT, _NOT_OLDER, "")))
        text = f'{_MATCH} "exact" is forbidden for {_SINCE} "0"'
        return [
            *causes,
            *_forbidden_if(match == _EXACT and is_zero, _MATCH, text),
            *_forbidden_if(self.initial_events is not None, _INITIAL, f"{_INITIAL} is forbidden for list"),
        ]

    def _watch_causes(self, release: Release) -> list[Cause]:
        match, streams = self.match, self.initial_events is not None
        off = f"{_INITIAL} is forbidden for watch unless the WatchList feature gate is enabled"
        alone = f"{_MATCH} is forbidden for watch unless {_INITIAL} is provided"
        causes = [
            *_forbidden_if(
                streams and match != _NOT_OLDER, _MATCH, f"{_INITIAL} requires setting {_MATCH} to {_NOT_OLDER}"
            ),
            *_forbidden_if(streams and not release.is_on("WatchList"), _INITIAL, off),
            *_forbidden_if(bool(match) and not streams, _MATCH, alone),
        ]
        if match not in ("", _NOT_OLDER):
            causes.append(unsupported(_MATCH, match, (_NOT_OLDER,)))
        return [*causes, *_forbidden_if(bool(match and self.token), _MATCH, _NOT_WITH_TOKEN)]

    @property
    def is_exact(self) -> bool:
        """True if the client requests the state at exactly `version`.

        It does so by `resourceVersionMatch=Exact`, or by a version other than 0 with a limit but without a match.

        The second rule is older than `resourceVersionMatch`; real API servers still apply it.
        """
        by_old_rule = self.version not in ("", "0") and not self.match and self.limit > 0
        return self.match == _EXACT or by_old_rule


def parsed_selectors(labels: str, fields: str) -> tuple[LabelSelector, FieldSelector]:
    """Return the label selector and the field selector in two texts.

    Raises:
        StatusError: 400, a selector cannot be parsed.
    """
    try:
        return LabelSelector.parse(labels), FieldSelector.parse(fields)
    except ValueError as error:
        raise bad_request(str(error)) from None


def is_watch(query: Query) -> bool:
    """Return whether the parameters of a list request a watch."""
    return is_true(query.get("watch"))


def version_number(text: str, *, of_list: bool = False) -> int:
    """Return the number in a `resourceVersion` parameter; 0 if the parameter is empty.

    Args:
        text: The parameter.
        of_list: True if the request is a list.

    Raises:
        StatusError: The parameter is not a number of 64 bits: 400 for a list, and 500, as from a real API server, for a
            watch or a get.
    """
    if not text:
        return 0
    is_number = _NUMBER.fullmatch(text) is not None
    if is_number and len(text) <= _MOST_DIGITS and (number := int(text)) < 1 << 64:
        return number
    problem = "value out of range" if is_number else "invalid syntax"
    told = f"resourceVersion: Invalid value: {quoted(text)}: strconv.ParseUint: parsing {quoted(text)}: {problem}"
    raise bad_request(f"invalid resource version: {told}") if of_list else untyped(told)


def _forbidden_if(is_forbidden: bool, field: str, text: str) -> list[Cause]:
    return [forbidden(field, text)] if is_forbidden else []

# SPDX-License-Identifier: Apache-2.0
"""A request as data, before either server has filled in its own versions and uids.

Texts may hold these placeholders, which each server fills in with what itself answered: `{ns}` the namespace of the
sequence, `{rv}` and `{uid}` those of the object last seen at the request's path (`{uid:PATH}` at another path),
`{continue}` the token of the last list of the path, and `{start}` the version at which the sequence began.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import attrs

APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"
PATCHES = {APPLY: "apply", MERGE: "merge-patch", STRATEGIC: "strategic-patch", JSON_PATCH: "json-patch"}
REMOVED = {"$removed": True}
"""As the value of an edit: take the field away."""
PATH = re.compile(
    r"^/(?:api/(?P<core>[^/]+)|apis/(?P<group>[^/]+)/(?P<version>[^/]+))"
    r"(?:/namespaces/(?P<namespace>[^/]+)(?=/)(?!/(?:status|finalize)$))?/(?P<plural>[^/]+)(?:/(?P<name>[^/]+))?(?:/(?P<sub>.+))?$"
)
_METHODS = {"POST": "create", "PUT": "update", "DELETE": "delete"}


@attrs.frozen(kw_only=True)
class Operation:
    """One request.

    Attributes:
        method: The method.
        target: The path and the query, percent-encoded.
        headers: The headers that are not the same for all.
        body: The body, as JSON; a text is sent as it is, and None sends none.
        last: The path of the object that is the body, as this server last answered it; empty for `body`.
        edits: Changes to that object: a path in it, and a value or `REMOVED`.
    """

    method: str
    target: str
    headers: Mapping[str, str] = {}
    body: Any = None
    last: str = ""
    edits: tuple[tuple[tuple[str | int, ...], Any], ...] = ()

    @property
    def path(self) -> str:
        """The target without its query."""
        return self.target.partition("?")[0]

    @property
    def query(self) -> str:
        """The query, encoded."""
        return self.target.partition("?")[2]

    @property
    def item(self) -> str:
        """The path of the object that it is about, without a subresource; of the collection if it names none."""
        if (match := PATH.match(self.path)) is None:
            return self.path
        return self.path.removesuffix(f"/{match['sub']}") if match["sub"] else self.path

    @property
    def kind(self) -> str:
        """The kind, as reports name it: the plural, with the group where two have it."""
        match = PATH.match(self.path)
        if match is None:
            return "others"
        group = match["group"] or ""
        if ".fz.example.com" in group:
            return "custom objects"
        return f"events.{group}" if match["plural"] == "events" and group else match["plural"]

    @property
    def verb(self) -> str:
        """The verb, with the subresource behind it."""
        match = PATH.match(self.path)
        name, sub = (match["name"], match["sub"]) if match is not None else (None, None)
        verb = _METHODS.get(self.method, self.method)
        if self.method == "GET":
            watching = "watch=" in self.query
            verb = "get" if name else "watch" if watching else "list"
        elif self.method == "PATCH":
            verb = PATCHES.get(self.headers.get("content-type", ""), "patch")
        elif self.method == "DELETE" and not name:
            verb = "deletecollection"
        return f"{verb} {sub}" if sub else verb

    def to_json(self) -> dict[str, Any]:
        """Return it as the corpus has it, without what is empty."""
        found: dict[str, Any] = {"method": self.method, "target": self.target}
        if self.headers:
            found["headers"] = dict(self.headers)
        if self.body is not None:
            found["body"] = self.body
        if self.last:
            found |= {"last": self.last, "edits": [[list(path), value] for path, value in self.edits]}
        return found

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Operation:
        """Return the request that `to_json` wrote."""
        edits = tuple((tuple(path), value) for path, value in found.get("edits", ()))
        return cls(
            method=found["method"],
            target=found["target"],
            headers=found.get("headers", {}),
            body=found.get("body"),
            last=found.get("last", ""),
            edits=edits,
        )

    def __str__(self) -> str:
        headers = "".join(f" [{name}: {value}]" for name, value in self.headers.items())
        body = "" if self.body is None else " " + (self.body if isinstance(self.body, str) else json.dumps(self.body))
        if self.last:
            body = f" last object with {json.dumps([[list(path), value] for path, value in self.edits])}"
        return f"{self.method} {self.target}{headers}{body}"


def edited(obj: Any, edits: tuple[tuple[tuple[str | int, ...], Any], ...]) -> Any:
    """Return a copy of a JSON value with edits made; one whose place is not there is left out."""
    copy = json.loads(json.dumps(obj))
    for path, value in edits:
        place = copy
        for step, following in pairwise(path):
            if isinstance(place, dict):
                place = place.setdefault(step, [] if isinstance(following, int) else {})
            elif isinstance(place, list) and isinstance(step, int) and step < len(place):
                place = place[step]
            else:
                place = None
        if isinstance(place, dict) and value == REMOVED:
            place.pop(path[-1], None)
        elif isinstance(place, dict):
            place[path[-1]] = value
        elif isinstance(place, list) and isinstance(path[-1], int) and path[-1] <= len(place):
            place[path[-1] : path[-1] + 1] = [] if value == REMOVED else [value]
    return copy

# SPDX-License-Identifier: Apache-2.0
"""The rules of roles: what a rule allows, and whether a set of rules covers another one."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Self

import msgspec

from embedded_apiserver.authorization.attributes import Attributes
from embedded_apiserver.bounds import MOST_COMPARED, MOST_COUNTED, MOST_READ, Told
from embedded_apiserver.status import too_large

_ALL = "*"


class Rule(msgspec.Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """One rule of a role. A list that is null in a stored object counts as empty.

    Attributes:
        verbs: The verbs; `*` means all, including unknown ones.
        api_groups: The API groups; `*` means all.
        resources: The plurals, with a subresource after a slash; `*` means all, and `*/scale` the subresource `scale`
            of all.
        resource_names: The names of the objects; empty means all.
        urls: The paths that name no resource; a path that ends with `*` means all paths with this prefix.
    """

    verbs: tuple[str, ...] | None = None
    api_groups: tuple[str, ...] | None = None
    resources: tuple[str, ...] | None = None
    resource_names: tuple[str, ...] | None = None
    urls: tuple[str, ...] | None = msgspec.field(default=None, name="nonResourceURLs")

    def __str__(self) -> str:
        """Return the rule as refusals show it, in the syntax of Go."""
        parts = (
            ("APIGroups", self.api_groups),
            ("Resources", self.resources),
            ("NonResourceURLs", self.urls),
            ("ResourceNames", self.resource_names),
            ("Verbs", self.verbs),
        )
        return "{" + ", ".join(f"{name}:{quoted_list(values)}" for name, values in parts if values) + "}"


EVERYTHING = (
    Rule(verbs=(_ALL,), api_groups=(_ALL,), resources=(_ALL,)),
    Rule(verbs=(_ALL,), urls=(_ALL,)),
)
"""The rules of an administrator."""


def quoted(text: str) -> str:
    """Return a text in double quotes, in Go's format."""
    return json.dumps(text, ensure_ascii=False)


def quoted_list(texts: Iterable[str]) -> str:
    """Return a list of texts in Go's format: `["a" "b"]`."""
    return f"[{' '.join(map(quoted, texts))}]"


def allows(rule: Rule, asked: Attributes) -> bool:
    """Return whether a rule allows a request."""
    verbs = rule.verbs or ()
    if asked.verb not in verbs and _ALL not in verbs:
        return False
    if asked.path:
        return any(_reaches(url, asked.path) for url in rule.urls or ())
    groups = rule.api_groups or ()
    if asked.group not in groups and _ALL not in groups:
        return False
    if rule.resource_names and asked.name not in rule.resource_names:
        return False
    resources, part = rule.resources or (), asked.subresource
    if _ALL in resources:
        return True
    return f"{asked.resource}/{part}" in resources or f"*/{part}" in resources if part else asked.resource in resources


def uncovered(owned: Sequence[Rule], wanted: Iterable[Rule]) -> Told[Rule]:
    """Return the rules for all permissions that `wanted` grants and `owned` does not.

    A permission is one verb on one resource, on one object name of a resource, or on one URL path. The search ends
    after `MOST_COUNTED` missing permissions or `MOST_READ` characters of their names, because a rule of 1 KiB can
    contain millions of permissions. `more` then reports that there may be others.

    The number and order of the returned rules are those of a real API server.

    Raises:
        StatusError: 413, the comparison takes more than `MOST_COMPARED` steps.
    """
    missing: list[Rule] = []
    read = 0
    for one in _missing(list(map(_Own.of, owned)), wanted):
        missing.append(one)
        read += sum(len(name) for names in msgspec.structs.astuple(one) for name in names or ())
        if len(missing) == MOST_COUNTED or read > MOST_READ:
            break
    # Rules for the same objects are told as one, with all their verbs; those for paths are not.
    compact: dict[Rule, list[str]] = {}
    for one in missing:
        if not one.urls:
            compact.setdefault(msgspec.structs.replace(one, verbs=()), []).extend(one.verbs or ())
    rules = [msgspec.structs.replace(place, verbs=tuple(verbs)) for place, verbs in compact.items()]
    told = sorted({*rules, *(one for one in missing if one.urls)}, key=str)
    return Told(told, "and possibly more" if len(missing) == MOST_COUNTED or read > MOST_READ else "")


def _reaches(url: str, path: str) -> bool:
    return url == path or (url.endswith(_ALL) and path.startswith(url.rstrip(_ALL)))


class _Own(NamedTuple):
    """A rule with sets in place of its lists, to be compared with very many rights."""

    verbs: frozenset[str]
    groups: frozenset[str]
    resources: frozenset[str]
    names: frozenset[str]
    urls: tuple[str, ...]

    @classmethod
    def of(cls, rule: Rule) -> Self:
        """Return a rule with sets."""
        parts = (rule.verbs, rule.api_groups, rule.resources, rule.resource_names)
        verbs, groups, resources, names = (frozenset(part or ()) for part in parts)
        return cls(verbs, groups, resources, names, rule.urls or ())

    def has_resource(self, group: str, resource: str) -> bool:
        """Return whether the rule is about a resource of a group, whatever the verb and the name."""
        if group not in self.groups and _ALL not in self.groups:
            return False
        if resource in self.resources or _ALL in self.resources:
            return True
        return "/" in resource and f"*/{resource.partition('/')[2]}" in self.resources

    def has_verb(self, verb: str) -> bool:
        """Return whether the rule allows a verb."""
        return verb in self.verbs or _ALL in self.verbs

    def has_name(self, name: str | None) -> bool:
        """Return whether the rule is about objects of a name; about all objects if that is None."""
        return not self.names or name in self.names


class _Steps:
    """Counts the steps of a comparison before they are made."""

    def __init__(self) -> None:
        self._left = MOST_COMPARED

    def take(self, count: int) -> None:
        """Count further steps.

        Raises:
            StatusError: 413, there are too many.
        """
        self._left -= count
        if self._left < 0:
            text = f"to compare these rules with those of the user takes more than {MOST_COMPARED:,} steps"
            raise too_large(text)


def _missing(owned: Sequence[_Own], wanted: Iterable[Rule]) -> Iterator[Rule]:
    """Yield each right, one verb on one thing, that `wanted` allows and no rule of `owned` does."""
    steps = _Steps()
    for rule in wanted:
        names: tuple[str | None, ...] = rule.resource_names or (None,)
        for group, resource in itertools.product(rule.api_groups or (), rule.resources or ()):
            steps.take(len(owned) + 1)
            near = [own for own in owned if own.has_resource(group, resource)]
            for verb, name in itertools.product(rule.verbs or (), names):
                steps.take(len(near) + 1)
                if not any(own.has_verb(verb) and own.has_name(name) for own in near):
                    yield Rule((verb,), (group,), (resource,), None if name is None else (name,))
        for url, verb in itertools.product(rule.urls or (), rule.verbs or ()):
            steps.take(1 + sum(1 + len(own.urls) for own in owned))
            if not any(own.has_verb(verb) and any(_reaches(one, url) for one in own.urls) for own in owned):
                yield Rule(verbs=(verb,), urls=(url,))

# SPDX-License-Identifier: Apache-2.0
"""The rules of roles: what a rule allows, and whether a set of rules covers another one."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from embedded_apiserver.authorization.attributes import Attributes

_ALL = "*"


class Rule(msgspec.Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """One rule of a role. Its lists may be null in a stored object, which means that they are empty.

    Attributes:
        verbs: The verbs; `*` means all, those that are not known too.
        api_groups: The API groups; `*` means all.
        resources: The plurals, with a subresource after a slash; `*` means all, and `*/scale` that part of all.
        resource_names: The names of the objects; empty means all.
        urls: The paths that name no resource; one that ends with `*` means all that begin so.
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
    """Return a text in double quotes, as Go shows it."""
    return json.dumps(text, ensure_ascii=False)


def quoted_list(texts: Iterable[str]) -> str:
    """Return a list of texts as Go shows it: `["a" "b"]`."""
    return f"[{' '.join(map(quoted, texts))}]"


def allows(rule: Rule, asked: Attributes) -> bool:
    """Return whether a rule allows what is asked for."""
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


def uncovered(owned: Sequence[Rule], wanted: Iterable[Rule]) -> list[Rule]:
    """Return what `wanted` allows and `owned` does not, in as few rules as a real server tells it, in its order."""
    missing = [one for rule in wanted for one in _atoms(rule) if not any(_covers(own, one) for own in owned)]
    # Rules for the same objects are told as one, with all their verbs; those for paths are not.
    compact: dict[Rule, list[str]] = {}
    for one in missing:
        if not one.urls:
            compact.setdefault(msgspec.structs.replace(one, verbs=()), []).extend(one.verbs or ())
    rules = [msgspec.structs.replace(place, verbs=tuple(verbs)) for place, verbs in compact.items()]
    return sorted({*rules, *(one for one in missing if one.urls)}, key=str)


def _reaches(url: str, path: str) -> bool:
    return url == path or (url.endswith(_ALL) and path.startswith(url.rstrip(_ALL)))


def _atoms(rule: Rule) -> Iterator[Rule]:
    """Yield the rules with one verb and one thing each that allow the same together."""
    places = itertools.product(
        rule.api_groups or (), rule.resources or (), rule.verbs or (), rule.resource_names or ("",)
    )
    for group, resource, verb, name in places:
        names = (name,) if rule.resource_names else ()
        yield Rule(verbs=(verb,), api_groups=(group,), resources=(resource,), resource_names=names)
    for url, verb in itertools.product(rule.urls or (), rule.verbs or ()):
        yield Rule(verbs=(verb,), urls=(url,))


def _covers(own: Rule, atom: Rule) -> bool:
    """Return whether a rule allows what another one with one verb and one thing allows."""
    if not _has(own.verbs, atom.verbs):
        return False
    if atom.urls:
        return all(any(_reaches(url, path) for url in own.urls or ()) for path in atom.urls)
    if not _has(own.api_groups, atom.api_groups) or not _has_resource(own.resources or (), atom.resources or ()):
        return False
    if not own.resource_names:
        return True
    return bool(atom.resource_names) and set(atom.resource_names or ()) <= set(own.resource_names)


def _has(own: tuple[str, ...] | None, wanted: tuple[str, ...] | None) -> bool:
    return _ALL in (own or ()) or set(wanted or ()) <= set(own or ())


def _has_resource(own: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
    if _ALL in own:
        return True
    return all(one in own or ("/" in one and f"*/{one.partition('/')[2]}" in own) for one in wanted)

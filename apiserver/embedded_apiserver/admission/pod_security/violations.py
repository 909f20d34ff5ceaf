# SPDX-License-Identifier: Apache-2.0
"""Violations, and what the checks of pods share: security contexts, and the words of messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from embedded_apiserver.groups.pods.all_containers import all_containers
from embedded_apiserver.objects import Object, part

_CONTEXT = "securityContext"


class Violation(NamedTuple):
    """A violation of a pod security check by a pod.

    Attributes:
        reason: The violated rule; the same text for all pods that violate it, but for singular and plural.
        detail: The violating containers and values, as text.
    """

    reason: str
    detail: str

    def __str__(self) -> str:
        return f"{self.reason} ({self.detail})"


CheckPod = Callable[[Object, Object], Violation | None]
"""Returns the violation by a pod, from its metadata and its spec in stored form; None if it passes the check."""


def context(owner: Object) -> Object:
    """Return the security context of a pod's spec or of a container; empty if it has none."""
    return part(owner, _CONTEXT)


def contexts(spec: Object) -> Iterator[Object]:
    """Yield the security contexts of a pod and of its containers; `spec` is the spec of the pod."""
    yield context(spec)
    yield from map(context, all_containers(spec))


def names_of(spec: Object, is_meant: Callable[[Object], bool]) -> list[str]:
    """Return the names of the containers for which `is_meant` returns True."""
    return [one.get("name", "") for one in all_containers(spec) if is_meant(one)]


def setters(spec: Object, is_bad: Callable[[Object], bool]) -> list[str]:
    """Return the owners of security contexts for which `is_bad` is True, as message texts: the pod, its containers."""
    bad = names_of(spec, lambda one: is_bad(context(one)))
    return [*(["pod"] if is_bad(context(spec)) else ()), *([named("container", bad)] if bad else ())]


def several(word: str, items: Sequence[str]) -> str:
    """Return the noun `word` in singular for one item, otherwise in plural."""
    return word if len(items) == 1 else f"{word}s"


def used(items: Sequence[str]) -> str:
    """Return the verb for a sentence about these items: `uses` for one item, otherwise `use`."""
    return "uses" if len(items) == 1 else "use"


def in_quotes(items: Iterable[str]) -> str:
    """Return the texts in quotes, separated by commas."""
    return ", ".join([f'"{item}"' for item in items])


def named(word: str, items: Sequence[str]) -> str:
    """Return the noun `word` in singular or plural, followed by the items in quotes, such as `containers "a", "b"`."""
    return f"{several(word, items)} {in_quotes(items)}"


def has_own_users(spec: Object) -> bool:
    """Return whether a pod has its own user namespace (`hostUsers: false`), so that its root is not that of the
    node.
    """
    return spec.get("hostUsers") is False

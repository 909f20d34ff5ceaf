# SPDX-License-Identifier: Apache-2.0
"""Violations, and what the checks of pods share: security contexts, and the words of messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from embedded_apiserver.groups.pods.all_containers import all_containers
from embedded_apiserver.objects import Object, part

_CONTEXT = "securityContext"


class Violation(NamedTuple):
    """The objection of a check to a pod.

    Attributes:
        reason: The rule that is broken; pods that break the same rule have the same words.
        detail: The containers and values that it is about.
    """

    reason: str
    detail: str

    def __str__(self) -> str:
        return f"{self.reason} ({self.detail})"


CheckPod = Callable[[Object, Object], Violation | None]
"""Returns the violation by a pod, from its metadata and its spec in stored form; None if it passes the check."""


def context(owner: Object) -> Object:
    """Return the security context of a pod's spec, or of a container."""
    return part(owner, _CONTEXT)


def contexts(spec: Object) -> Iterator[Object]:
    """Yield the security contexts of a pod and of its containers."""
    yield context(spec)
    yield from map(context, all_containers(spec))


def names_of(spec: Object, is_meant: Callable[[Object], bool]) -> list[str]:
    """Return the names of the containers that are meant."""
    return [one.get("name", "") for one in all_containers(spec) if is_meant(one)]


def setters(spec: Object, is_bad: Callable[[Object], bool]) -> list[str]:
    """Return the owners of bad security contexts, as messages name them: the pod, and its containers."""
    bad = names_of(spec, lambda one: is_bad(context(one)))
    return [*(["pod"] if is_bad(context(spec)) else ()), *([named("container", bad)] if bad else ())]


def several(word: str, items: Sequence[str]) -> str:
    """Return a word in the number of these items."""
    return word if len(items) == 1 else f"{word}s"


def used(items: Sequence[str]) -> str:
    """Return the verb of what these items use."""
    return "uses" if len(items) == 1 else "use"


def in_quotes(items: Iterable[str]) -> str:
    """Return a list of texts in quotes."""
    return ", ".join([f'"{item}"' for item in items])


def named(word: str, items: Sequence[str]) -> str:
    """Return a word with the names of those that it is about."""
    return f"{several(word, items)} {in_quotes(items)}"


def has_own_users(spec: Object) -> bool:
    """Return whether a pod has a user namespace of its own, so that its root is not its node's."""
    return spec.get("hostUsers") is False

# SPDX-License-Identifier: Apache-2.0
"""Violations, and what the checks of pods share: the containers of a pod, who sets what, and words of messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from controller_runtime.apiserver.rules.rules import Object, part

_GROUPS = ("initContainers", "containers", "ephemeralContainers")
_CONTEXT = "securityContext"


class Violation(NamedTuple):
    """The objection of a check to a pod.

    Attributes:
        reason: It in few words, which are the same for all pods alike.
        detail: The containers and values that it is about.
    """

    reason: str
    detail: str

    def __str__(self) -> str:
        return f"{self.reason} ({self.detail})"


CheckPod = Callable[[Object, Object], Violation | None]
"""Returns what it has against a pod with a metadata and a spec, both in the form in which they are stored."""


def containers(spec: Object) -> Iterator[Object]:
    """Yield all containers of a pod, in the order in which messages name them."""
    for group in _GROUPS:
        yield from spec.get(group) or ()


def context(owner: Object) -> Object:
    """Return the security context of a pod's spec, or of a container."""
    return part(owner, _CONTEXT)


def contexts(spec: Object) -> Iterator[Object]:
    """Yield the security contexts of a pod and of its containers."""
    yield context(spec)
    yield from map(context, containers(spec))


def names_of(spec: Object, is_meant: Callable[[Object], bool]) -> list[str]:
    """Return the names of the containers that are meant."""
    return [one.get("name", "") for one in containers(spec) if is_meant(one)]


def setters(spec: Object, is_bad: Callable[[Object], bool]) -> list[str]:
    """Return who has a bad security context, as messages name them: the pod, and its containers."""
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


def is_windows(spec: Object) -> bool:
    """Return whether a pod says that it runs on Windows."""
    return bool(part(spec, "os").get("name") == "windows")


def has_own_users(spec: Object) -> bool:
    """Return whether the users of a pod are none of its node's."""
    return spec.get("hostUsers") is False

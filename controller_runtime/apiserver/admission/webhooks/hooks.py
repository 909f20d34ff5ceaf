# SPDX-License-Identifier: Apache-2.0
"""The webhooks that are configured at present, in the order in which they are called."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from controller_runtime.api.selectors import LabelSelector
from controller_runtime.apiserver.cel import types
from controller_runtime.apiserver.cel.admission import admission_environment, compiled
from controller_runtime.apiserver.cel.program import Program
from controller_runtime.apiserver.kinds.kind import Kind
from controller_runtime.apiserver.storage.storage import Storage
from controller_runtime.apiserver.storage.stored import Stored
from controller_runtime.apiserver.webhooks.admission_review import version_of
from controller_runtime.apiserver.webhooks.caller import Target
from controller_runtime.core.host import Host

_PEM = "-----BEGIN "
_EVERYTHING = LabelSelector.from_object({})


@attrs.frozen
class Hook:
    """One webhook of a configuration.

    Attributes:
        uid: A text that tells it from all others.
        name: Its name, as messages show it.
        content: The webhook as it is written, with its defaults.
        namespaces: Selects the namespaces of objects.
        objects: Selects objects.
        target: Where it is; None if its certificates cannot be read.
        conditions: The conditions under which it is called.
        ignores_failures: Whether a write goes on if the webhook cannot be called.
        seconds: The time that it has.
        version: The version of reviews in which it is asked; empty if this server knows none of those that it names.
        matched: Whether its rules name writes of a kind, by group, version, resource, operation and subresource, as
            far as they were asked; None if that depends on the names of objects. Kinds of a name have one scope.
    """

    uid: str
    name: str
    content: Mapping[str, Any]
    namespaces: LabelSelector
    objects: LabelSelector
    target: Target | None
    conditions: Sequence[Program] = ()
    ignores_failures: bool = attrs.field(init=False)
    seconds: int = attrs.field(init=False)
    version: str = attrs.field(init=False)
    matched: dict[tuple[str, str, str, str, str], bool] | None = attrs.field(init=False, eq=False, repr=False)

    _last_namespace: list[tuple[Mapping[str, str], bool]] = attrs.field(factory=list, init=False, eq=False, repr=False)

    @matched.default
    def _matched(self) -> dict[tuple[str, str, str, str, str], bool] | None:
        return None if any(rule.get("resourceNames") for rule in self.content.get("rules") or ()) else {}

    def selects_namespace(self, labels: Mapping[str, str]) -> bool:
        """Return whether the labels of a namespace are selected; most writes follow one in the same namespace.

        The answer is kept for the labels themselves, which never change: those of another state are another mapping.
        """
        for known, selected in self._last_namespace:  # one at most
            if known is labels:
                return selected
        selected = self.namespaces.matches(labels)
        self._last_namespace[:] = [(labels, selected)]
        return selected

    @ignores_failures.default
    def _ignores_failures(self) -> bool:
        return self.content.get("failurePolicy") == "Ignore"

    @seconds.default
    def _seconds(self) -> int:
        return int(self.content.get("timeoutSeconds") or 10)

    @version.default
    def _version(self) -> str:
        return version_of(self.content.get("admissionReviewVersions") or ())


class Hooks:
    """Reads the configurations of one kind; again only when one of them was written.

    Args:
        host: Provides a lock.
        storage: The configurations.
        kind: Their kind.

    Threads: any.
    """

    def __init__(self, host: Host, storage: Storage, kind: Kind) -> None:
        self._storage = storage
        self._kind = kind
        # Guards writes of the field below: the version of the last write of a configuration, and the webhooks as of
        # then. It is replaced as a whole, so that each write of an object reads it without the lock.
        self._lock = host.lock("apiserver/webhooks")
        self._known: tuple[int, Sequence[Hook]] = (-1, ())

    def are_none(self) -> bool:
        """Return whether there is no configuration; each write asks."""
        return self._storage.is_empty(self._kind.resource)

    def present(self) -> Sequence[Hook]:
        """Return the webhooks, by the names of their configurations, and in these in their order."""
        (changed,) = self._storage.last_changes((self._kind.resource,))
        if (known := self._known)[0] >= changed:  # one pair, replaced as a whole
            return known[1]
        items = self._storage.read(self._kind.resource).items
        hooks = [hook for item in items for hook in _hooks_in(item)]
        with self._lock:
            if changed > self._known[0]:
                self._known = changed, hooks
        return hooks


def _hooks_in(item: Stored) -> list[Hook]:
    counts: dict[str, int] = {}
    found = []
    for content in item.decode().get("webhooks") or ():
        name = content["name"]
        counts[name] = counts.get(name, -1) + 1
        found.append(
            Hook(
                f"{item.name}/{name}/{counts[name]}",
                name,
                content,
                _selector(content.get("namespaceSelector")),
                _selector(content.get("objectSelector")),
                _target(content["clientConfig"]),
                [
                    compiled(condition["expression"], admission_environment(), (types.BOOL,))
                    for condition in content.get("matchConditions") or ()
                ],
            )
        )
    return found


def _selector(selector: Mapping[str, Any] | None) -> LabelSelector:
    return LabelSelector.from_object(selector) if selector else _EVERYTHING


def _target(config: Mapping[str, Any]) -> Target | None:
    try:
        bundle = base64.b64decode(config.get("caBundle") or "").decode("ascii", "replace")
    except binascii.Error:
        return None
    return None if bundle.strip() and _PEM not in bundle else Target.of(config, bundle.strip())

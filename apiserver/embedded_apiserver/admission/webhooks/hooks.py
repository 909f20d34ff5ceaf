# SPDX-License-Identifier: Apache-2.0
"""The webhooks that are configured at present, in the order in which they are called."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from apimachinery.host import Host
from apimachinery.selectors import LabelSelector
from embedded_apiserver.cel import types
from embedded_apiserver.cel.admission import admission_environment, compiled
from embedded_apiserver.cel.program import Program
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.storage.storage import Storage
from embedded_apiserver.storage.stored import Stored
from embedded_apiserver.webhooks.admission_review import version_of
from embedded_apiserver.webhooks.caller import Target

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
        looks_at_objects: Whether the object of a write decides whether it is called, by its labels or its name.
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
    looks_at_objects: bool = attrs.field(init=False)

    @looks_at_objects.default
    def _looks_at_objects(self) -> bool:
        names = any(rule.get("resourceNames") for rule in self.content.get("rules") or ())
        return names or not self.objects.is_everything

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

    Attributes:
        resource: The collection of the configurations.

    Threads: any.
    """

    def __init__(self, host: Host, storage: Storage, kind: Kind) -> None:
        self._storage = storage
        self.resource = kind.resource
        # Guards writes of the field below: the version of the last write of a configuration, and the webhooks as of
        # then. It is replaced as a whole, so that each write of an object reads it without the lock.
        self._lock = host.lock("apiserver/webhooks")
        self._known: tuple[int, Sequence[Hook]] = (-1, ())

    def are_none(self) -> bool:
        """Return whether there is no configuration; each write asks."""
        return self._storage.is_empty(self.resource)

    def present(self) -> Sequence[Hook]:
        """Return the webhooks, by the names of their configurations, and in these in their order."""
        (changed,) = self._storage.last_changes((self.resource,))
        if (known := self._known)[0] >= changed:  # one pair, replaced as a whole
            return known[1]
        items = self._storage.read(self.resource).items
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

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
from embedded_apiserver.cel.program import CELProgram
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.storage.storage import Storage
from embedded_apiserver.storage.stored import Stored
from embedded_apiserver.webhooks.admission_review import version_of
from embedded_apiserver.webhooks.caller import Target

_PEM = "-----BEGIN "
_EVERYTHING = LabelSelector.from_object({})


@attrs.frozen
class Hook:
    """One webhook of an admission webhook configuration.

    Attributes:
        uid: A unique identifier of the webhook.
        name: The name of the webhook, for messages.
        content: The webhook as stored, with defaults.
        namespaces: The `namespaceSelector`.
        objects: The `objectSelector`.
        target: The address of the webhook; None if its `caBundle` cannot be read.
        conditions: The compiled match conditions.
        ignores_failures: True if a failed call of the webhook does not refuse the write.
        seconds: The timeout of a call, in seconds.
        version: The version of AdmissionReview to send; empty if this server supports none of the webhook's versions.
        looks_at_objects: True if it depends on the object's labels or name whether the webhook is called.
    """

    uid: str
    name: str
    content: Mapping[str, Any]
    namespaces: LabelSelector
    objects: LabelSelector
    target: Target | None
    conditions: Sequence[CELProgram] = ()
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
    """Provides the webhooks of one kind of configuration. They are read again only after a configuration was written.

    Args:
        host: Creates the locks.
        storage: The objects, including the configurations.
        kind: The kind of the configurations.

    Attributes:
        resource: The name of the configurations' collection.

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
        """Return whether there are no configurations. The call is cheap, because each write makes it."""
        return self._storage.is_empty(self.resource)

    def present(self) -> Sequence[Hook]:
        """Return the current webhooks, sorted by the names of their configurations; within one, in its order."""
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

# SPDX-License-Identifier: Apache-2.0
"""Finds the webhooks of one kind of configuration that a write concerns; cached by kind and namespace of the write."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from embedded_apiserver.admission.step import Attributes, Operation
from embedded_apiserver.admission.webhooks.hooks import Hook, Hooks
from embedded_apiserver.admission.webhooks.matching import called_as
from embedded_apiserver.groups.core.kinds import NAMESPACE
from embedded_apiserver.kinds.kind import Kind, Kinds
from embedded_apiserver.storage.storage import Storage

_MOST = 1024  # kinds of writes to keep choices for; each is a tuple or two


class Choice(NamedTuple):
    """A webhook that has to be called for a write, or may have to be.

    Attributes:
        number: The index of the webhook among all webhooks of the same kind of configuration.
        hook: The webhook.
        seen_as: The kind and version to which the object is converted for the webhook; None if it depends on the object
            whether the webhook is called.
    """

    number: int
    hook: Hook
    seen_as: Kind | None


Key = tuple[Kind, Operation, str, str]


class _Known(NamedTuple):
    """The webhooks to call for each write, valid until a configuration, a namespace or the served kinds change."""

    changes: tuple[int, ...]
    kinds: Kinds | None
    choices: dict[Key, Sequence[Choice]]


class Choices:
    """Selects the webhooks to call for a write; results are cached by kind, operation, subresource and namespace.

    Args:
        storage: The objects, including the namespaces.
        kinds: A function that returns the currently served kinds.
        hooks: The configured webhooks.

    Threads: any.
    """

    def __init__(self, storage: Storage, kinds: Callable[[], Kinds], hooks: Hooks) -> None:
        self._storage = storage
        self._kinds = kinds
        self._hooks = hooks
        self._decisive = (hooks.resource, NAMESPACE.resource)
        # Replaced as a whole when anything changes that choices depend on, so that no lock is needed. A write that
        # reads it meanwhile is one that came before the change.
        self._known = _Known((), None, {})

    def of(self, attributes: Attributes) -> Sequence[Choice]:
        """Return the webhooks that have to be called for a write, or may have to be, in the order of the calls.

        Raises:
            StatusError: 404, a webhook selects namespaces by labels, and the namespace does not exist.
        """
        changes, kinds, known = self._storage.last_changes(self._decisive), self._kinds(), self._known
        if known.changes != changes or known.kinds is not kinds or len(known.choices) > _MOST:
            known = self._known = _Known(changes, kinds, {})
        key = attributes.kind, attributes.operation, attributes.subresource, attributes.namespace
        found = known.choices.get(key)
        if found is None:
            found = known.choices[key] = self._chosen(attributes, kinds)
        return found

    def seen_as(self, choice: Choice, attributes: Attributes) -> Kind | None:
        """Return the kind and version to which the object is converted for a webhook; None if the webhook is not
        called.
        """
        if choice.seen_as is not None:
            return choice.seen_as
        return called_as(self._storage, self._kinds(), choice.hook, attributes)

    def _chosen(self, attributes: Attributes, kinds: Kinds) -> Sequence[Choice]:
        found, is_decisive = [], attributes.kind == NAMESPACE  # its own labels are those of the namespace
        for number, hook in enumerate(self._hooks.present()):
            if is_decisive or hook.looks_at_objects:
                found.append(Choice(number, hook, None))
            elif (seen_as := called_as(self._storage, kinds, hook, attributes)) is not None:
                found.append(Choice(number, hook, seen_as))
        return found

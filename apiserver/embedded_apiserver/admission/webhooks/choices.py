# SPDX-License-Identifier: Apache-2.0
"""Which webhooks of one kind of configuration see a write; kept for writes of one kind in one namespace."""

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
    """A webhook that sees a write, or may see it.

    Attributes:
        number: Its number among all webhooks of its kind of configuration.
        hook: The webhook.
        seen_as: The kind in whose version it sees the write; None if the object decides whether it does.
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
    """Tells which webhooks see a write.

    Args:
        storage: The namespaces.
        kinds: Returns the kinds that are served at present.
        hooks: The webhooks.

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
        """Return the webhooks that see a write, or may see it, in the order in which they are called.

        Raises:
            StatusError: 404, the namespace whose labels decide does not exist.
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
        """Return the kind in whose version a webhook sees a write; None if the object is not one that it sees."""
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

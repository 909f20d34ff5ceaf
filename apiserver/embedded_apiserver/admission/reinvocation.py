# SPDX-License-Identifier: Apache-2.0
"""Decides which webhooks or policies of one step are called a second time for a write."""

from __future__ import annotations

from collections.abc import Hashable

import attrs

from apimachinery.equality import same_json
from embedded_apiserver.admission.step import Rounds
from embedded_apiserver.objects import Object


@attrs.define
class Reinvocations:
    """The state of an admission step for one write: which webhooks or policies it must call a second time.

    A webhook or policy with `reinvocationPolicy: IfNeeded` is called again in the second round if the object changed
    after its call; that a policy was applied counts as a change.

    Threads: one.
    """

    _rounds: Rounds
    _called: set[Hashable] = attrs.Factory(set)
    _due: set[Hashable] = attrs.Factory(set)
    _left: Object | None = None

    @staticmethod
    def of(rounds: Rounds, step: str) -> Reinvocations:
        """Return the state of an admission step for the write to which `rounds` belongs."""
        found: Reinvocations = rounds.notes.setdefault(step, Reinvocations(rounds))
        return found

    def begin(self, obj: Object) -> None:
        """Have all calls recorded by `note_call` repeated in the second round if `obj` has changed since the first.

        `obj` is the object that the step gets at the beginning of a round.
        """
        if self._rounds.is_second and self._left is not None and not same_json(obj, self._left):
            self._all_due()

    def end(self, obj: Object) -> None:
        """Record the object that the step returns after its webhooks or policies were called."""
        self._left = obj

    def is_due(self, key: Hashable) -> bool:
        """Return whether to call the webhook or policy `key` now: in the first round always, later if it is due."""
        return not self._rounds.is_second or key in self._due

    def note_change(self) -> None:
        """Record that the object has changed, so that all webhooks or policies recorded by `note_call` are called
        again.
        """
        self._all_due()
        self._rounds.is_second_wanted = True

    def note_call(self, key: Hashable) -> None:
        """Record the call of a webhook or policy that may be called a second time."""
        self._called.add(key)

    def _all_due(self) -> None:
        self._due |= self._called
        self._called.clear()

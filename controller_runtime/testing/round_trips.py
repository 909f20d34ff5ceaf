# SPDX-License-Identifier: Apache-2.0
"""Tests the round trips of a conversion with objects of both classes that hypothesis generates.

Two properties are tested. An object that is converted and converted back is the same. And a converted object that is
changed keeps that change: a value of the other version that the annotation keeps must not undo it.

Importing this module needs hypothesis.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import attrs
import msgspec
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from apimachinery.texts import bounded
from controller_runtime.api.differ import ChangedField, changes_of, merge_patch, merge_patched
from controller_runtime.api.unreadable import UnreadableObject
from controller_runtime.crd.conversion import Conversion, content_of, with_patch
from controller_runtime.crd.types import CustomResource
from controller_runtime.crd.writing import written
from controller_runtime.testing.strategies import strategy_of

A = TypeVar("A", bound=CustomResource)
B = TypeVar("B", bound=CustomResource)

_MOST_TOLD = 5  # paths that a message names
_LONGEST = 200  # characters of a value in a message


def check_round_trips(conversion: Conversion[Any, Any], *, examples: int = 100) -> None:
    """Test a conversion with objects of both classes: each must come back the same, and a change must survive.

    An object is converted and converted back, from either class. Then a converted object gets other content, first in
    all fields and then in one; converted there and back, it must still have that content. If the other class can
    express the change of the one field, the change must also show there. The annotation `keep` is not compared, because
    a conversion sets and removes it as it needs.

    Args:
        conversion: The conversion.
        examples: The number of objects of each class.

    Raises:
        AssertionError: An object came back as another one, or without its change. The message names the paths
            that differ; hypothesis shows the smallest objects that it found.
        ValueError: Something would be lost, and no annotation keeps it.
    """
    name, keep = str(conversion), conversion.keep
    forth = Trip(f"{name} and back", conversion.upgrade, conversion.downgrade, keep)
    back = Trip(f"the way back of {name} and there again", conversion.downgrade, conversion.upgrade, keep)

    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=[
            Phase.generate,
            Phase.shrink,
        ],  # without `explain`, which takes ten times as long; the message has paths
        suppress_health_check=[HealthCheck.too_slow],
        report_multiple_bugs=False,  # a group of errors would hide the message
    )
    @given(old=strategy_of(conversion.older), new=strategy_of(conversion.newer), field=st.integers(0, 63))
    def check(old: Any, new: Any, field: int) -> None:
        forth.require_same(old)
        back.require_same(new)
        forth.require_changes(conversion.downgrade(new), old, field)
        back.require_changes(conversion.upgrade(old), new, field)

    check()


@attrs.frozen
class Trip(Generic[A, B]):
    """The conversion of objects of one class to the other class and back.

    Attributes:
        name: The name, for messages.
        there: Converts an object to the other class.
        back: Converts an object of the other class back.
        keep: The annotation that the two may set and remove.
    """

    name: str
    there: Callable[[A], B]
    back: Callable[[B], A]
    keep: str

    def require_same(self, obj: A, changes: Sequence[ChangedField] = ()) -> None:
        """Convert an object there and back, and compare.

        Args:
            obj: The object.
            changes: The fields that were changed since it was converted, for the message.

        Raises:
            AssertionError: The result differs from the object.
        """
        found = changes_of(self._compared(obj), self._compared(self.back(self.there(obj))))
        if not found:
            return
        told = _listed([_step(change) for change in found])
        if not changes:
            raise AssertionError(f"{self.name} gives another object: {told}")
        lost = _listed([_step(change) for change in changes])
        raise AssertionError(f"{self.name} loses a change of a converted object, {lost}: in the end it has {told}")

    def require_changes(self, converted: A, other: A, field: int) -> None:
        """Change a converted object, convert it there and back, and check that the change is still there.

        Args:
            converted: An object that was converted from the other class.
            other: An object with the new content: first all of it is taken, then one field only.
            field: The number of that field among those that differ; beyond the last the count starts again.

        Raises:
            AssertionError: A change is lost.
        """
        before, after = content_of(converted), content_of(other)
        if not (changes := changes_of(before, after)):
            return
        self.require_same(with_patch(converted, merge_patch(before, after)), changes)
        change = changes[field % len(changes)]
        try:
            changed = with_patch(converted, change.patch)
        except UnreadableObject:
            return  # the class does not allow this field beside the others
        self.require_same(changed, [change])
        self._require_arrival(converted, changed, change)

    def _require_arrival(self, converted: A, changed: A, change: ChangedField) -> None:
        """Raise AssertionError if the change of a field has an effect in the other class, but not next to what is kept.

        A field may have an effect on several fields of the other class, some of which are kept; one has to show it.
        """
        before, after = (content_of(self.there(self._without_kept(obj))) for obj in (converted, changed))
        effects = changes_of(before, after)
        arrived = content_of(self.there(changed))
        if effects and all(merge_patch(arrived, merge_patched(arrived, effect.patch)) for effect in effects):
            raise AssertionError(
                f"{self.name} undoes a change of a converted object, {_step(change)}, by what the annotation keeps: "
                f"without the annotation the other class has {_listed([_step(effect) for effect in effects])}"
            )

    def _without_kept(self, obj: A) -> A:
        annotations = {name: text for name, text in (obj.metadata.annotations or {}).items() if name != self.keep}
        metadata = msgspec.structs.replace(obj.metadata, annotations=annotations or None)
        return msgspec.structs.replace(obj, metadata=metadata)

    def _compared(self, obj: A) -> dict[str, Any]:
        return {"metadata": written(self._without_kept(obj).metadata), **content_of(obj)}


def _step(change: ChangedField) -> str:
    return f"{change.path} {_shown(change.old)} → {_shown(change.new)}"


def _shown(value: Any) -> str:
    return "absent" if value is None else bounded(msgspec.json.encode(value).decode(), _LONGEST)


def _listed(texts: Sequence[str]) -> str:
    more = f", and {len(texts) - _MOST_TOLD} more" if len(texts) > _MOST_TOLD else ""
    return ", ".join(texts[:_MOST_TOLD]) + more

# SPDX-License-Identifier: Apache-2.0
"""Conversions whose round trips hold, and conversions that lose a field or a change, each found with the path."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from controller_runtime import ObjectMeta
from controller_runtime.api.differ import merge_patch, merge_patched
from controller_runtime.crd import Conversion, CustomResource, Meta, Struct, converts, custom_resource
from controller_runtime.testing import check_round_trips
from controller_runtime.testing.round_trips import ChangedField, Trip, changes_of

KEEP = "example.com/widget"
Length = Annotated[int, Meta(ge=1, le=9)]


class OldSpec(Struct):
    size: Length
    depth: int = 0


class Dimensions(Struct):
    width: Length
    height: Length


class Spec(Struct):
    dimensions: Dimensions
    note: int | None = None


@custom_resource("example.com/v1alpha1", kind="Widget")
class OldWidget(CustomResource):
    spec: OldSpec


@custom_resource("example.com/v1")
class Widget(CustomResource):
    spec: Spec


def conversion(
    there: Callable[[OldSpec], Spec] = lambda old: Spec(Dimensions(old.size, old.size)),
    back: Callable[[Spec], OldSpec] = lambda new: OldSpec(new.dimensions.width),
    keep: str = KEEP,
) -> Conversion[OldWidget, Widget]:
    @converts(OldWidget, Widget, keep=keep)
    def widgets(old: OldWidget) -> Widget:
        return Widget(there(old.spec), metadata=old.metadata)

    @widgets.back
    def older(new: Widget) -> OldWidget:
        return OldWidget(back(new.spec), metadata=new.metadata)

    return widgets


def a_widget(width: int, height: int, note: int | None = None) -> Widget:
    return Widget(Spec(Dimensions(width, height), note), metadata=ObjectMeta(name="example", namespace="default"))


def an_old_widget(size: int, depth: int = 0) -> OldWidget:
    return OldWidget(OldSpec(size, depth), metadata=ObjectMeta(name="example", namespace="default"))


def forth(conversion: Conversion[OldWidget, Widget]) -> Trip[OldWidget, Widget]:
    return Trip("forth and back", conversion.upgrade, conversion.downgrade, KEEP)


def back(conversion: Conversion[OldWidget, Widget]) -> Trip[Widget, OldWidget]:
    return Trip("back and forth", conversion.downgrade, conversion.upgrade, KEEP)


def test_an_annotation_that_is_not_needed_any_more_is_no_difference() -> None:
    widgets = conversion()
    converted = widgets.downgrade(a_widget(2, 1))
    assert KEEP in (converted.metadata.annotations or {})

    forth(widgets).require_changes(converted, an_old_widget(1), 0)


def test_a_correct_conversion_passes() -> None:
    check_round_trips(conversion(), examples=20)


def test_a_conversion_that_keeps_nothing_is_found() -> None:
    with pytest.raises(ValueError, match=r"loses .*\.spec\."):
        check_round_trips(conversion(keep=""), examples=20)


def test_a_field_that_comes_back_with_another_value_is_named() -> None:
    class Careless(Conversion[OldWidget, Widget]):
        def upgrade(self, obj: OldWidget) -> Widget:
            return a_widget(obj.spec.size, obj.spec.size, 5)

        def downgrade(self, obj: Widget) -> OldWidget:
            return an_old_widget(min(obj.spec.dimensions.width + 1, 9))

    careless = Careless(OldWidget, Widget, lambda old: a_widget(1, 1), KEEP)
    with pytest.raises(AssertionError) as raised:
        forth(careless).require_same(an_old_widget(3))
    assert str(raised.value) == "forth and back gives another object: .spec.size 3 → 4"
    with pytest.raises(AssertionError) as raised:
        back(careless).require_same(a_widget(2, 2))
    assert str(raised.value) == (
        "back and forth gives another object: .spec.dimensions.width 2 → 3, .spec.dimensions.height 2 → 3, "
        ".spec.note absent → 5"
    )
    with pytest.raises(AssertionError, match=r"OldWidget to Widget and back gives another object: \.spec\.size 1 → 2"):
        check_round_trips(careless, examples=20)


def test_a_label_that_is_lost_is_named() -> None:
    widgets = conversion()

    def without_labels(obj: OldWidget) -> Widget:
        made = widgets.upgrade(obj)
        return structs.replace(made, metadata=structs.replace(made.metadata, labels=None))

    labelled = OldWidget(OldSpec(1), metadata=ObjectMeta(name="example", labels={"a/b": "c"}))
    with pytest.raises(AssertionError, match=r'another object: \.metadata\.labels {"a/b":"c"} → absent'):
        Trip("forth and back", without_labels, widgets.downgrade, KEEP).require_same(labelled)


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(
            conversion(back=lambda new: OldSpec(min(new.dimensions.width + 1, 9))), id="the way back is not the inverse"
        ),
        pytest.param(
            conversion(there=lambda old: Spec(Dimensions(5, old.size)), back=lambda new: OldSpec(new.dimensions.width)),
            id="the field comes from the annotation alone",
        ),
    ],
)
def test_a_change_that_the_annotation_undoes_is_found(wrong: Conversion[OldWidget, Widget]) -> None:
    for widget in (an_old_widget(3), an_old_widget(3, 4)):
        forth(wrong).require_same(widget)  # since what would be lost is kept
    back(wrong).require_same(a_widget(2, 7))

    with pytest.raises(AssertionError, match=r"(undoes|loses) a change of a converted object, \.spec\."):
        check_round_trips(wrong, examples=20)


def test_a_change_of_one_field_that_only_other_changes_make_survive_is_found() -> None:
    """The depth is believed only if the size has changed, too."""

    class Hasty(Conversion[OldWidget, Widget]):
        def upgrade(self, obj: OldWidget) -> Widget:
            first = (obj.metadata.annotations or {}).get("first", "")
            depth = 0 if first == f"{obj.spec.size}" else obj.spec.depth
            return Widget(Spec(Dimensions(obj.spec.size, obj.spec.size), depth), metadata=obj.metadata)

        def downgrade(self, obj: Widget) -> OldWidget:
            annotations = {"first": f"{obj.spec.dimensions.width}"}
            metadata = ObjectMeta(name="example", namespace="default", annotations=annotations)
            return OldWidget(OldSpec(obj.spec.dimensions.width, obj.spec.note or 0), metadata=metadata)

    hasty = Hasty(OldWidget, Widget, lambda old: a_widget(1, 1), KEEP)
    trip = Trip("forth and back", hasty.upgrade, hasty.downgrade, "first")
    converted = hasty.downgrade(a_widget(2, 2))

    trip.require_changes(converted, an_old_widget(3, 4), 0)
    with pytest.raises(AssertionError) as raised:
        trip.require_changes(converted, an_old_widget(3, 4), 1)
    assert str(raised.value) == (
        "forth and back loses a change of a converted object, .spec.depth 0 → 4: in the end it has .spec.depth 4 → 0"
    )


CHANGES = [
    ({}, {}, []),
    ({"a": {"b": 1}}, {"a": {"b": 2}}, [ChangedField(".a.b", 1, 2, {"a": {"b": 2}})]),
    ({"a": {"b": 1}}, {}, [ChangedField(".a", {"b": 1}, None, {"a": None})]),
    ({}, {"a": {"b": 1}}, [ChangedField(".a", None, {"b": 1}, {"a": {"b": 1}})]),
    (
        {"a": [1], "b": 1},
        {"a": [2], "b": None},
        [ChangedField(".a", [1], [2], {"a": [2]}), ChangedField(".b", 1, None, {"b": None})],
    ),
    ({"a": {"b": 1, "c": 1}}, {"a": {"b": 1, "c": 2}}, [ChangedField(".a.c", 1, 2, {"a": {"c": 2}})]),
]


@pytest.mark.parametrize(("before", "after", "expected"), CHANGES)
def test_each_field_that_differs_is_a_change(
    before: dict[str, Any], after: dict[str, Any], expected: list[ChangedField]
) -> None:
    assert changes_of(before, after) == expected


CONTENTS = st.recursive(
    st.integers(0, 2),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
)
OBJECTS = st.dictionaries(st.sampled_from("abc"), CONTENTS, max_size=3)


@settings(max_examples=50, deadline=None, derandomize=True)
@given(before=OBJECTS, after=OBJECTS)
def test_all_changes_one_by_one_are_the_whole_change(before: dict[str, Any], after: dict[str, Any]) -> None:
    made = before
    for change in changes_of(before, after):
        made = merge_patched(made, change.patch)

    assert merge_patch(made, after) == {}

# SPDX-License-Identifier: Apache-2.0
"""The content of caches whose readers do not say it: field by field, the narrower scope first."""

from __future__ import annotations

import pytest

from apimachinery.errors import UsageError
from controller_runtime.api.collection import Collection
from controller_runtime.api.resources import NODES, PODS
from controller_runtime.cache.scope import CacheScope, Scopes, covers, without_covered

S = CacheScope
ALL = Collection(PODS)


def pods(namespace: str = "", labels: str = "", fields: str = "") -> Collection:
    return Collection(PODS, namespace, labels, fields)


@pytest.mark.parametrize(
    ("scopes", "asked", "cached"),
    [
        pytest.param(Scopes(), ALL, [ALL], id="nothing is set"),
        pytest.param(Scopes(S(namespaces=("a", "b"))), ALL, [pods("a"), pods("b")], id="namespaces of all kinds"),
        pytest.param(Scopes(S(namespaces=("a",)), S(namespaces=())), ALL, [ALL], id="a kind in every namespace"),
        pytest.param(Scopes(S(namespaces=("a",)), S(namespaces=("b",))), ALL, [pods("b")], id="a kind elsewhere"),
        pytest.param(Scopes(S(namespaces=("a", "b"))), pods("c"), [pods("c")], id="the reader names a namespace"),
        pytest.param(Scopes(S(label_selector="x")), ALL, [pods(labels="x")], id="labels of all kinds"),
        pytest.param(Scopes(S(label_selector="x"), S(label_selector="y")), ALL, [pods(labels="y")], id="of the kind"),
        pytest.param(Scopes(S(label_selector="x"), S(label_selector="")), ALL, [ALL], id="a kind without"),
        pytest.param(Scopes(S(label_selector="x")), pods(labels="z"), [pods(labels="z")], id="the reader names labels"),
        pytest.param(
            Scopes(S(label_selector="x"), S(field_selector="f=1")), ALL, [pods("", "x", "f=1")], id="field by field"
        ),
        pytest.param(
            Scopes(S(namespaces={"a": S(label_selector="n"), "b": S()}, label_selector="x")),
            ALL,
            [pods("a", "n"), pods("b", "x")],
            id="labels of a namespace",
        ),
        pytest.param(
            Scopes(S(namespaces={"a": S(label_selector="n")}), S(label_selector="k")),
            ALL,
            [pods("a", "k")],
            id="the kind before the namespace of all kinds",
        ),
        pytest.param(
            Scopes(S(namespaces={"a": S(label_selector="n")}), S(namespaces={"a": S(), "b": S(label_selector="m")})),
            ALL,
            [pods("a", "n"), pods("b", "m")],
            id="a namespace of the kind falls back to that of all kinds",
        ),
        pytest.param(
            Scopes(S(namespaces={"a": S(label_selector="n"), "": S(field_selector="f=1")})),
            ALL,
            [pods("a", "n"), pods("", "", "metadata.namespace!=a,f=1")],
            id="one namespace apart from all others",
        ),
        pytest.param(Scopes(S(namespaces=("a",)), namespace="m"), ALL, [pods("m")], id="the manager's namespace"),
        pytest.param(Scopes(kind=S(namespaces=("k",)), namespace="m"), ALL, [pods("k")], id="the kind before it"),
        pytest.param(
            Scopes(S(namespaces=("a",), label_selector="x")),
            Collection(NODES),
            [Collection(NODES, "", "x")],
            id="a cluster-scoped kind has no namespaces",
        ),
    ],
)
def test_a_field_that_is_not_set_follows_from_the_next_wider_scope(
    scopes: Scopes, asked: Collection, cached: list[Collection]
) -> None:
    assert scopes.of(asked) == cached


def test_scopes_that_cannot_be_are_refused() -> None:
    with pytest.raises(UsageError, match="cluster-scoped"):
        Scopes(kind=S(namespaces=("a",))).of(Collection(NODES))
    with pytest.raises(UsageError, match="several names"):
        S(namespaces="default")
    with pytest.raises(UsageError, match="selectors alone"):
        S(namespaces={"a": S(namespaces=("b",))})


@pytest.mark.parametrize(
    ("wide", "narrow", "is_covered"),
    [
        (ALL, pods("a", "x", "f=1"), True),
        (pods("a"), pods("b"), False),
        (pods("a"), ALL, False),
        (pods(labels="app=a"), pods("n", "tier=b,app=a"), True),
        (pods(labels="app=a"), pods(labels="app=b"), False),
        (
            pods(labels="app in (a,b)"),
            pods(labels="app=a"),
            False,
        ),  # it is, but only a requirement that is equal counts
        (pods(fields="f=1"), pods(fields="g=2,f=1"), True),
        (pods(fields="f=1"), ALL, False),
        (Collection(NODES), ALL, False),
    ],
)
def test_a_collection_covers_another_that_asks_for_as_much_and_more(
    wide: Collection, narrow: Collection, is_covered: bool
) -> None:
    assert covers(wide, narrow) is is_covered
    kept = [narrow.normalized()] if not is_covered else []
    assert [each for each in without_covered([narrow, wide, narrow]) if each != wide.normalized()] == kept


def test_a_selector_that_cannot_be_read_is_refused_with_its_collection() -> None:
    with pytest.raises(UsageError, match=r"^pods in a with app===: a selector cannot be read: unable to parse"):
        Collection(PODS, "a", label_selector="app===").normalized()

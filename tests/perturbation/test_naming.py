# SPDX-License-Identifier: Apache-2.0
"""Names that differ between calm runs are paired by collection, namespace, kin and the parts that they share."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller_runtime.testing.perturbation.naming import Born, Naming, learn
from controller_runtime.testing.perturbation.world import State, differences, renamed
from embedded_apiserver.perturbation import Name

HEX = ("9c128468", "07aa51fe", "5be02c71", "b81f93d0")
NO_KIN = frozenset[tuple[str, str]]()


def born(*keys: str, resource: str = "secrets", **labels: str) -> dict[Name, frozenset[tuple[str, str]]]:
    return {Name(resource, key): frozenset(labels.items()) for key in keys}


def keys(naming: Naming, run: Born) -> list[str]:
    names = naming.names(run)
    return [names.get(name, name).key for name in run]


@pytest.mark.parametrize(
    ("templates", "found"),
    [
        (["n/a-{}"], ["n/a-*"]),
        (["n/a-{}", "n/b-{}"], ["n/a-*", "n/b-*"]),
        (["n/a-{}", "n/steady"], ["n/a-*", "n/steady"]),
        (["n/w-0.{}", "n/w-1.{}"], ["n/w-0.*", "n/w-1.*"]),
        (["n/web-{}-*"], ["n/web-*-*"]),
        (["{}"], ["*"]),
        (["n/a:{}:b"], ["n/a:*:b"]),
    ],
)
def test_the_parts_that_all_runs_share_are_kept(templates: list[str], found: list[str]) -> None:
    *calm, here = [born(*(each.format(text) for each in templates)) for text in HEX]
    naming = learn(calm)

    assert keys(naming, here) == found
    assert not naming.has_unpaired


def test_a_name_of_another_kin_collection_namespace_or_length_is_not_paired() -> None:
    naming = learn([born(f"n/a-{text}", app="x") for text in HEX[:3]])
    same = born(f"n/a-{HEX[3]}", app="x")

    assert keys(naming, same) == ["n/a-*"]
    for other in (
        born(f"n/a-{HEX[3]}", app="y"),
        born(f"n/a-{HEX[3]}"),
        born(f"m/a-{HEX[3]}", app="x"),
        born(f"n/a-{HEX[3]}", resource="pods", app="x"),
        born(f"n/b-{HEX[3]}", app="x"),
        born("n/a-abc", app="x"),
        born(f"n/a-{HEX[3] * 3}", app="x"),
    ):
        assert keys(naming, other) == [name.key for name in other]
        assert naming.judges(*other)


def test_labels_and_owners_that_differ_themselves_do_not_keep_names_apart() -> None:
    naming = learn([born(f"n/a-{text}", worker=text, app="x") for text in HEX[:3]])

    assert keys(naming, born(f"n/a-{HEX[3]}", worker=HEX[3], app="x")) == ["n/a-*"]
    assert keys(naming, born(f"n/a-{HEX[3]}", app="x")) == [f"n/a-{HEX[3]}"]


def test_a_namespace_with_a_name_of_its_own_is_the_same_place_in_each_run() -> None:
    *calm, here = [{**born(f"team-{text}", resource="namespaces"), **born(f"team-{text}/db")} for text in HEX]

    assert keys(learn(calm), here) == ["team-*", "team-*/db"]


def test_what_one_run_has_alone_is_loose_and_what_some_have_is_by_chance() -> None:
    twice, lone = "n/some", "n/x-1-2"
    naming = learn([born("n/a", twice), born("n/a", twice), born("n/a", lone)])

    assert naming.judges(Name("secrets", "n/a"))
    assert not naming.judges(Name("secrets", twice))
    assert not naming.judges(Name("secrets", "n/never-seen"))
    assert naming.judges(Name("secrets", "m/never-seen"))
    assert naming.judges(Name("pods", "n/never-seen"))


@given(st.lists(st.sampled_from(["n/a", "n/b-1", "m/c.d:e"]), unique=True), st.integers(1, 4))
def test_runs_that_are_alike_have_no_patterns(names: list[str], count: int) -> None:
    naming = learn([born(*names)] * count)

    assert keys(naming, born(*names)) == names
    assert not naming.patterns
    assert not naming.has_unpaired


def test_objects_that_name_each_other_do_so_by_the_names_in_every_run() -> None:
    def world(text: str) -> State:
        return {
            Name("secrets", f"n/a-{text}"): [{"metadata": {"name": f"a-{text}"}}],
            Name("pods", "n/web"): [{"spec": {"secret": f"a-{text}", "url": f"http://a-{text}.n.svc/x"}}],
        }

    naming = learn([born(f"n/a-{text}") for text in HEX[:3]])
    calm, here = (renamed(world(text), naming.names(born(f"n/a-{text}"))) for text in (HEX[0], HEX[3]))

    assert differences(calm, here) == []
    assert here[Name("pods", "n/web")] == [{"spec": {"secret": "a-*", "url": "http://a-*.n.svc/x"}}]


def test_objects_of_one_name_are_compared_with_the_most_similar_ones() -> None:
    name = Name("pods", "n/a-*")
    calm = {name: [{"a": 1, "b": 1, "c": 1}, {"a": 2, "b": 2, "c": 2}]}
    here = {name: [{"a": 0, "b": 2, "c": 2}, {"a": 9, "b": 1, "c": 1}]}

    assert [(each.path, each.calm, each.here) for each in differences(calm, here)] == [("a", 1, 9), ("a", 2, 0)]

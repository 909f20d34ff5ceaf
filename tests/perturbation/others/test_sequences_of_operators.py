# SPDX-License-Identifier: Apache-2.0
"""Sequences of states of an operator that is perturbed from outside: which are played, and how they are judged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.perturbation.recorded_runs import CLAIM, POD, a_run

from apimachinery.system import SystemHost
from controller_runtime.client.client import Client
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.testing.perturbation.judging import Baseline, learn
from controller_runtime.testing.perturbation.others import sequences
from controller_runtime.testing.perturbation.others.sequences import LastRest, declared, in_turn, shorter
from controller_runtime.testing.perturbation.others.story import Act, Story, act
from controller_runtime.testing.perturbation.plans import from_json, to_json
from controller_runtime.testing.perturbation.record import Rest, Run
from controller_runtime.testing.perturbation.sequence import walk_of
from controller_runtime.testing.perturbation.sequence_story import Primary
from embedded_apiserver import APIServer

STORY = Path(__file__).parent / "hostile" / "widgets_story.yaml"
WIDGET = {"apiVersion": "example.com/v1", "kind": "Widget"}
MAP = Act("apply", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}})


def a_patch(spec: Any) -> Act:
    return Act("patch", {**WIDGET, "name": "a", "patch": {"spec": spec}})


def a_story(*more: Act) -> Story:
    story = Story.read(STORY)
    return Story(story.before, [MAP, *story.steps, Act("wait", {"seconds": 1.0}), *more])


def primary(*more: Act) -> Primary:
    host = SystemHost()
    server = APIServer(host)
    client = Client(host, InProcessTransport(host, server))
    story = a_story(*more)
    for each in story.before:
        act(client, each, lambda _: None)
    (found,) = declared(server.kinds, story)
    server.close()
    return found


def test_the_states_of_an_object_of_a_custom_kind_are_those_that_the_story_declares() -> None:
    found = primary(a_patch({"data": {"b": "w"}}), Act("delete", {**WIDGET, "name": "a"}))

    assert str(found.target) == "widgets.example.com default/a"
    assert found.metadata == {"labels": {"app": "hostile"}}
    assert found.states == [{"spec": {"data": {"k": "v"}}}, {"spec": {"data": {"k": "v", "b": "w"}}}]


def test_each_sequence_begins_and_ends_with_the_last_state_of_the_story_and_one_deletes_the_object() -> None:
    found = primary(a_patch({"data": {"b": "w"}}))
    plans = sequences.sequences(found)
    walks = [walk_of(found, each) for each in plans]

    assert [str(each) for each in plans[:2]] == [f"sequence {at} of widgets.example.com default/a" for at in (1, 2)]
    assert {each.number for each in plans} == {*range(1, len(plans) + 1)}
    assert walks[0] == [found.states[-1], None, found.states[-1]]
    assert all(each[0] == each[-1] == found.states[-1] and 2 < len(each) <= 5 for each in walks)
    assert [*map(len, walks[1:-1])] == [5] * (len(walks) - 2)
    assert from_json(to_json(plans[1])) == plans[1]


def test_the_story_of_a_sequence_has_the_other_objects_first_and_states_that_the_server_may_refuse() -> None:
    found = primary()
    plan = sequences.sequences(found)[0]

    told = sequences.story_of(a_story(), found, plan).steps

    assert [str(each) for each in told] == [
        "apply ConfigMap m",
        "apply Widget default/a",
        "delete Widget default/a",
        "apply Widget default/a",
    ]
    assert [each.is_drawn for each in told] == [False, True, True, True]
    assert [each.is_passing for each in told] == [False, True, True, False]
    assert told[1].body["metadata"] == {"name": "a", "namespace": "default", "labels": {"app": "hostile"}}
    calm = sequences.calm_story(a_story(), found).steps
    assert [str(each) for each in calm] == ["apply ConfigMap m", "apply Widget default/a"]
    assert not any(each.is_drawn for each in calm)


def test_a_sequence_is_told_by_what_each_state_changes() -> None:
    found = primary()

    assert sequences.told(found, sequences.sequences(found)[1]).startswith(
        'widgets.example.com default/a was declared as by the story, then {"spec":{"data":{'
    )
    assert sequences.told(found, sequences.sequences(found)[0]).endswith("as by the story, then deleted, then {}")


def test_a_sequence_is_shortened_to_each_of_its_states_alone() -> None:
    found = primary()
    long, short = sequences.sequences(found)[1], sequences.sequences(found)[0]
    home = found.states[-1]

    assert [walk_of(found, each) for each in shorter(found, long)] == [
        [home, each, home] for each in walk_of(found, long)[1:-1]
    ]
    assert shorter(found, short) == []


STATES = st.dictionaries(st.sampled_from("abc"), st.integers(0, 2), max_size=3)


@given(STATES, st.lists(STATES, max_size=8))
def test_neighbours_come_in_turn_and_none_is_lost(home: dict[str, int], near: list[dict[str, int]]) -> None:
    found = in_turn(home, near)

    assert sorted(map(str, found)) == sorted(map(str, near))


def test_of_neighbours_the_first_of_each_field_come_first() -> None:
    home = {"spec": {"size": 1, "color": "red"}}
    sizes = [{"spec": {"size": size, "color": "red"}} for size in (2, 3)]
    color = {"spec": {"size": 1, "color": "blue"}}

    assert in_turn(home, [*sizes, color]) == [sizes[0], color, sizes[1]]


def at(size: int, name: Any = POD, **more: Any) -> Run:
    made: Run = a_run(rests=[Rest({}), Rest({name: [{"spec": {"size": size}}]})], **more)
    return made


def baseline() -> Baseline:
    return learn([at(1), at(1)])


@pytest.mark.parametrize(
    ("here", "complaints"),
    [
        (at(1), []),
        (at(2), ["pods default/web spec.size: 1 in a calm run, 2 here"]),
        (at(1, failures=["step 2: it ended"]), ["step 2: it ended"]),
        (at(1, broken=["`x` does not hold"]), ["`x` does not hold"]),
        (at(2, failures=["over"], is_whole=False), ["over"]),
    ],
)
def test_the_end_of_a_sequence_is_that_of_its_last_state_alone(here: Run, complaints: list[str]) -> None:
    verdict = sequences.judge(baseline(), here)

    assert verdict.complaints == complaints
    assert verdict.differs_alone is (complaints == ["pods default/web spec.size: 1 in a calm run, 2 here"])


def test_a_claim_of_an_earlier_state_may_stay_and_a_pod_may_not() -> None:
    empty = learn([a_run(rests=[Rest({})]), a_run(rests=[Rest({})])])

    assert sequences.judge(empty, at(1, CLAIM)).complaints == []
    assert sequences.judge(empty, at(1)).complaints[0].startswith("pods default/web: absent in a calm run")


def test_a_run_waits_for_the_calm_world_once_its_last_state_is_declared_and_not_before() -> None:
    goal, other = LastRest(baseline(), 3), at(2)

    assert goal.run.rests == at(1).rests
    assert goal.is_at(2, other, other.rests[-1].state)
    assert not goal.is_at(3, other, other.rests[-1].state)
    assert goal.is_at(3, at(1), at(1).rests[-1].state)

# SPDX-License-Identifier: Apache-2.0
"""A story in a file is read, or refused in one line that says where and how to mend it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from apimachinery.errors import UsageError
from apimachinery.objects import ObjectKey
from controller_runtime.api.resources import NAMESPACES, PODS
from controller_runtime.testing.cluster import EmbeddedCluster
from controller_runtime.testing.perturbation.others.story import Act, ActFailed, Story, act
from controller_runtime.testing.perturbation.others.until import Until
from controller_runtime.testing.perturbation.unseen import LEFT_OUT
from controller_runtime.testing.simulation import Simulation

POD = "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: c, image: i}]}}"


def story(folder: Path, text: str) -> Story:
    (folder / "story.yaml").write_text(text, encoding="utf-8")
    return Story.read(folder / "story.yaml")


def test_acts_are_read_in_their_order_and_files_lie_beside_the_story(tmp_path: Path) -> None:
    (tmp_path / "two.yaml").write_text(f"{POD}\n---\n{POD}\n", encoding="utf-8")

    read = story(tmp_path, "before: [{file: two.yaml}]\nsteps: [{wait: 2}, {delete: {kind: Pod, name: a}}]\n")

    assert [str(each) for each in read.before] == ["apply Pod a"] * 2
    assert [str(each) for each in read.steps] == ["wait 2 s", "delete Pod a"]


def test_manifests_are_a_story_also_those_of_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "manifests"
    folder.mkdir()
    (folder / "2.yaml").write_text(f"{POD}\n---\n{POD}", encoding="utf-8")
    (folder / "1.json").write_text(json.dumps({"kind": "Namespace", "metadata": {"name": "b"}}), encoding="utf-8")
    (folder / "notes.txt").write_text("no manifest", encoding="utf-8")

    read = Story.read(folder)

    assert [str(each) for each in read.before] == ["apply Namespace b"]
    assert [str(each) for each in read.steps] == ["apply Pod a"] * 2
    assert [str(each) for each in story(tmp_path, "steps: [{file: manifests}]").steps] == [
        "apply Namespace b",
        "apply Pod a",
        "apply Pod a",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1]", "a story has the fields `steps` and `before`"),
        ("{}", "a story needs `steps`, such as `- apply: "),
        ("stops: []", "'stops' is not a field of a story: there are before, outsides, ready, steps, always, never,"),
        ("steps: [{create: {}}]", "steps 1: an act has one of apply, file, patch, delete, wait, such as"),
        ("steps: [{wait: soon}]", "steps 1: `wait` takes seconds, not 'soon'"),
        ("steps: [{apply: {kind: Pod}}]", "steps 1: `apply` needs `apiVersion`, `kind` and a name"),
        ("steps: [{patch: {kind: Pod, name: a}}]", "steps 1: `patch` needs the field `patch`, a merge patch"),
        ("steps: [{file: gone.yaml}]", "gone.yaml: No such file or directory"),
        (
            "{ready: soon, steps: [{wait: 1}]}",
            "ready: it takes `log: TEXT`, which the operator prints, or `until: {…}`",
        ),
        ("steps: [{wait: 1, until: soon}]", "steps 1: `until` takes a kind, a name and a condition, such as {kind:"),
        ("steps: [{wait: 1, until: {kind: Pod, name: a, for: soon}}]", "steps 1: `for: soon` is not one of condition="),
        ("steps: [{wait: 1, until: {kind: Pod, name: a, for: create, in: b}}]", "steps 1: `until` has no field 'in'"),
        (
            "{always: soon, steps: [{wait: 1}]}",
            "`always` takes a list of expressions in CEL, such as `- size(Pod) <= 1`",
        ),
        ("{never: ['size(Pod'], steps: [{wait: 1}]}", "never 1: `size(Pod`: compilation failed: "),
        ("{always: [size(Pod)], steps: [{wait: 1}]}", "always 1: `size(Pod)`: must evaluate to bool but got int"),
        ("{kind: Namespace, metadata: {name: a}}", "all of its objects are there before the operator starts"),
        ("steps: [", "story.yaml: no YAML: "),
    ],
)
def test_what_is_no_story_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        story(tmp_path, text)

    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_acts_change_the_world_and_a_refused_one_is_named(tmp_path: Path, sim: Simulation) -> None:
    read = story(
        tmp_path,
        f"steps: [{{apply: {POD}}}, {{patch: {{kind: Pod, name: a, patch: {{metadata: {{labels: {{b: c}}}}}}}}}}]",
    )
    with EmbeddedCluster(sim.host("here")) as cluster:
        for each in read.steps:
            act(cluster.user, each, sim.advance)

        assert cluster.user.get(PODS, ObjectKey("a", "default"), dict)["metadata"]["labels"] == {"b": "c"}
        with pytest.raises(ActFailed, match="the story's act `delete Namespace b` failed: "):
            act(cluster.user, Act("delete", {"kind": "Namespace", "name": "b"}), sim.advance)
        assert cluster.user.get(NAMESPACES, ObjectKey("default"))


UNTIL = {"kind": "Pod", "name": "a"}
STATUS = {
    "phase": "Running",
    "conditions": [{"type": "Ready", "status": "True"}, {"type": "Initialized", "status": "False"}],
    "containerStatuses": [{"ready": True, "restartCount": 2}],
}


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("create", True),
        ("delete", False),
        ("condition=Ready", True),
        ("condition=ready=True", True),
        ("condition=Initialized", False),
        ("condition=Initialized=False", True),
        ("condition=Scheduled", False),
        ("jsonpath={.status.phase}=Running", True),
        ("jsonpath='{.status.phase}'=Failed", False),
        ("jsonpath=.status.containerStatuses[0].restartCount=2", True),
        ("jsonpath={.status.containerStatuses[0].ready}=true", True),
        ("jsonpath={.status.containerStatuses[1].ready}=true", False),
        ("jsonpath={.metadata.labels['a.b/c']}=d", True),
    ],
)
def test_a_condition_holds_as_kubectl_wait_takes_it(condition: str, holds: bool, sim: Simulation) -> None:
    until = Until.read("here", {**UNTIL, "for": condition})
    with EmbeddedCluster(sim.host("here")) as cluster:
        assert until.holds(cluster.user) is (condition == "delete"), "there is no such object yet"
        cluster.user.create(
            PODS, {**yaml.safe_load(POD), "metadata": {"name": "a", "namespace": "default", "labels": {"a.b/c": "d"}}}
        )
        cluster.user.patch(PODS, ObjectKey("a", "default"), {"status": STATUS}, subresource="status")

        assert until.holds(cluster.user) is holds


def test_acts_in_another_order_leave_the_waits_and_the_rests_where_they_are(tmp_path: Path) -> None:
    read = story(tmp_path, f"steps: [{{apply: {POD}}}, {{wait: 2}}, {{delete: {{kind: Pod, name: a}}}}]")

    assert [str(each) for each in read.in_order((2, 1)).steps] == ["delete Pod a", "wait 2 s", "apply Pod a"]
    assert [str(each) for each in read.in_order((1, LEFT_OUT)).steps] == ["apply Pod a", "wait 2 s", "wait 0 s"]

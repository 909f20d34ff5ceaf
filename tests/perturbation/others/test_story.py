# SPDX-License-Identifier: Apache-2.0
"""A story in a file is read, or refused in one line that says where and how to mend it."""

from __future__ import annotations

from pathlib import Path

import pytest

from apimachinery.errors import UsageError
from apimachinery.objects import ObjectKey
from controller_runtime.api.resources import NAMESPACES, PODS
from controller_runtime.testing.cluster import EmbeddedCluster
from controller_runtime.testing.perturbation.others.story import Act, Story, act
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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1]", "a story has the fields `steps` and `before`"),
        ("{}", "a story needs `steps`, such as `- apply: "),
        ("stops: []", "'stops' is no field of a story: there are `before` and `steps`"),
        ("steps: [{create: {}}]", "steps 1: an act has one of apply, file, patch, delete, wait, such as"),
        ("steps: [{wait: soon}]", "steps 1: `wait` takes seconds, not 'soon'"),
        ("steps: [{apply: {kind: Pod}}]", "steps 1: `apply` needs `apiVersion`, `kind` and a name"),
        ("steps: [{patch: {kind: Pod, name: a}}]", "steps 1: `patch` needs the field `patch`, a merge patch"),
        ("steps: [{file: gone.yaml}]", "gone.yaml: No such file or directory"),
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
        with pytest.raises(UsageError, match="the story's act `delete Namespace b` failed: "):
            act(cluster.user, Act("delete", {"kind": "Namespace", "name": "b"}), sim.advance)
        assert cluster.user.get(NAMESPACES, ObjectKey("default"))

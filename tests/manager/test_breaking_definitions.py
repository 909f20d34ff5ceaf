# SPDX-License-Identifier: Apache-2.0
"""A definition whose change breaks what is stored is left as it is, unless that was allowed, and a rollback starts."""

from __future__ import annotations

from typing import Annotated, Any

import attrs
import pytest

from controller_runtime import Controller, Lister, Manager, ObjectKey, ObjectMeta, Reconciler, Request, Result
from controller_runtime.crd import DEFINITIONS, CustomResource, Meta, Struct, custom_resource, definition
from controller_runtime.errors import UsageError
from controller_runtime.manager.breaking_definitions import breaking_on_server
from controller_runtime.program.filling import choose_definitions
from controller_runtime.testing import EmbeddedCluster, Simulation

HUTS = ObjectKey("huts.example.com")
LEFT = "definition left as it is: its new form breaks what is stored; --allow-breaking installs it"


class OldSpec(Struct):
    label: str = ""
    beds: int = 1


class NewSpec(Struct):
    title: str = ""
    beds: Annotated[int, Meta(le=4)] = 1


class NumberSpec(Struct):
    label: int


@custom_resource("example.com/v1", kind="Hut")
class OldHut(CustomResource):
    spec: OldSpec


@custom_resource("example.com/v1", kind="Hut")
class NewHut(CustomResource):
    spec: NewSpec


@custom_resource("example.com/v1", kind="Hut")
class NumberHut(CustomResource):
    spec: NumberSpec


@custom_resource("example.com/v2", kind="Hut")
class LaterHut(CustomResource):
    spec: OldSpec


@attrs.frozen
class Seeing(Reconciler):
    huts: Lister[Any]
    seen: list[ObjectKey] = attrs.field(factory=list)

    def reconcile(self, request: Request) -> Result:
        self.seen.append(request)
        return Result()


def program(manager: Manager, cls: type[CustomResource], *, allow_breaking: bool = False) -> Seeing:
    """Set a manager up as a program on a cluster that was given `--install-crds`."""
    manager.install(cls)
    seeing = Seeing(manager.lister(cls))
    manager.add(Controller("huts", seeing).watch(cls))
    choose_definitions(manager, embedded=False, asked=True, allow_breaking=allow_breaking)
    return seeing


def installed(cluster: EmbeddedCluster) -> set[str]:
    [version] = cluster.user.get(DEFINITIONS, HUTS)["spec"]["versions"]
    return {*version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]}


@pytest.fixture
def stored(cluster: EmbeddedCluster) -> EmbeddedCluster:
    """Return a cluster in which the old program has run, with three huts of it."""
    cluster.run(lambda manager: manager.install(OldHut))
    for name, spec in {"a": OldSpec("x", 9), "b": OldSpec("y"), "c": OldSpec()}.items():
        cluster.user.create(OldHut(spec, metadata=ObjectMeta(name=name, namespace="default")))
    return cluster


def test_the_changes_are_told_with_the_number_of_stored_objects_that_they_concern(stored: EmbeddedCluster) -> None:
    assert breaking_on_server(stored.user, definition(NewHut)) == [
        "v1.spec.label: is gone or has another name, and its stored values are dropped (2 of 3 stored objects)",
        "v1.spec.beds: has the maximum 4, and had none (1 of 3 stored objects)",
    ]
    assert breaking_on_server(stored.user, definition(OldHut)) == []


def test_a_definition_that_is_absent_breaks_nothing(cluster: EmbeddedCluster) -> None:
    assert breaking_on_server(cluster.user, definition(NewHut)) == []


def test_it_is_left_as_it_is_in_one_line_and_the_program_starts(
    simulation: Simulation, stored: EmbeddedCluster, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[Seeing] = []
    stored.restart(lambda manager: seen.append(program(manager, NewHut)))
    simulation.settle()

    assert installed(stored) == {"label", "beds"}
    assert [each.name for each in seen[-1].seen] == ["a", "b", "c"]
    assert len([one for one in caplog.records if LEFT in one.getMessage()]) == 1


def test_what_was_allowed_is_installed_and_told(stored: EmbeddedCluster, caplog: pytest.LogCaptureFixture) -> None:
    stored.restart(lambda manager: program(manager, NewHut, allow_breaking=True) and None)

    assert installed(stored) == {"title", "beds"}
    assert "definition changes, and breaks what is stored" in caplog.text


def test_a_rollback_starts_though_its_class_cannot_read_the_objects(
    simulation: Simulation, stored: EmbeddedCluster, caplog: pytest.LogCaptureFixture
) -> None:
    stored.restart(lambda manager: program(manager, NumberHut) and None)
    simulation.settle()

    assert installed(stored) == {"label", "beds"}
    assert stored.manager.controllers[0].reconciles == 3
    assert "NumberHut differs from its definition" in caplog.text


def test_a_program_whose_version_is_not_served_ends(simulation: Simulation) -> None:
    cluster = EmbeddedCluster(simulation.host("here"))
    cluster.run(lambda manager: manager.install(OldHut))
    cluster.restart(lambda manager: program(manager, LaterHut) and None)
    simulation.settle()

    with pytest.raises(UsageError, match=r"LaterHut cannot read the objects of huts.*has no version v2, only v1"):
        cluster.stop()


def test_a_server_of_our_own_has_each_definition(stored: EmbeddedCluster) -> None:
    def setup(manager: Manager) -> None:
        manager.install(NewHut)
        choose_definitions(manager, embedded=True, asked=False)

    stored.restart(setup)

    assert installed(stored) == {"title", "beds"}

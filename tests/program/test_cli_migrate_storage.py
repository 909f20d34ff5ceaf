# SPDX-License-Identifier: Apache-2.0
"""`python -m controller_runtime migrate-storage`: which definitions it means, and what it says."""

from __future__ import annotations

from pathlib import Path

import pytest
from kit.crd.cabins import Cabin, CabinSpec

from apimachinery.http import HTTPRequest, HTTPResponse
from controller_runtime import Client, ObjectMeta, Stop
from controller_runtime.client.storage_migration import StorageMigration
from controller_runtime.client.transport import TransportWrapper
from controller_runtime.crd import DEFINITIONS, definition
from controller_runtime.errors import ControllerRuntimeError, UsageError
from controller_runtime.program.cli_migrate_storage import definitions_of, migrate
from controller_runtime.testing import EmbeddedCluster

CABINS = str(Path(__file__).parents[2] / "examples" / "cabins.py")
ZONES = str(Path(__file__).parents[2] / "examples" / "zone_labels.py")


def test_a_definition_is_named_or_those_of_a_program_are_meant() -> None:
    assert definitions_of("huts.example.com") == ["huts.example.com"]
    assert definitions_of(f"{CABINS}:setup") == ["cabins.example.com"]


@pytest.mark.parametrize(
    ("what", "error"),
    [
        ("huts", r"'huts' names no definition: give PLURAL\.GROUP, such as huts\.example\.com, or MODULE:SETUP"),
        (ZONES, r"installs no definition: call manager\.install"),
        ("no_such_module:setup", "there is no module no_such_module"),
    ],
)
def test_a_name_that_means_nothing_is_refused(what: str, error: str) -> None:
    with pytest.raises(UsageError, match=error):
        definitions_of(what)


def a_migration(cluster: EmbeddedCluster, objects: int) -> tuple[StorageMigration, Stop]:
    """Returns a migration from an older storage version with the same fields."""
    body = definition(Cabin)
    newer = body["spec"]["versions"][0]
    older = {**newer, "name": "v0", "storage": True}
    newer["storage"] = False
    body["spec"]["versions"].append(older)
    cluster.user.create(DEFINITIONS, body)
    for number in range(objects):
        cluster.user.create(Cabin(CabinSpec(1), metadata=ObjectMeta(name=f"c{number}", namespace="default")))
    newer["storage"], older["storage"] = True, False
    cluster.user.apply(DEFINITIONS, body, field_manager="user", force=True)
    client = Client(cluster.user.host, cluster.user.transport)
    return StorageMigration(client, "cabins.example.com", rate=1e9), Stop(client.host)


def test_a_dry_run_tells_what_a_migration_then_does(
    cluster: EmbeddedCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    migration, stop = a_migration(cluster, 2)

    migrate(migration, stop, dry_run=True)
    migrate(migration, stop, dry_run=False)
    migrate(migration, stop, dry_run=False)

    assert capsys.readouterr().out.splitlines() == [
        "cabins.example.com: would rewrite 2 of 2 objects as v1, and remove v0 from status.storedVersions",
        "cabins.example.com: removed v0 from status.storedVersions",
        "cabins.example.com: all objects are stored as v1: nothing to do",
    ]


def test_a_migration_that_was_stopped_says_how_to_go_on(cluster: EmbeddedCluster) -> None:
    migration, stop = a_migration(cluster, 2)
    stop.set()

    with pytest.raises(ControllerRuntimeError, match="stopped after 0 of 2 objects: run it again to go on from there"):
        migrate(migration, stop, dry_run=False)


class Refusing(TransportWrapper):
    """Answers that an object is not valid."""

    def request(self, request: HTTPRequest, deadline: float) -> HTTPResponse:
        if "/cabins/" in request.path:
            return HTTPResponse(422, {}, b'{"kind": "Status", "message": "too old"}')
        return super().request(request, deadline)


def test_objects_that_cannot_be_rewritten_are_told(cluster: EmbeddedCluster) -> None:
    migration, stop = a_migration(cluster, 7)
    migration.client = Client(migration.client.host, Refusing(migration.client.transport))

    text = (
        "7 of 7 objects could not be rewritten, so nothing was pruned; mend them and run it again: default/c0: too old;"
    )
    with pytest.raises(ControllerRuntimeError, match=f"{text} .*; and 2 more$"):
        migrate(migration, stop, dry_run=False)

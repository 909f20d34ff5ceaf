# SPDX-License-Identifier: Apache-2.0
"""Each object is rewritten once, whatever happens meanwhile, and older versions are pruned at the end alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from apimachinery.errors import ConnectionLost
from apimachinery.http import HTTPRequest, HTTPResponse
from controller_runtime import Client, ObjectKey, Stop, spawn
from controller_runtime.client import storage_migration
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.client.storage_migration import Progress, StorageMigration
from controller_runtime.client.transport import TransportWrapper
from controller_runtime.crd import DEFINITIONS
from controller_runtime.crd.storage import ANNOTATION
from controller_runtime.errors import NotFound, UsageError
from controller_runtime.resources import Resource
from controller_runtime.testing import EmbeddedCluster, Simulation

HUTS = ObjectKey("huts.example.com")
V1, V2 = (Resource[dict[str, Any]]("example.com", version, "Hut", "huts") for version in ("v1", "v2"))
NAMES = [("default", f"h{number}") for number in range(6)]


def defined(storage: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"beds": {"type": "integer"}}}}}
    versions = [
        {"name": name, "served": True, "storage": name == storage, "schema": {"openAPIV3Schema": schema}}
        for name in ("v1", "v2")
    ]
    names = {"kind": "Hut", "plural": "huts"}
    spec = {"group": "example.com", "names": names, "scope": "Namespaced", "versions": versions}
    return {"metadata": {"name": HUTS.name}, "spec": spec}


class Watched(TransportWrapper):
    """Notes which objects are patched, and does something before each of these requests."""

    def __init__(self, inner: InProcessTransport) -> None:
        super().__init__(inner)
        self.patched: list[str] = []
        self.before: Callable[[str], HTTPResponse | None] = lambda name: None

    def request(self, request: HTTPRequest, deadline: float) -> HTTPResponse:
        if request.method == "PATCH" and "/huts/" in request.path:
            name = request.path.rpartition("/")[2]
            answer = self.before(name)
            if answer is not None:
                return answer
            self.patched.append(name)
        return super().request(request, deadline)


class Bench:
    """Six objects that were stored as v1, in a definition that stores v2 by now."""

    def __init__(self, simulation: Simulation, cluster: EmbeddedCluster) -> None:
        self.simulation, self.user = simulation, cluster.user
        self.host = simulation.host("admin")
        self.transport = Watched(InProcessTransport(self.host, cluster.server))
        self.stop = Stop(self.host, "migration")
        self.reports: list[Progress] = []
        self.user.apply(DEFINITIONS, defined("v1"), field_manager="user")
        for namespace, name in NAMES:
            self.user.create(V1, {"metadata": {"name": name, "namespace": namespace}, "spec": {"beds": 1}})
        self.user.apply(DEFINITIONS, defined("v2"), field_manager="user")

    def run(self, **options: Any) -> Progress:
        found: list[Progress | Exception] = []

        def report(_: object, progress: Progress) -> None:
            self.reports.append(progress)

        def run() -> None:
            migration = StorageMigration(Client(self.host, self.transport), HUTS.name, report=report, **options)
            try:
                found.append(migration.run(self.stop)[1])
            except Exception as error:  # noqa: BLE001  the test's own thread raises it
                found.append(error)

        thread = spawn(self.host, Stop(self.host), "migration", run)
        self.simulation.advance(600.0)
        assert thread.join_until(None)
        [result] = found
        if isinstance(result, Exception):
            raise result
        return result

    def definition(self) -> dict[str, Any]:
        return self.user.get(DEFINITIONS, HUTS)

    def stored(self) -> list[str]:
        return list(self.definition()["status"]["storedVersions"])

    def note(self) -> str | None:
        return (self.definition()["metadata"].get("annotations") or {}).get(ANNOTATION)


@pytest.fixture
def bench(simulation: Simulation, cluster: EmbeddedCluster) -> Bench:
    return Bench(simulation, cluster)


def failing(code: int, *, named: str, times: int = 1) -> Callable[[str], HTTPResponse | None]:
    """Returns what answers the first requests for an object with a failure."""
    left = [times]

    def before(name: str) -> HTTPResponse | None:
        if name != named or not left[0]:
            return None
        left[0] -= 1
        return HTTPResponse(code, {"retry-after": "1"}, b"{}")

    return before


def test_all_objects_are_rewritten_and_the_older_version_can_leave(bench: Bench) -> None:
    progress = bench.run()

    assert progress == Progress(6, 6, {})
    assert bench.transport.patched == [name for _, name in NAMES]
    assert (bench.stored(), bench.note()) == (["v2"], None)
    alone = defined("v2")
    del alone["spec"]["versions"][0]
    bench.user.apply(DEFINITIONS, alone, field_manager="user")
    assert [one["spec"] for one in bench.user.list(V2, view=dict)] == [{"beds": 1}] * 6


def test_a_second_migration_does_nothing(bench: Bench) -> None:
    bench.run()
    bench.transport.patched.clear()

    assert bench.run() == Progress(0, 0, {})
    assert bench.transport.patched == []


def test_objects_that_others_write_or_delete_meanwhile_are_done(bench: Bench) -> None:
    def before(name: str) -> None:
        key = ObjectKey("h3", "default")
        if name == "h1":
            bench.user.patch(V2, key, {"spec": {"beds": 9}})
            bench.user.delete(V2, ObjectKey("h4", "default"))

    bench.transport.before = before

    assert bench.run() == Progress(6, 6, {})
    assert bench.user.get(V2, ObjectKey("h3", "default"))["spec"] == {"beds": 9}
    with pytest.raises(NotFound):
        bench.user.get(V2, ObjectKey("h4", "default"))


@pytest.mark.parametrize("code", [429, 500, 503])
def test_passing_errors_are_tried_again(bench: Bench, code: int) -> None:
    bench.transport.before = failing(code, named="h2", times=3)

    assert bench.run() == Progress(6, 6, {})
    assert bench.stored() == ["v2"]


def test_an_object_that_cannot_be_written_keeps_the_older_version(bench: Bench) -> None:
    bench.transport.before = failing(422, named="h2")

    progress = bench.run()

    assert (progress.done, progress.total, [*progress.failed]) == (5, 6, [ObjectKey("h2", "default")])
    assert bench.stored() == ["v1", "v2"]
    assert bench.run().done == 6  # from h2 on, and those after it again
    assert bench.transport.patched[-4:] == ["h2", "h3", "h4", "h5"]
    assert bench.stored() == ["v2"]


def test_a_migration_goes_on_where_a_killed_one_noted(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage_migration, "NOTE_EVERY", 2)
    bench.transport.before = failing(503, named="h5", times=8)
    with pytest.raises(Exception, match="503"):
        bench.run()
    assert bench.stored() == ["v1", "v2"]
    bench.transport.patched.clear()

    assert bench.run() == Progress(6, 6, {})
    assert bench.transport.patched == ["h4", "h5"]
    assert [one.done for one in bench.reports] == [0, 2, 4, 4, 6]


def test_a_migration_that_is_stopped_notes_how_far_it_came(bench: Bench) -> None:
    def before(name: str) -> None:
        if name == "h2":
            bench.stop.set()

    bench.transport.before = before

    assert bench.run() == Progress(3, 6, {})
    assert (bench.stored(), bench.note()) == (
        ["v1", "v2"],
        '{"generation": 2, "storage": "v2", "after": ["default", "h2"]}',
    )


def test_a_definition_that_changes_meanwhile_is_not_pruned(bench: Bench) -> None:
    def before(name: str) -> None:
        if name == "h5":
            bench.user.apply(DEFINITIONS, defined("v1"), field_manager="user")

    bench.transport.before = before

    with pytest.raises(UsageError, match=r"huts\.example\.com has changed meanwhile: run the migration again"):
        bench.run()
    assert bench.stored() == ["v1", "v2"]


def test_the_rate_is_bounded(bench: Bench) -> None:
    begun = bench.host.monotonic()
    ended: list[float] = []
    bench.transport.before = lambda name: ended.append(bench.host.monotonic())

    bench.run(rate=2.0)

    assert ended == pytest.approx([begun + number / 2 for number in range(6)], abs=0.1)


def test_a_dry_run_writes_nothing(bench: Bench) -> None:
    migration = StorageMigration(Client(bench.host, bench.transport), HUTS.name)
    before = bench.definition()

    plan, progress = migration.plan(bench.stop)

    assert (plan.pruned, progress) == (["v1"], Progress(0, 6, {}))
    assert bench.definition() == before


def test_a_name_that_is_not_there_is_one_clear_error(bench: Bench) -> None:
    migration = StorageMigration(Client(bench.host, bench.transport), "sheds.example.com")

    with pytest.raises(UsageError, match=r"there is no definition sheds\.example\.com on the server"):
        migration.run(bench.stop)


def test_a_server_that_is_gone_ends_the_migration_after_two_minutes(bench: Bench) -> None:
    def before(name: str) -> None:
        raise ConnectionLost("gone")

    bench.transport.before = before

    with pytest.raises(ConnectionLost):
        bench.run()
    assert bench.stored() == ["v1", "v2"]

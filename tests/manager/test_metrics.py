# SPDX-License-Identifier: Apache-2.0
"""Metrics, tested against the text that Prometheus reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import attrs
import prometheus_client
import pytest
from kit.manager.scraping import lines_of, series_of, value_of
from prometheus_client import CollectorRegistry

from apimachinery.errors import ControllerRuntimeError, TerminalError, UsageError
from apimachinery.objects import ObjectKey
from apimachinery.stop import Stop, spawn
from controller_runtime.api.resources import LEASES, NODES
from controller_runtime.client.client import Client
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.controller.channel import Channel
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.election.config import LeaderElectionConfig
from controller_runtime.manager.inspection import describe
from controller_runtime.manager.manager import Manager
from controller_runtime.manager.metrics import Metrics
from controller_runtime.testing import EmbeddedCluster, Simulation, a_node
from controller_runtime.testing.faults import Refused, scripted
from embedded_apiserver.server import APIServer

RECONCILE_BUCKETS = (
    "0.005 0.01 0.025 0.05 0.1 0.15 0.2 0.25 0.3 0.35 0.4 0.45 0.5 0.6 0.7 0.8 0.9 1 1.25 1.5 1.75 2 2.5 3 3.5 4 4.5 "
    "5 6 7 8 9 10 15 20 25 30 40 50 60 +Inf"
)
QUEUE_BUCKETS = "1e-08 1e-07 1e-06 9.999999999999999e-06 9.999999999999999e-05 0.001 0.01 0.1 1 10 100 1000 +Inf"
REQUEST_BUCKETS = "0.005 0.025 0.1 0.25 0.5 1 2 4 8 15 30 60 +Inf"


@attrs.frozen
class Calling(Reconciler):
    """Calls a function."""

    function: Callable[[Request], Result]

    def reconcile(self, request: Request) -> Result:
        return self.function(request)


def by_name(key: ObjectKey) -> Result:
    """End the reconcile in the way that the node's name says."""
    match key.name:
        case "later":
            return Result(requeue_after=3600.0)
        case "fails":
            raise ControllerRuntimeError("the world is not ready")
        case "hopeless":
            raise TerminalError("never")
        case "buggy":
            raise ZeroDivisionError
    return Result()


def start(sim: Simulation, cluster: EmbeddedCluster, *names: str) -> None:
    """Run one controller on nodes of these names, for a time too short for retries."""
    for name in names:
        cluster.user.create(NODES, a_node(name))
    cluster.manager.add(Controller("named", Calling(by_name), workers=2).watch(NODES))
    cluster.start()
    sim.settle()


@pytest.mark.parametrize(
    "line",
    [
        "# TYPE controller_runtime_reconcile_total counter",
        'controller_runtime_reconcile_total{controller="named",result="success"} 2.0',
        'controller_runtime_reconcile_total{controller="named",result="error"} 3.0',
        'controller_runtime_reconcile_total{controller="named",result="requeue"} 0.0',
        'controller_runtime_reconcile_total{controller="named",result="requeue_after"} 1.0',
        'controller_runtime_reconcile_errors_total{controller="named"} 3.0',
        'controller_runtime_terminal_reconcile_errors_total{controller="named"} 1.0',
        'controller_runtime_reconcile_panics_total{controller="named"} 1.0',
        'controller_runtime_reconcile_timeouts_total{controller="named"} 0.0',
        "# TYPE controller_runtime_reconcile_time_seconds histogram",
        'controller_runtime_reconcile_time_seconds_count{controller="named"} 6.0',
        'controller_runtime_max_concurrent_reconciles{controller="named"} 2.0',
        'controller_runtime_active_workers{controller="named"} 0.0',
        "# TYPE workqueue_depth gauge",
        'workqueue_depth{controller="named",name="named",priority="0"} 0.0',
        'workqueue_depth{controller="named",name="named",priority="-100"} 0.0',
        'workqueue_adds_total{controller="named",name="named"} 6.0',
        'workqueue_work_duration_seconds_count{controller="named",name="named"} 6.0',
        'workqueue_retries_total{controller="named",name="named"} 3.0',
        'workqueue_unfinished_work_seconds{controller="named",name="named"} 0.0',
        'rest_client_requests_total{code="200",host="cluster over the simulated network",method="GET"} 1.0',
        'controller_runtime_informer_objects{group="",name="nodes",resource="nodes",version="v1"} 6.0',
        'controller_runtime_informer_synced{group="",name="nodes",resource="nodes",version="v1"} 1.0',
        "# TYPE controller_runtime_informer_held_bytes gauge",
        "# TYPE controller_runtime_informer_json_bytes gauge",
        'controller_runtime_informer_lists_total{group="",name="nodes",resource="nodes",version="v1"} 1.0',
        'controller_runtime_informer_silence_seconds{group="",name="nodes",resource="nodes",version="v1"} 0.0',
    ],
)
@pytest.mark.embedded_cluster(allow_panics=True)
def test_the_text_has_upstreams_names_and_labels(simulation: Simulation, cluster: EmbeddedCluster, line: str) -> None:
    start(simulation, cluster, "a", "b", "later", "fails", "hopeless", "buggy")

    assert line in lines_of(cluster.manager)


@pytest.mark.parametrize(
    ("name", "edges"),
    [
        pytest.param("controller_runtime_reconcile_time_seconds", RECONCILE_BUCKETS, id="reconciles"),
        pytest.param("workqueue_queue_duration_seconds", QUEUE_BUCKETS, id="waiting"),
        pytest.param("workqueue_work_duration_seconds", QUEUE_BUCKETS, id="working"),
        pytest.param("rest_client_request_duration_seconds", REQUEST_BUCKETS, id="requests"),
    ],
)
def test_bucket_bounds_read_as_go_prints_them(
    simulation: Simulation, cluster: EmbeddedCluster, name: str, edges: str
) -> None:
    start(simulation, cluster, "a")

    shown = [line.split('le="')[1].split('"')[0] for line in lines_of(cluster.manager) if f"{name}_bucket" in line]

    assert shown == edges.split()


def test_every_series_is_there_from_the_start_and_none_comes_twice(
    simulation: Simulation, cluster: EmbeddedCluster
) -> None:
    start(simulation, cluster)

    names = {name for name, _ in series_of(cluster.manager)}

    assert value_of(cluster.manager, "controller_runtime_reconcile_total", result="error") == 0
    assert value_of(cluster.manager, "workqueue_adds_total", name="named") == 0
    assert {"process_cpu_seconds_total", "process_open_fds", "python_info"} <= names


def test_two_managers_of_one_process_have_metrics_of_their_own(simulation: Simulation) -> None:
    with (
        EmbeddedCluster(simulation.host("one")) as one,
        EmbeddedCluster(simulation.host("two")) as two,
    ):
        start(simulation, one, "a")
        start(simulation, two, "a", "b")

        assert value_of(one.manager, "workqueue_adds_total") == 1
        assert value_of(two.manager, "workqueue_adds_total") == 2
        assert b"workqueue" not in prometheus_client.generate_latest()


def test_an_answer_that_did_not_come_counts_as_error(simulation: Simulation) -> None:
    with EmbeddedCluster(simulation.host("here"), faults=scripted({0: Refused()})) as cluster:
        cluster.manager.informer(NODES)
        cluster.start()
        simulation.advance(5.0)

        requests = "rest_client_requests_total"
        server = "here over the simulated network"
        assert value_of(cluster.manager, requests, code="<error>", method="GET", host=server) == 1
        assert value_of(cluster.manager, requests, code="200", method="GET") == 1
        assert value_of(cluster.manager, "controller_runtime_informer_last_error_age_seconds") == 5.0


def test_a_cache_that_never_failed_has_no_age_of_its_last_error(
    simulation: Simulation, cluster: EmbeddedCluster
) -> None:
    start(simulation, cluster)

    assert value_of(cluster.manager, "controller_runtime_informer_last_error_age_seconds") is None


def test_the_version_is_shown_in_as_many_digits_as_a_float_holds(
    simulation: Simulation, cluster: EmbeddedCluster
) -> None:
    start(simulation, cluster, "a")

    shown = value_of(cluster.manager, "informer_store_resource_version", resource="nodes")

    assert shown == int(cluster.manager.informer(NODES).store.version[-15:])


def test_the_backlogs_of_subscribers_of_one_name_are_one_series(
    simulation: Simulation, cluster: EmbeddedCluster
) -> None:
    informer = cluster.manager.informer(NODES)
    for _ in range(2):
        informer.subscribe(lambda delta: None, name="slow")

    assert value_of(cluster.manager, "controller_runtime_informer_backlog", subscriber="slow") == 0


def test_pushed_and_refused_requests_are_counted_for_the_controllers_that_have_channels(
    simulation: Simulation, cluster: EmbeddedCluster
) -> None:
    channel = Channel(cluster.host, capacity=1)
    cluster.manager.add(Controller("pushed", Calling(by_name)).receive(channel))
    for name in ("a", "b"):
        channel.push(ObjectKey(name))
    start(simulation, cluster)

    assert value_of(cluster.manager, "controller_runtime_channel_pushed_total", controller="pushed") == 2
    assert value_of(cluster.manager, "controller_runtime_channel_refused_total", controller="pushed") == 1
    assert value_of(cluster.manager, "controller_runtime_channel_pushed_total", controller="named") is None
    assert describe(cluster.manager)["controllers"][0]["channels"] == [{"pushed": 2, "refused": 1}]


def test_what_becomes_of_events_is_counted(simulation: Simulation, cluster: EmbeddedCluster) -> None:
    """The filter lets 25 of thirty events of one object pass."""
    recorder = cluster.manager.recorder("greeter")
    for number in range(30):
        recorder.event(a_node("a"), "Normal", f"Reason{number}", "hello", resource=NODES)
    start(simulation, cluster)

    def count(fate: str) -> float | None:
        return value_of(cluster.manager, "controller_runtime_events_total", component="greeter", fate=fate)

    assert [count(fate) for fate in ("written", "held", "spam", "dropped", "failed")] == [25, 0, 5, 0, 0]
    assert describe(cluster.manager)["recorders"][0]["spam"] == 5


@pytest.fixture
def elected(simulation: Simulation) -> Iterator[tuple[Client, Manager]]:
    """Return a manager that will lead, and a client of another user of its server."""
    host = simulation.host("here")
    server = APIServer(host)
    transport = InProcessTransport(host, server)
    election = LeaderElectionConfig(name="shared", namespace="default")
    manager = Manager(host, transport, leader_election=election)
    stop = Stop(host)
    thread = spawn(host, stop, "manager", lambda: manager.run(stop))
    yield Client(host, transport), manager
    stop.set()
    thread.join_until(None)


def test_who_leads_says_so(simulation: Simulation, elected: tuple[Client, Manager]) -> None:
    _, manager = elected
    assert value_of(manager, "leader_election_master_status", name="shared") == 0
    assert describe(manager)["election"]["token"] is None

    simulation.advance(5.0)

    assert value_of(manager, "leader_election_master_status", name="shared") == 1
    assert describe(manager)["election"]["token"] == 0


def test_a_renewal_off_the_fast_path_is_counted(simulation: Simulation, elected: tuple[Client, Manager]) -> None:
    user, manager = elected
    simulation.advance(5.0)
    assert value_of(manager, "leader_election_slowpath_total", name="shared") == 0

    user.patch(LEASES, ObjectKey("shared", "default"), {"metadata": {"labels": {"touched": "yes"}}})
    simulation.advance(5.0)

    assert value_of(manager, "leader_election_slowpath_total", name="shared") == 1


def test_extra_collectors_can_be_added_to_a_managers_registry(cluster: EmbeddedCluster) -> None:
    metrics = Metrics(cluster.manager)

    prometheus_client.Gauge("answer", "Of everything.", registry=metrics.registry).set(42)

    assert "answer 42.0" in metrics.text().decode()


@pytest.fixture
def mine() -> Iterator[CollectorRegistry]:
    """Return the default registry, and remove what a test has registered there."""
    registry = prometheus_client.REGISTRY
    made: list[prometheus_client.Counter] = []
    made.append(prometheus_client.Counter("cabins_built", "Cabins that were built."))
    yield registry
    for collector in made:
        registry.unregister(collector)


def test_metrics_of_the_default_registry_are_shown_without_a_second_set_of_the_process(
    cluster: EmbeddedCluster, mine: CollectorRegistry, caplog: pytest.LogCaptureFixture
) -> None:
    assert value_of(cluster.manager, "cabins_built_total") == 0
    assert value_of(cluster.manager, "process_cpu_seconds_total") is not None  # and not twice
    Metrics(cluster.manager).refuse_double_names()
    assert caplog.records == []


def test_registries_can_be_chosen(cluster: EmbeddedCluster, mine: CollectorRegistry) -> None:
    other = CollectorRegistry()
    prometheus_client.Gauge("cabins_free", "Cabins that are free.", registry=other).set(3)

    chosen = Metrics(cluster.manager, [other]).text().decode()
    none = Metrics(cluster.manager, []).text().decode()

    assert ("cabins_free 3.0" in chosen, "cabins_built" in chosen) == (True, False)
    assert "cabins" not in none
    assert "process_cpu_seconds_total" in none


@pytest.mark.parametrize("name", ["workqueue_depth", "workqueue_adds_total"])
def test_a_name_that_comes_twice_is_refused_at_the_start_and_left_out_later(
    simulation: Simulation, cluster: EmbeddedCluster, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    start(simulation, cluster, "a")
    other = CollectorRegistry()
    metrics = Metrics(cluster.manager, [other])
    metrics.refuse_double_names()
    prometheus_client.Gauge(name, "Of mine.", registry=other).set(42)
    prometheus_client.Gauge("fine", "Of mine.", registry=other).set(42)

    texts = [metrics.text().decode() for _ in range(2)]

    assert ["Of mine" in line for line in texts[1].splitlines() if line.startswith(f"# HELP {name} ")] == [False]
    assert "fine 42.0" in texts[0]
    assert [str(record.msg) for record in caplog.records if "metric left out" in str(record.msg)] == [
        f"metric left out: another one has its name; rename one of them metric={name}"
    ]
    with pytest.raises(UsageError, match=f"two metrics are called {name}, .*: rename one of them"):
        metrics.refuse_double_names()

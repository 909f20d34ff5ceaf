# SPDX-License-Identifier: Apache-2.0
"""The operator of docs/cronjob-tutorial.md, beyond the tests of that page: its definition, and what it must survive."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cronjob import SCHEDULED_AT, CronJob, CronJobSpec, CronJobStatus, decide, setup
from kit.crd.controller_gen import ATOMIC_MAPS, METADATA, differences, lines_of
from kit.crd.structure import structure
from kubernetes.client import V1Job, V1JobTemplateSpec

from apimachinery.models import model_of
from controller_runtime import ObjectKey, ObjectMeta, annotations_of, timestamp
from controller_runtime.conditions import condition
from controller_runtime.crd import schema_of
from controller_runtime.resources import EVENTS, JOBS
from controller_runtime.testing import EmbeddedCluster, Fault, LostReply, Simulation
from controller_runtime.transports import HTTPRequest

HELLO = ObjectKey("hello", "default")
POD = {"restartPolicy": "Never", "containers": [{"name": "hello", "image": "busybox"}]}
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def a_cron_job(**spec: Any) -> dict[str, Any]:
    spec = {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": {"spec": POD}}}, **spec}
    return {"metadata": {"name": "hello", "namespace": "default"}, "spec": spec}


def runs_in(cluster: EmbeddedCluster) -> list[str]:
    return sorted(annotations_of(job)[SCHEDULED_AT][11:16] for job in cluster.user.list(JOBS, view=dict))


def test_its_definition_is_the_one_of_controller_gen_but_for_these_differences() -> None:
    only_theirs, only_ours = differences(lines_of("cronjob"), [*structure(schema_of(CronJob), "Object")])

    active, schedule = "active array", "schedule string required minLength="
    assert sorted(only_theirs) == sorted(
        [*(f"{line} atomic-map" for line in ATOMIC_MAPS), f"{active} minItems=1 maxItems=10 atomic()", f"{schedule}0"]
    )
    assert sorted(only_ours) == sorted([*ATOMIC_MAPS, *METADATA * 3, f"{active} atomic()", f"{schedule}1"])


def ended_job(due: datetime, annotation: str | None = None) -> V1Job:
    metadata: dict[str, Any] = {"name": f"hello-{int(due.timestamp())}", "creationTimestamp": due}
    metadata["annotations"] = {SCHEDULED_AT: due.isoformat() if annotation is None else annotation}
    job = {"metadata": metadata, "status": {"conditions": [{"type": "Complete", "status": "True"}]}}
    return model_of(V1Job, job)


@pytest.mark.parametrize(
    ("recorded", "deleted"),
    [
        pytest.param(None, [], id="the status knows no run"),
        pytest.param(NOON - timedelta(minutes=1), ["11:59"], id="the status as it was a minute ago"),
        pytest.param(NOON, ["11:59", "12:00"], id="the status knows all runs"),
    ],
)
def test_a_job_is_kept_until_the_status_has_its_run(recorded: datetime | None, deleted: list[str]) -> None:
    spec = CronJobSpec("* * * * *", V1JobTemplateSpec(), successful_jobs_history_limit=0)
    cron_job = CronJob(spec, CronJobStatus(last_schedule_time=recorded), metadata=ObjectMeta(name="hello"))
    jobs = [ended_job(NOON), ended_job(NOON - timedelta(minutes=1))]

    status, delete, planned = decide(cron_job, jobs, NOON + timedelta(seconds=5))

    assert [annotations_of(job)[SCHEDULED_AT][11:16] for job in delete] == deleted
    assert (status.last_schedule_time, planned.due) == (NOON, None)


def test_a_job_whose_annotation_was_spoilt_counts_for_the_time_of_its_creation() -> None:
    cron_job = CronJob(CronJobSpec("* * * * *", V1JobTemplateSpec()), metadata=ObjectMeta(name="hello"))

    status, _, planned = decide(cron_job, [ended_job(NOON, "noon")], NOON + timedelta(seconds=5))

    assert (status.last_schedule_time, planned.due) == (NOON, None)


@pytest.mark.unperturbed("each creation takes half a minute, so a manager that starts again is a run late at the end")
def test_a_creation_whose_answer_was_lost_is_not_repeated_under_another_name(simulation: Simulation) -> None:
    def lose_answers(number: int, request: HTTPRequest) -> Fault | None:
        return LostReply() if request.method == "POST" else None

    with EmbeddedCluster(simulation.host("operator"), faults=lose_answers) as cluster:
        cluster.run(setup)
        cluster.user.create(CronJob, a_cron_job())

        simulation.advance(190.0)

        assert runs_in(cluster) == ["00:01", "00:02", "00:03"]


def test_a_job_that_exists_already_is_no_error(simulation: Simulation, cluster: EmbeddedCluster) -> None:
    cluster.run(setup)
    cluster.user.create(CronJob, a_cron_job())
    due = simulation.host("clock").now() + timedelta(minutes=1)
    metadata = {"name": f"hello-{int(due.timestamp())}", "namespace": "default"}
    cluster.user.create(JOBS, {"metadata": metadata, "spec": {"template": {"spec": POD}}})

    simulation.advance(70.0)

    assert len(cluster.user.list(JOBS, view=dict)) == 1
    assert cluster.manager.controllers[0].errors == 0


def test_a_cron_job_that_is_being_deleted_starts_nothing(simulation: Simulation, cluster: EmbeddedCluster) -> None:
    cluster.run(setup)
    body = a_cron_job()
    body["metadata"]["finalizers"] = ["example.com/wait"]
    cluster.user.create(CronJob, body)
    simulation.advance(70.0)

    cluster.user.delete(CronJob, HELLO)
    simulation.settle()  # until a manager knows of the deletion, it starts what is due
    simulation.advance(300.0)

    assert runs_in(cluster) == ["00:01"]


@pytest.mark.story
def test_a_suspended_cron_job_goes_on_later(simulation: Simulation, cluster: EmbeddedCluster) -> None:
    cluster.run(setup)
    cluster.user.create(CronJob, a_cron_job(schedule="0 * * * *"))
    simulation.advance(3610.0)
    assert runs_in(cluster) == ["01:00"]

    cluster.user.patch(CronJob, HELLO, {"spec": {"suspend": True}})
    simulation.advance(5400.0)
    assert runs_in(cluster) == ["01:00"]

    cluster.user.patch(CronJob, HELLO, {"spec": {"suspend": False, "startingDeadlineSeconds": 600}})
    simulation.advance(3600.0)
    assert runs_in(cluster) == ["01:00", "03:00"]


def test_a_template_that_makes_no_job_is_told_of_once_a_run(simulation: Simulation, cluster: EmbeddedCluster) -> None:
    cluster.run(setup)
    cluster.user.create(CronJob, a_cron_job(jobTemplate={}))

    simulation.advance(130.0)

    (event,) = cluster.user.list(EVENTS, view=dict)
    assert (event["reason"], event["series"]["count"] if "series" in event else 1) == ("InvalidJob", 2)
    assert "spec.template.spec.containers: Required value" in event["note"]
    assert cluster.manager.controllers[0].errors == 0
    cluster.user.patch(CronJob, HELLO, {"spec": {"jobTemplate": {"spec": {"template": {"spec": POD}}}}})
    simulation.settle()
    assert runs_in(cluster) == ["00:02"]


def end_job(cluster: EmbeddedCluster, run: str, how: str = "Complete") -> None:
    (job,) = (each for each in cluster.user.list(JOBS, view=dict) if annotations_of(each)[SCHEDULED_AT][11:16] == run)
    now = timestamp(cluster.host.now())
    types = {"Complete": ["SuccessCriteriaMet", "Complete"], "Failed": ["FailureTarget", "Failed"]}[how]
    status: dict[str, Any] = {"startTime": now, **({"completionTime": now} if how == "Complete" else {})}
    status["conditions"] = [{"type": each, "status": "True", "lastTransitionTime": now} for each in types]
    cluster.user.patch(JOBS, ObjectKey(job["metadata"]["name"], "default"), {"status": status}, subresource="status")


@pytest.mark.parametrize(
    ("how", "field", "limit", "left"),
    [
        ("Complete", "successfulJobsHistoryLimit", 2, ["00:02", "00:03"]),
        ("Complete", "successfulJobsHistoryLimit", 0, []),
        ("Failed", "failedJobsHistoryLimit", 1, ["00:03"]),
    ],
)
def test_the_oldest_jobs_beyond_a_limit_are_deleted(
    simulation: Simulation, cluster: EmbeddedCluster, how: str, field: str, limit: int, left: list[str]
) -> None:
    cluster.run(setup)
    cluster.user.create(CronJob, a_cron_job(**{field: limit}))
    for minute in (1, 2, 3):
        simulation.advance(60.0)
        end_job(cluster, f"00:0{minute}", how)

    simulation.advance(50.0)  # no run is due, and none is started a second time

    assert runs_in(cluster) == left
    assert condition("Degraded", str(how == "Failed"))(cluster.user.get(CronJob, HELLO))


def test_a_schedule_that_cannot_be_read_is_told_and_not_retried(
    simulation: Simulation, cluster: EmbeddedCluster
) -> None:
    cluster.run(setup)
    cluster.user.create(CronJob, a_cron_job(schedule="61 * * * *"))
    simulation.advance(600.0)

    assert condition("Degraded")(cluster.user.get(CronJob, HELLO))
    assert condition("Available", "False")(cluster.user.get(CronJob, HELLO))
    (event,) = cluster.user.list(EVENTS, view=dict)
    assert (event["reason"], event["note"]) == ("InvalidSchedule", "'61 * * * *': Bad minute")
    assert cluster.manager.controllers[0].reconciles < 5

    cluster.user.patch(CronJob, HELLO, {"spec": {"schedule": "* * * * *"}})
    simulation.settle()
    assert runs_in(cluster) == ["00:10"]
    assert condition("Degraded", "False")(cluster.user.get(CronJob, HELLO))


def test_a_run_that_was_forbidden_starts_when_the_earlier_one_ends(
    simulation: Simulation, cluster: EmbeddedCluster
) -> None:
    cluster.run(setup)
    cluster.user.create(CronJob, a_cron_job(concurrencyPolicy="Forbid"))
    simulation.advance(130.0)

    end_job(cluster, "00:01")
    simulation.settle()

    assert runs_in(cluster) == ["00:01", "00:02"]


def test_no_run_is_started_twice_whenever_the_operator_is_restarted(
    simulation: Simulation, cluster: EmbeddedCluster
) -> None:
    cluster.run(setup)
    cluster.user.create(CronJob, a_cron_job(successfulJobsHistoryLimit=0))
    simulation.advance(50.0)
    seen: list[str] = []
    for minute, moment in ((1, 9.999), (2, 10.0), (3, 10.001)):
        simulation.advance(moment)
        cluster.restart()
        simulation.advance(20.0 - moment)
        seen += runs_in(cluster)
        end_job(cluster, f"00:0{minute}")
        simulation.advance(40.0)
        assert runs_in(cluster) == []

    assert seen == ["00:01", "00:02", "00:03"]

# SPDX-License-Identifier: Apache-2.0
"""The operator of examples/cronjob.py with webhooks: `python examples/cronjob_webhooks.py`.

docs/cronjob-tutorial.md builds it step by step, and tests each step.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import cronjob
from cronjob import CronJob
from cronsim import CronSim, CronSimError

from controller_runtime import Manager, run
from controller_runtime.webhooks import Admission, Checks, Defaults, FieldError

LONGEST_NAME = 52  # a Job's name has 63 characters at most, and the time of a run adds 11


def fill(cron_job: CronJob, request: Admission[CronJob]) -> CronJob:
    """Fill in what a user has left out."""
    spec = cron_job.spec
    if spec.suspend is None:
        spec.suspend = False
    if spec.successful_jobs_history_limit is None:
        spec.successful_jobs_history_limit = 3
    if spec.failed_jobs_history_limit is None:
        spec.failed_jobs_history_limit = 1
    return cron_job


def refuse(cron_job: CronJob, request: Admission[CronJob]) -> Iterator[FieldError]:
    """Refuse long names, and schedules that cannot be read."""
    name, schedule = cron_job.metadata.name, cron_job.spec.schedule
    if len(name) > LONGEST_NAME:
        yield FieldError("metadata.name", f"must be no more than {LONGEST_NAME} characters", value=name)
    try:
        CronSim(schedule, datetime(2026, 1, 1, tzinfo=UTC))
    except CronSimError as error:
        yield FieldError("spec.schedule", str(error), value=schedule)


def setup(manager: Manager) -> None:
    cronjob.setup(manager)
    manager.webhooks.add(Defaults(CronJob, fill), Checks(CronJob, refuse))


if __name__ == "__main__":
    run(setup)

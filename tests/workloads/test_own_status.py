# SPDX-License-Identifier: Apache-2.0
"""A workload whose status counts is not read before the caches show its last one: its children would be newer."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controllers.workloads.cron_job import CronJobs
from controllers.workloads.deployment import Deployments
from controllers.workloads.job import Jobs
from controllers.workloads.stateful_set import StatefulSets


class Behind:
    """Children whose cache lacks an earlier write; any other use fails, such as a read by a lister."""

    def is_behind(self, owner: Request) -> bool:
        return True


@pytest.mark.parametrize("kind", [Jobs, CronJobs, Deployments, StatefulSets])
def test_nothing_is_read_while_the_caches_lack_the_last_write(kind: type[Reconciler]) -> None:
    parts: dict[str, Any] = {each.name: Behind() for each in attrs.fields(kind)}

    assert kind(**parts).reconcile(Request("web", "default")) == Result()

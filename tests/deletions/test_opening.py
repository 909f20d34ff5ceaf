# SPDX-License-Identifier: Apache-2.0
"""A budget is opened once, by an annotation or by a flag, and everything else tells that it was exceeded."""

from __future__ import annotations

import pytest
from kit.deleting import RECORD, left, make_secrets, record_of, secret, sent
from kit.manager.managing import Calling

from apimachinery.errors import UsageError
from controller_runtime.api.builtin_resources import CONFIG_MAPS, DEPLOYMENTS, SECRETS
from controller_runtime.api.resources import EVENTS
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.reconciler import Request, Result
from controller_runtime.crd.definitions import DEFINITIONS
from controller_runtime.deletions import DeletionBudget, DeletionBudgetExceeded
from controller_runtime.deletions.opening import OPEN
from controller_runtime.deletions.record import FRESH
from controller_runtime.manager.inspection import describe
from controller_runtime.manager.manager import Manager
from controller_runtime.manager.metrics import Metrics
from controller_runtime.manager.page.overview import overview
from controller_runtime.program.deletions import budget_of, limit_deletions
from controller_runtime.testing import EmbeddedCluster, Simulation

THREE = DeletionBudget(SECRETS, most=3)


@pytest.fixture
def spent(cluster: EmbeddedCluster, simulation: Simulation) -> EmbeddedCluster:
    """Return a cluster of whose 20 secrets three may be deleted, and have been."""
    cluster.manager.deletions.limit(THREE, record=RECORD)
    make_secrets(cluster.user, 20)
    assert delete(cluster, 0, 1, 2) == 3
    return cluster


def delete(cluster: EmbeddedCluster, *numbers: int) -> int:
    """Delete secrets until it is refused, and return how many were deleted."""
    for done, number in enumerate(numbers):
        try:
            cluster.client.delete(SECRETS, secret(number))
        except DeletionBudgetExceeded:
            return done
    return len(numbers)


def annotate(cluster: EmbeddedCluster, simulation: Simulation, text: str) -> None:
    cluster.user.patch(CONFIG_MAPS, RECORD, {"metadata": {"annotations": {OPEN: text}}})
    simulation.advance(FRESH + 1)


def test_an_annotation_opens_it_once_for_so_many(spent: EmbeddedCluster, simulation: Simulation) -> None:
    annotate(spent, simulation, "secrets=2,pods=1")

    assert delete(spent, *range(3, 20)) == 2
    assert OPEN not in record_of(spent.user)["metadata"].get("annotations", {})
    simulation.advance(FRESH + 1)
    assert delete(spent, *range(5, 20)) == 0


def test_what_was_opened_and_not_used_ends_with_the_time(spent: EmbeddedCluster, simulation: Simulation) -> None:
    annotate(spent, simulation, "secrets=10")
    assert delete(spent, 3) == 1

    simulation.advance(631.0)

    assert delete(spent, *range(4, 20)) == 3


def test_any_number_may_be_opened(spent: EmbeddedCluster, simulation: Simulation) -> None:
    annotate(spent, simulation, "secrets=any")

    spent.client.delete_collection(SECRETS, "default")

    assert left(spent.user) == 0


def test_an_unknown_number_is_sent_once_it_is_opened(spent: EmbeddedCluster, simulation: Simulation) -> None:
    annotate(spent, simulation, "secrets=any")

    spent.client.delete_collection(DEFINITIONS)

    assert sent(spent)[-1].path.endswith("customresourcedefinitions")


def test_a_text_that_says_nothing_opens_nothing(spent: EmbeddedCluster, simulation: Simulation) -> None:
    annotate(spent, simulation, "secrets")

    assert delete(spent, 3) == 0


def test_the_command_in_a_message_opens_it_for_all_that_were_refused(
    spent: EmbeddedCluster, simulation: Simulation
) -> None:
    for number in range(3, 20):
        delete(spent, number)
    simulation.advance(FRESH + 1)
    with pytest.raises(DeletionBudgetExceeded) as refused:
        spent.client.delete(SECRETS, secret(3))
    text = str(refused.value).rpartition(f"{OPEN}=")[2]

    annotate(spent, simulation, text)

    assert (text, delete(spent, *range(3, 20))) == ("secrets=17", 17)


def test_a_flag_opens_it_once_however_often_the_program_starts(spent: EmbeddedCluster, simulation: Simulation) -> None:
    numbers = iter(range(3, 20))
    done = []
    for name in ("one", "two"):
        again = EmbeddedCluster(simulation.host(name), server=spent.server)
        again.manager.deletions.limit(THREE, record=RECORD)
        again.manager.deletions.open("secrets=2")
        done.append(delete(again, *numbers))

    assert done == [2, 0]


def test_a_flag_for_a_kind_without_a_budget_is_refused(spent: EmbeddedCluster) -> None:
    with pytest.raises(UsageError, match="pods have no deletion budget to open; there are those of: secrets"):
        spent.manager.deletions.open("pods=5")
    with pytest.raises(UsageError, match="'secrets' opens no deletion budget"):
        spent.manager.deletions.open("secrets")


# Where it is told.


def running(cluster: EmbeddedCluster, simulation: Simulation) -> None:
    """Run a controller that takes an empty list for the truth."""

    def setup(manager: Manager) -> None:
        manager.deletions.limit(THREE, record=RECORD)

        def reconcile(request: Request) -> Result:
            for number in range(20):
                manager.client.delete(SECRETS, secret(number))
            return Result()

        manager.add(Controller("sweeper", Calling(reconcile)).watch(CONFIG_MAPS, field_selector="metadata.name=go"))

    make_secrets(cluster.user, 20)
    cluster.user.create(CONFIG_MAPS, {"metadata": {"name": "go"}}, "default")
    cluster.run(setup)
    simulation.advance(0.0)


def test_a_reconcile_beyond_it_fails_and_all_views_tell(cluster: EmbeddedCluster, simulation: Simulation) -> None:
    running(cluster, simulation)
    simulation.advance(10.0)
    manager = cluster.manager

    (table,) = (each for each in overview(manager, []) if each.title == "Deletion budgets")
    (row,) = table.rows
    shown = describe(manager)
    metrics = Metrics(manager).text().decode()
    (event,) = cluster.user.list(EVENTS, view=dict)

    assert left(cluster.user) == 17
    assert [*row.cells[:4], row.is_bad] == ["secrets", 3, 3, "600 s", True]
    assert row.cells[6].endswith(f"{OPEN}=secrets=1")
    assert shown["deletion_budgets"][0]["deleted"] == 3
    assert shown["controllers"][0]["errors"] >= 1
    assert 'controller_runtime_deletions_allowed_total{resource="secrets"} 3.0' in metrics
    assert 'controller_runtime_deletions_used{resource="secrets"} 3.0' in metrics
    assert 'controller_runtime_deletions_refused_total{resource="secrets"} 0.0' not in metrics
    assert (event["type"], event["reason"]) == ("Warning", "DeletionBudgetExceeded")
    assert event["regarding"]["name"] == RECORD.name
    assert "open the budget once: kubectl annotate configmap" in event["note"]


def test_it_is_logged_once_in_its_time(spent: EmbeddedCluster, caplog: pytest.LogCaptureFixture) -> None:
    for number in range(3, 9):
        delete(spent, number)

    assert [each.message for each in caplog.records if "was not sent" in each.message] == [
        each.message for each in caplog.records if "secrets/s3 was not sent" in each.message
    ]


def test_a_manager_without_budgets_shows_nothing_of_them(cluster: EmbeddedCluster) -> None:
    assert "Deletion budgets" not in [each.title for each in overview(cluster.manager, [])]
    assert "deletions" not in Metrics(cluster.manager).text().decode()


# The command line.


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("secrets=3", "3 in 600 s"),
        ("secrets=20%", "20 % of them in 600 s"),
        ("deployments.apps=3,2.5%/3600", "3 and 2.5 % of them in 3600 s"),
    ],
)
def test_a_flag_gives_a_budget(text: str, told: str) -> None:
    assert str(budget_of(text, [SECRETS, DEPLOYMENTS])) == told


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("secrets", "write the kind and a bound: pods=10, pods=20%"),
        ("secrets=", "write the kind and a bound"),
        ("secrets=1,2", "write the kind and a bound"),
        ("secrets=1/x", "write the kind and a bound"),
        ("secrets=0", "most is 0, and must be from 1"),
        ("deployments=1", "has no cache of deployments, and it is not a built-in kind; .* such as deployments.apps"),
    ],
)
def test_a_flag_that_makes_no_sense_is_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=f"--deletion-budget {text}: .*{message}"):
        budget_of(text, [SECRETS, DEPLOYMENTS])


def test_flags_come_before_the_budget_of_the_program(spent: EmbeddedCluster) -> None:
    limit_deletions(spent.manager, ["secrets=5"], "secrets=1")

    assert delete(spent, *range(3, 20)) == 3

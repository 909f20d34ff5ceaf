# SPDX-License-Identifier: Apache-2.0
"""Objects of others, refusals and deletions: nothing that is not the controller's is changed, and nothing loops."""

from __future__ import annotations

from typing import Any

import pytest
from kit.owning import KEY, OwningBench, Site, deployment_of, page, pages_of

from controller_runtime import Dependents, Owned, set_controller
from controller_runtime.errors import UsageError
from controller_runtime.resources import CONFIG_MAPS, DEPLOYMENTS, EVENTS, NAMESPACES
from controller_runtime.testing import EmbeddedCluster, Simulation
from controller_runtime.transports import HTTPRequest


def events_of(bench: OwningBench) -> list[tuple[str, str]]:
    return [(event["reason"], event["note"]) for event in bench.cluster.user.list(EVENTS, view=dict)]


def owner(bench: OwningBench) -> Site:
    return bench.cluster.user.get(Site, KEY)


def test_an_object_that_nobody_controls_is_left_alone_until_it_is_gone(bench: OwningBench) -> None:
    found = bench.cluster.user.create(CONFIG_MAPS, {"metadata": {"name": "site-a"}, "data": {"mine": "x"}}, "default")
    bench.run(Owned(CONFIG_MAPS, pages_of))
    bench.create("a", "b")

    text = "ConfigMap default/site-a: exists already and has no controller: delete it, or let its Owned adopt it"
    assert bench.ready() == ("False", "NotOwned", text)
    assert bench.get(CONFIG_MAPS, page("a"))["metadata"]["resourceVersion"] == found.resource_version
    assert bench.names() == ["site-a", "site-b"]
    bench.sim.advance(120.0)
    assert events_of(bench) == [("NotOwned", text)]
    bench.requests()
    bench.sim.advance(600.0)
    assert bench.requests() == []

    bench.cluster.user.delete(CONFIG_MAPS, page("a"))
    bench.sim.advance(60.0)
    assert bench.get(CONFIG_MAPS, page("a"))["data"] == {"text": "hello"}
    assert bench.ready()[0] == "True"


def test_an_object_that_nobody_controls_can_be_adopted(bench: OwningBench) -> None:
    bench.cluster.user.create(CONFIG_MAPS, {"metadata": {"name": "site-a"}, "data": {"mine": "x"}}, "default")
    bench.run(Owned(CONFIG_MAPS, pages_of, adopt=True))

    bench.create("a")

    assert bench.get(CONFIG_MAPS, page("a"))["data"] == {"mine": "x", "text": "hello"}
    assert bench.ready()[0] == "True"


def test_an_object_of_another_controller_is_never_taken_over(bench: OwningBench) -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "uid": "u"}}
    body: dict[str, Any] = {"metadata": {"name": "site-a", "namespace": "default"}}
    set_controller(body, node)
    found = bench.cluster.user.create(CONFIG_MAPS, body)
    bench.run(Owned(CONFIG_MAPS, pages_of, adopt=True))

    bench.create("a")

    assert bench.ready() == ("False", "NotOwned", "ConfigMap default/site-a: is controlled by Node n already")
    assert bench.get(CONFIG_MAPS, page("a"))["metadata"]["resourceVersion"] == found.resource_version


def test_an_object_that_the_cache_does_not_show_yet_is_not_taken_over(simulation: Simulation) -> None:
    """The user's object is made after the reconcile has looked, and before its apply arrives."""
    made = []

    def faults(number: int, request: HTTPRequest) -> None:
        if request.method == "PATCH" and "/configmaps/" in request.path and not made:
            made.append(bench.cluster.user.create(CONFIG_MAPS, {"metadata": {"name": "site-a"}}, "default"))

    with EmbeddedCluster(simulation.host("other"), faults=faults) as cluster:
        bench = OwningBench(cluster, simulation)
        bench.run(Owned(CONFIG_MAPS, pages_of))
        bench.create("a")
        bench.sim.advance(5.0)

        assert bench.get(CONFIG_MAPS, page("a"))["metadata"]["resourceVersion"] == made[0].resource_version
        assert bench.ready()[1] == "NotOwned"


def test_an_object_that_is_no_longer_desired_is_deleted(bench: OwningBench) -> None:
    bench.run(Owned(CONFIG_MAPS, pages_of))
    bench.create("a", "b")
    bench.requests()

    bench.change(pages=["b"])

    assert bench.names() == ["site-b"]
    assert bench.requests() == [
        "GET sites/site",
        "GET configmaps/site-a",
        "DELETE configmaps/site-a",
        "PATCH sites/site/status",
    ]
    assert bench.ready() == ("True", "Ready", "1 object is ready")


def test_objects_that_the_primary_owns_by_another_controller_stay(bench: OwningBench) -> None:
    """They have the same owner, and were created by a user or applied under another name."""
    bench.run(Owned(CONFIG_MAPS, pages_of))
    bench.create("a")
    for name in ("created", "applied"):
        body: dict[str, Any] = {"metadata": {"name": name, "namespace": "default", "labels": {"x": "y"}}}
        set_controller(body, owner(bench), Site)
        if name == "created":
            bench.cluster.user.create(CONFIG_MAPS, body)
        else:
            bench.cluster.user.apply(CONFIG_MAPS, body, field_manager="another")
    bench.sim.settle()
    bench.requests()

    bench.change(pages=["b"])
    bench.touch()

    assert bench.names() == ["applied", "created", "site-b"]
    assert bench.requests().count("GET configmaps/created") == 0  # the first look was remembered


def test_nothing_is_deleted_by_an_old_wish(simulation: Simulation) -> None:
    """The owner wants the object again when the server is asked, and the cache does not show it yet."""
    asked: list[str] = []

    def faults(number: int, request: HTTPRequest) -> None:
        if request.method == "GET" and request.path.endswith("/sites/site"):
            asked.append(request.path)
            bench.cluster.user.patch(Site, KEY, {"spec": {"pages": ["a", "b"]}})

    with EmbeddedCluster(simulation.host("stale"), faults=faults) as cluster:
        bench = OwningBench(cluster, simulation)
        bench.run(Owned(CONFIG_MAPS, pages_of))
        bench.create("a", "b")

        bench.change(pages=["b"])

        assert bench.names() == ["site-a", "site-b"]
        assert len(asked) == 1
        assert not [request for request in cluster.transport.requests if request.method == "DELETE"]


def test_nothing_is_deleted_before_its_replacement_is_accepted(bench: OwningBench) -> None:
    bench.run(Owned(CONFIG_MAPS, pages_of))
    bench.create("a")

    bench.change(pages=["B.Invalid_"])
    assert bench.names() == ["site-a"]
    assert bench.ready()[:2] == ("False", "Refused")

    bench.change(pages=["b"])
    assert bench.names() == ["site-b"]


def test_a_refused_change_is_told_and_tried_again_ever_more_rarely(bench: OwningBench) -> None:
    bench.run(Owned(DEPLOYMENTS, deployment_of))
    bench.create()
    bench.requests()

    bench.change(app="mail")  # the selector of a deployment is immutable
    bench.sim.advance(60.0)

    status, reason, message = bench.ready()
    assert (status, reason) == ("False", "Refused")
    assert message.startswith('Deployment default/site: is refused: Deployment.apps "site" is invalid: spec.selector')
    assert bench.requests().count("PATCH deployments/site") == 4  # at 0, 5, 15 and 35 s, and up to a tenth later
    assert [reason for reason, _ in events_of(bench)] == ["Refused"]
    for replicas in range(5):  # changes that have nothing to do with it cause no further try
        status_patch = {"status": {"replicas": replicas}}
        bench.cluster.user.patch(DEPLOYMENTS, KEY, status_patch, subresource="status")
        bench.sim.settle()
    assert bench.requests() == []

    bench.cluster.user.delete(DEPLOYMENTS, KEY)
    bench.sim.settle()
    assert bench.get(DEPLOYMENTS, KEY)["spec"]["selector"]["matchLabels"] == {"app": "mail"}
    assert bench.ready()[1] == "NotReady"


def test_an_object_that_is_refused_holds_up_no_other(bench: OwningBench) -> None:
    def desired(site: Site) -> list[dict[str, Any]]:
        return [{"metadata": {"name": name}} for name in ("A_", "b")]

    bench.run(Owned(CONFIG_MAPS, desired))

    bench.create()

    assert bench.names() == ["b"]
    assert bench.ready()[1] == "Refused"


@pytest.mark.parametrize(("force", "text", "status"), [(True, "hello", "True"), (False, "theirs", "False")])
def test_a_field_of_another_manager_is_taken_over_only_by_force(
    bench: OwningBench, force: bool, text: str, status: str
) -> None:
    bench.run(Owned(CONFIG_MAPS, pages_of, force=force))
    bench.create("a")

    body = {"metadata": {"name": "site-a", "namespace": "default"}, "data": {"text": "theirs"}}
    bench.cluster.user.apply(CONFIG_MAPS, body, field_manager="people", force=True)
    bench.sim.settle()

    assert bench.get(CONFIG_MAPS, page("a"))["data"] == {"text": text}
    assert bench.ready()[0] == status
    if not force:
        assert bench.ready()[1:] == (
            "Refused",
            'ConfigMap default/site-a: is refused: Apply failed with 1 conflict: conflict with "people": .data.text',
        )


@pytest.mark.parametrize(
    ("desired", "message"),
    [
        (
            {"metadata": {"namespace": "far"}},
            "Site default/site cannot own site, which is in namespace 'far'",
        ),
        ({"kind": "Secret"}, "Site site wants a v1 Secret among its configmaps: declare an Owned of that kind"),
        ([{}, {}], "ConfigMap default/site is wanted twice by Site site"),
    ],
)
def test_a_wish_that_cannot_be_fulfilled_is_told_and_not_retried(
    bench: OwningBench, desired: Any, message: str
) -> None:
    bench.run(Owned(CONFIG_MAPS, lambda site: desired))

    bench.create()
    bench.sim.advance(3600.0)

    assert bench.ready() == ("False", "Invalid", message)
    # The second failure is caused by the change of the status that the first one made.
    assert [controller.errors for controller in bench.cluster.manager.controllers] == [2]


def test_a_namespaced_owner_cannot_own_cluster_scoped_objects(bench: OwningBench) -> None:
    with pytest.raises(UsageError, match="a Site is in a namespace, so it cannot own a Namespace, which is in none"):
        bench.run(Owned(NAMESPACES, lambda site: None))


def test_two_controllers_cannot_have_one_field_manager(bench: OwningBench) -> None:
    Dependents(bench.cluster.manager, "sites", Site, Owned(CONFIG_MAPS, pages_of))
    with pytest.raises(UsageError, match="this manager has Dependents of the name sites already"):
        Dependents(bench.cluster.manager, "sites", Site, Owned(CONFIG_MAPS, pages_of))

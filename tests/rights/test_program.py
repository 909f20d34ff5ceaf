# SPDX-License-Identifier: Apache-2.0
"""From requests to accesses: names and namespaces are the program's own, and never those of a test's objects."""

from __future__ import annotations

import attrs
import pytest

from apimachinery.errors import UsageError
from apimachinery.objects import ObjectKey
from controller_runtime.api.builtin_resources import CONFIG_MAPS, DEPLOYMENTS
from controller_runtime.api.collection import Collection
from controller_runtime.api.resources import LEASE_CANDIDATES, LEASES, NODES, PODS, Resource
from controller_runtime.manager.rights import Right
from controller_runtime.rights.asked import AskedAccess, Blocked
from controller_runtime.rights.program import BoundedProgram, accesses

EVERYWHERE = BoundedProgram(collections=(Collection(PODS),))
LIMITED = BoundedProgram(namespace="a", collections=(Collection(PODS, namespace="a"),))
BY_CACHES = BoundedProgram(collections=(Collection(PODS, namespace="a"), Collection(NODES)))
MIXED = BoundedProgram(collections=(Collection(PODS), Collection(LEASES, namespace="a")))
ELECTED = BoundedProgram(
    lease=ObjectKey("mine", "ops"), collections=(Collection(PODS), Collection(LEASE_CANDIDATES, namespace="ops"))
)
LIMITED_DELETIONS = BoundedProgram(record=ObjectKey("shop-deletions", "ops"), collections=(Collection(PODS),))
DECLARED = BoundedProgram(
    collections=(Collection(PODS),),
    declared=(Right(CONFIG_MAPS, names=["settings"]), Right(LEASES, namespace="a", names=["n"])),
)
GROUP = "coordination.k8s.io"
RINGED = BoundedProgram(
    collections=(
        Collection(NODES),
        Collection(LEASES, "ops", label_selector="controller-runtime/ring=huts"),
        Collection(CONFIG_MAPS, "ops", field_selector="metadata.name=huts-ring"),
    ),
    rings=(ObjectKey("huts", "ops"),),
    asked_by_name=frozenset({NODES}),
)
OF_RING = sorted(
    [f"{verb} configmaps huts-ring in ops" for verb in ("get", "list", "watch", "update")]
    + [f"{verb} leases.{GROUP} in ops" for verb in ("list", "watch", "create", "update", "delete")]
    + ["create configmaps in ops"]
)


def asked(verb: str, resource: str, namespace: str = "", name: str = "", group: str = "") -> AskedAccess:
    return AskedAccess(verb, group, resource, namespace, name)


@pytest.mark.parametrize(
    ("program", "one", "needed"),
    [
        pytest.param(EVERYWHERE, asked("get", "pods", "a", "x"), ["get pods"], id="the names of a test are not kept"),
        pytest.param(EVERYWHERE, asked("create", "secrets", "a", "x"), ["create secrets"], id="also without a cache"),
        pytest.param(LIMITED, asked("get", "pods", "a", "x"), ["get pods in a"], id="limited by its option"),
        pytest.param(LIMITED, asked("get", "secrets", "b", "x"), ["get secrets in b"], id="and elsewhere"),
        pytest.param(LIMITED, asked("list", "pods"), ["list pods"], id="which it passes over"),
        pytest.param(LIMITED, asked("get", "nodes", name="n"), ["get nodes"], id="cluster-scoped"),
        pytest.param(
            BY_CACHES, asked("create", "secrets", "a", "x"), ["create secrets in a"], id="limited by its caches"
        ),
        pytest.param(RINGED, asked("watch", "configmaps", "ops"), OF_RING, id="the assignment of a ring"),
        pytest.param(RINGED, asked("create", "leases", "ops", "huts-1", GROUP), OF_RING, id="the lease of a member"),
        pytest.param(RINGED, asked("get", "configmaps", "ops", "x"), ["get configmaps"], id="another object there"),
        pytest.param(RINGED, asked("get", "secrets", "a", "x"), ["get secrets"], id="a ring limits nothing"),
        pytest.param(RINGED, asked("list", "nodes"), ["get nodes", "list nodes"], id="whose absence a ring asks"),
        pytest.param(MIXED, asked("get", "leases", "a", "x", GROUP), [f"get leases.{GROUP} in a"], id="one cache is"),
        pytest.param(MIXED, asked("get", "secrets", "a", "x"), ["get secrets"], id="and others are not"),
        pytest.param(
            ELECTED,
            asked("get", "leases", "ops", "mine", GROUP),
            [f"create leases.{GROUP} in ops", f"get leases.{GROUP} mine in ops", f"update leases.{GROUP} mine in ops"],
            id="the lease of its election",
        ),
        pytest.param(
            ELECTED, asked("patch", "leases", "ops", "other", GROUP), [f"patch leases.{GROUP}"], id="another lease"
        ),
        pytest.param(
            ELECTED,
            asked("create", "leasecandidates", "ops", "me", GROUP),
            [f"{verb} leasecandidates.{GROUP} in ops" for verb in ("create", "delete", "list", "patch", "watch")],
            id="its candidate",
        ),
        pytest.param(ELECTED, asked("get", "secrets", "ops", "x"), ["get secrets"], id="its candidate limits nothing"),
        pytest.param(
            EVERYWHERE, asked("create", "events", "a", "e"), ["create events", "patch events"], id="events are repeated"
        ),
        pytest.param(DECLARED, asked("get", "configmaps", "b", "settings"), ["get configmaps settings"], id="declared"),
        pytest.param(DECLARED, asked("get", "configmaps", "b", "x"), ["get configmaps"], id="another than declared"),
        pytest.param(DECLARED, asked("create", "configmaps", "b", "settings"), ["create configmaps"], id="no name"),
        pytest.param(
            DECLARED, asked("update", "leases", "a", "n", GROUP), [f"update leases.{GROUP} n in a"], id="with namespace"
        ),
        pytest.param(DECLARED, asked("get", "leases", "b", "n", GROUP), [f"get leases.{GROUP}"], id="not in that one"),
        pytest.param(
            BoundedProgram(definitions=frozenset({"cabins.example.com"})),
            asked("get", "customresourcedefinitions", name="cabins.example.com", group="apiextensions.k8s.io"),
            ["get customresourcedefinitions.apiextensions.k8s.io cabins.example.com"],
            id="the definition of its class",
        ),
        pytest.param(
            LIMITED_DELETIONS,
            asked("get", "configmaps", "ops", "shop-deletions"),
            [
                "create configmaps in ops",
                "get configmaps shop-deletions in ops",
                "update configmaps shop-deletions in ops",
            ],
            id="the record of its deletion budgets",
        ),
        pytest.param(LIMITED_DELETIONS, asked("get", "configmaps", "a", "x"), ["get configmaps"], id="no such record"),
        pytest.param(
            attrs.evolve(LIMITED_DELETIONS, has_record=False),
            asked("create", "configmaps", "ops", "shop-deletions"),
            [],
            id="a record that the manifests grant",
        ),
        pytest.param(EVERYWHERE, AskedAccess("get", path="/metrics"), ["get /metrics"], id="a path"),
    ],
)
def test_what_a_request_of_a_program_needs(program: BoundedProgram, one: AskedAccess, needed: list[str]) -> None:
    found = accesses(program, [one])

    assert sorted(str(access).replace("in the namespace ", "in ") for access in found) == needed


CABINS: Resource[object] = Resource("example.com", "v1", "Cabin", "cabinz")


@pytest.mark.parametrize(
    ("program", "owner", "needed"),
    [
        pytest.param(EVERYWHERE, ("apps", "Deployment"), ["update deployments.apps/finalizers"], id="a built-in kind"),
        pytest.param(
            BoundedProgram(collections=(Collection(CABINS),)),
            ("example.com", "Cabin"),
            ["update cabinz.example.com/finalizers"],
            id="a kind that is cached, by its plural",
        ),
        pytest.param(EVERYWHERE, ("example.com", "Policy"), ["update policies.example.com/finalizers"], id="unknown"),
        pytest.param(LIMITED, ("", "Pod"), ["update pods/finalizers in the namespace a"], id="limited"),
        pytest.param(LIMITED, ("", "Node"), ["update nodes/finalizers"], id="cluster-scoped"),
    ],
)
def test_an_owner_that_is_blocked_needs_its_finalizers(
    program: BoundedProgram, owner: tuple[str, str], needed: list[str]
) -> None:
    found = accesses(program, [], [Blocked(*owner, "a", "x", is_update=False)])

    assert [str(access) for access in found] == needed


def test_an_update_adds_no_owner_of_a_kind_that_the_program_does_not_know() -> None:
    blocked = Blocked(DEPLOYMENTS.group, DEPLOYMENTS.kind, "a", "x", is_update=True)
    write, read = asked("update", "pods", "a", "x"), asked("list", "deployments", group="apps")

    assert {str(access) for access in accesses(EVERYWHERE, [write], [blocked])} == {"update pods"}
    assert "update deployments.apps/finalizers" in {str(a) for a in accesses(EVERYWHERE, [write, read], [blocked])}


def test_what_others_include_is_left_out() -> None:
    found = accesses(DECLARED, [asked("get", "configmaps", "b", name) for name in ("settings", "other")])

    assert [str(access) for access in found] == ["get configmaps"]


@pytest.mark.parametrize(
    ("resource", "options", "problem"),
    [
        pytest.param(PODS, {}, "bounds nothing", id="nothing"),
        pytest.param(PODS, {"names": "x"}, "are a list", id="one string"),
        pytest.param(NODES, {"namespace": "a"}, "cluster-scoped", id="no namespace"),
    ],
)
def test_a_declaration_that_makes_no_sense_is_refused(
    resource: Resource[object], options: dict[str, str], problem: str
) -> None:
    with pytest.raises(UsageError, match=problem):
        Right(resource, **options)  # type: ignore[arg-type]

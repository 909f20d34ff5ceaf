# SPDX-License-Identifier: Apache-2.0
"""The fields that the caches of the command line leave out exist, and no controller reads them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from apimachinery.errors import UsageError
from apimachinery.objects import PartialObjectMetadata
from apimachinery.schema import schema_for
from controller_runtime.api.resources import NODES, PODS, Resource
from controller_runtime.cache.transforms import without
from controller_runtime.testing.cluster import EmbeddedCluster
from controller_runtime.testing.objects import a_node, a_pod
from controller_runtime.testing.simulation import Simulation
from controllers.hollow import node as hollow_node
from controllers.hollow import pods as hollow_pods
from controllers.node_lifecycle import views as node_lifecycle_views
from controllers.shared.cache_trims import TRIMMED_FIELDS, trim_caches
from controllers.taint_eviction import views as taint_eviction_views

PATHS = [
    pytest.param(resource, path, id=f"{resource} {path}")
    for resource in TRIMMED_FIELDS
    for path in TRIMMED_FIELDS[resource]
]
READ_LIVE = {"containers"}
"""Fields that a hollow kubelet reads from the server, not from the cache."""


@pytest.mark.parametrize(("resource", "path"), PATHS)
def test_what_is_left_out_is_a_field_of_its_kind(resource: Resource[Any], path: str) -> None:
    schema = schema_for(resource.group, resource.version, resource.kind)

    for step in path.split("."):
        assert schema is not None
        assert step in schema.properties
        schema = schema.properties[step]


@pytest.mark.parametrize(
    ("resource", "view"),
    [
        pytest.param(NODES, PartialObjectMetadata, id="node-ttl"),
        pytest.param(NODES, hollow_node.NodeConditions, id="hollow nodes"),
        pytest.param(NODES, node_lifecycle_views.MonitoredNodeView, id="node-lifecycle, nodes"),
        pytest.param(PODS, node_lifecycle_views.MonitoredPodView, id="node-lifecycle, pods"),
        pytest.param(NODES, taint_eviction_views.TaintedNodeView, id="taint-eviction, nodes"),
        pytest.param(PODS, taint_eviction_views.ToleratingPodView, id="taint-eviction, pods"),
        pytest.param(PODS, hollow_pods.HollowPod, id="hollow pods"),
    ],
)
def test_no_controller_reads_what_is_left_out(resource: Resource[Any], view: type) -> None:
    left_out = {tuple(path.split(".")) for path in TRIMMED_FIELDS[resource]}

    read = {path for path in _paths(view) if READ_LIVE.isdisjoint(path)}

    assert not {path[:length] for path in read for length in range(1, len(path) + 1)} & left_out


def _paths(view: Any, above: tuple[str, ...] = ()) -> set[tuple[str, ...]]:
    """Return the paths of the fields that a view declares; fields inside lists and dicts are not looked at."""
    found: set[tuple[str, ...]] = set()
    for field in msgspec.structs.fields(view):
        path = (*above, field.encode_name)
        found.add(path)
        types = getattr(field.type, "__args__", (field.type,))
        for inner in types:
            if isinstance(inner, type) and issubclass(inner, msgspec.Struct):
                found |= _paths(inner, path)
    return found


def test_the_caches_of_a_manager_keep_little(sim: Simulation) -> None:
    with EmbeddedCluster(sim.host("h")) as cluster:
        trim_caches(cluster.manager)
        pods, nodes = cluster.manager.lister(PODS, dict), cluster.manager.lister(NODES, dict)
        cluster.user.create(PODS, a_pod("p", node="n", labels={"a": "b"}, annotations={"large": "x" * 1000}))
        cluster.user.create(NODES, a_node("n"))

        cluster.start()
        sim.settle()

        (pod,), (node,) = pods.list(), nodes.list()
        assert pod["metadata"]["labels"] == {"a": "b"}
        assert pod["spec"]["nodeName"] == "n"
        assert {"managedFields", "annotations"}.isdisjoint(pod["metadata"])
        assert "containers" not in pod["spec"]
        assert "managedFields" not in node["metadata"]


def test_a_cache_that_is_there_already_is_not_changed(sim: Simulation) -> None:
    with EmbeddedCluster(sim.host("h")) as cluster:
        cluster.manager.lister(PODS, dict)

        with pytest.raises(UsageError, match="pods are cached already"):
            cluster.manager.informers.transform(PODS, without(("spec",)))

# SPDX-License-Identifier: Apache-2.0
"""The parts of a path of the API."""

from __future__ import annotations

import pytest

from controller_runtime.core.resource_paths import ResourcePath, resource_path


@pytest.mark.parametrize(
    ("path", "named"),
    [
        ("/api/v1/nodes", ResourcePath("", "v1", "nodes")),
        ("/api/v1/nodes/n/status", ResourcePath("", "v1", "nodes", "", "n", "status")),
        ("/api/v1/namespaces", ResourcePath("", "v1", "namespaces")),
        ("/api/v1/namespaces/default", ResourcePath("", "v1", "namespaces", "", "default")),
        ("/api/v1/namespaces/default/finalize", ResourcePath("", "v1", "namespaces", "", "default", "finalize")),
        ("/api/v1/namespaces/default/status", ResourcePath("", "v1", "namespaces", "", "default", "status")),
        ("/api/v1/namespaces/default/pods", ResourcePath("", "v1", "pods", "default")),
        ("/api/v1/namespaces/default/pods/a/exec", ResourcePath("", "v1", "pods", "default", "a", "exec")),
        (
            "/api/v1/namespaces/n/services/a/proxy/x/y",
            ResourcePath("", "v1", "services", "n", "a", "proxy"),
        ),
        ("/apis/apps/v1/deployments", ResourcePath("apps", "v1", "deployments")),
        (
            "/apis/apps/v1/namespaces/n/deployments/b/scale",
            ResourcePath("apps", "v1", "deployments", "n", "b", "scale"),
        ),
    ],
)
def test_a_path_below_a_version_names_a_resource(path: str, named: ResourcePath) -> None:
    assert resource_path(path) == named


@pytest.mark.parametrize("path", ["", "/", "/version", "/api", "/api/v1", "/apis", "/apis/apps", "/apis/apps/v1"])
def test_other_paths_name_none(path: str) -> None:
    assert resource_path(path) is None


def test_a_subresource_is_named_with_its_resource_as_rules_name_it() -> None:
    assert ResourcePath("", "v1", "pods", "a", "b", "log").resource_and_part == "pods/log"
    assert ResourcePath("", "v1", "pods", "a", "b").resource_and_part == "pods"


@pytest.mark.parametrize(
    "path",
    ["/api/v1/nodes", "/api/v1/namespaces/default", "/apis/apps/v1/namespaces/a/deployments", "/apis/a.b/v2/c/d"],
)
def test_the_path_can_be_made_again(path: str) -> None:
    found = resource_path(path)

    assert found is not None
    assert found.path == path
    assert found._replace(subresource="status").path == path

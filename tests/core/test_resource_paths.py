# SPDX-License-Identifier: Apache-2.0
"""The parts of a path of the API."""

from __future__ import annotations

import pytest

from controller_runtime.core.resource_paths import ResourcePath, resource_path


@pytest.mark.parametrize(
    ("path", "named"),
    [
        ("/api/v1/nodes", ResourcePath("", "", "nodes", "", "")),
        ("/api/v1/nodes/n/status", ResourcePath("", "", "nodes", "n", "status")),
        ("/api/v1/namespaces", ResourcePath("", "", "namespaces", "", "")),
        ("/api/v1/namespaces/default", ResourcePath("", "", "namespaces", "default", "")),
        ("/api/v1/namespaces/default/finalize", ResourcePath("", "", "namespaces", "default", "finalize")),
        ("/api/v1/namespaces/default/status", ResourcePath("", "", "namespaces", "default", "status")),
        ("/api/v1/namespaces/default/pods", ResourcePath("", "default", "pods", "", "")),
        ("/api/v1/namespaces/default/pods/a/exec", ResourcePath("", "default", "pods", "a", "exec")),
        ("/api/v1/namespaces/default/services/a/proxy/x/y", ResourcePath("", "default", "services", "a", "proxy")),
        ("/apis/apps/v1/deployments", ResourcePath("apps", "", "deployments", "", "")),
        ("/apis/apps/v1/namespaces/a/deployments/b/scale", ResourcePath("apps", "a", "deployments", "b", "scale")),
    ],
)
def test_a_path_below_a_version_names_a_resource(path: str, named: ResourcePath) -> None:
    assert resource_path(path) == named


@pytest.mark.parametrize("path", ["", "/", "/version", "/api", "/api/v1", "/apis", "/apis/apps", "/apis/apps/v1"])
def test_other_paths_name_none(path: str) -> None:
    assert resource_path(path) is None


def test_a_subresource_is_named_with_its_resource_as_rules_name_it() -> None:
    assert ResourcePath("", "a", "pods", "b", "log").resource_and_part == "pods/log"
    assert ResourcePath("", "a", "pods", "b", "").resource_and_part == "pods"

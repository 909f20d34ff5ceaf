# SPDX-License-Identifier: Apache-2.0
"""Which requests a line of a script means, and what is refused."""

from __future__ import annotations

import pytest

from apimachinery.errors import UsageError
from embedded_apiserver.groups.all import KINDS
from embedded_apiserver.testing.matching import target_of

POD = ("pods", "", "")
STATUS = ("pods", "", "status")
DEPLOYMENT = ("deployments", "apps", "")
SCALE = ("deployments", "apps", "scale")


@pytest.mark.parametrize(
    ("line", "verb", "asked", "name", "is_meant"),
    [
        (("get", "pods"), "get", POD, "a", True),
        (("get", "pods"), "list", POD, "", False),
        (("GET", "pods"), "list", POD, "", True),
        (("GET", "pods"), "watch", POD, "", True),
        (("GET", "pods"), "create", POD, "a", False),
        (("DELETE", "pods"), "deletecollection", POD, "", True),
        (("delete", "pods"), "deletecollection", POD, "", False),
        (("*", "pods"), "watch", POD, "", True),
        (("PATCH", "pods"), "patch", STATUS, "a", False),
        (("PATCH", "pods/status"), "patch", STATUS, "a", True),
        (("PATCH", "pods/status"), "patch", POD, "a", False),
        (("PATCH", "deployments"), "patch", DEPLOYMENT, "a", True),
        (("PATCH", "deployments.apps"), "patch", DEPLOYMENT, "a", True),
        (("PATCH", "deployments.apps/scale"), "patch", SCALE, "a", True),
        (("PATCH", "*"), "patch", SCALE, "a", True),
        (("PATCH", "pods", "a"), "patch", POD, "a", True),
        (("PATCH", "pods", "a"), "patch", POD, "b", False),
    ],
)
def test_a_line_means_requests_by_verb_resource_and_name(
    line: tuple[str, ...], verb: str, asked: tuple[str, str, str], name: str, is_meant: bool
) -> None:
    assert target_of(KINDS, *line).means(verb, *asked, name) is is_meant


@pytest.mark.parametrize(
    ("verb", "resource", "told"),
    [
        ("PTACH", "pods", "no verb 'PTACH': give one of get, list"),
        ("Patch", "pods", "no verb 'Patch'"),
        ("get", "pod", "no resource 'pod' is served: write the plural"),
        ("get", "widgets.example.com", "create the definition of a custom resource first; docs/kinds.md lists"),
        ("get", "pods/scale", "pods has no subresource 'scale': it has"),
        ("get", "configmaps/status", "configmaps has no subresource 'status': it has none"),
    ],
)
def test_a_line_that_can_mean_nothing_is_refused_by_one_line(verb: str, resource: str, told: str) -> None:
    with pytest.raises(UsageError) as refused:
        target_of(KINDS, verb, resource)

    assert told in str(refused.value)
    assert "\n" not in str(refused.value)

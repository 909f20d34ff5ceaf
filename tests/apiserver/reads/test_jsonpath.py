# SPDX-License-Identifier: Apache-2.0
"""The part of JSONPath that printer columns use."""

from __future__ import annotations

from typing import Any

import pytest

from embedded_apiserver.reads.jsonpath import JSONPath

OBJECT: dict[str, Any] = {
    "metadata": {"labels": {"app.kubernetes.io/name": "x"}},
    "spec": {"size": 3, "ports": [{"name": "a", "port": 80}, {"name": "b", "port": 443}]},
}


@pytest.mark.parametrize(
    ("path", "first"),
    [
        (".spec.size", 3),
        (".spec.none.deeper", None),
        (".spec.ports[0].name", "a"),
        (".spec.ports[-1].name", "b"),
        (".spec.ports[7].name", None),
        (".spec.ports[*].port", 80),
        ('.spec.ports[?(@.name=="b")].port', 443),
        (".spec.ports[?(@.name=='b')].port", 443),
        (".spec.ports[?(@.port>100)].name", "b"),
        (".spec.ports[?(@.port>'x')].name", None),
        (r".metadata.labels.app\.kubernetes\.io/name", "x"),
        (r".metadata.labels['app\.kubernetes\.io/name']", "x"),
        (".metadata.labels", {"app.kubernetes.io/name": "x"}),
        (".", OBJECT),
    ],
)
def test_a_path_leads_to_the_first_value(path: str, first: Any) -> None:
    assert JSONPath(path).first(OBJECT) == first


@pytest.mark.parametrize("path", ["..name", ".spec[1:2]", ".spec[?(@.a==b c)]", "spec", ".spec["])
def test_a_path_that_says_more_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match=r"path|value"):
        JSONPath(path)


def test_a_path_is_read_in_time_that_grows_with_its_length() -> None:
    blanks = " " * 20_000

    with pytest.raises(ValueError, match="cannot read"):
        JSONPath(f".a[?(@{blanks}=={blanks}1")

# SPDX-License-Identifier: Apache-2.0
"""The grammar of names."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from apimachinery.names import (
    label_problems,
    label_value_problems,
    path_segment_problems,
    qualified_name_problems,
    subdomain_problems,
)

Rule = Callable[[str], list[str]]


@pytest.mark.parametrize(
    ("rule", "name"),
    [
        pytest.param(subdomain_problems, "a.b-c.1", id="a subdomain"),
        pytest.param(subdomain_problems, "x" * 253, id="a long subdomain"),
        pytest.param(label_problems, "a-1", id="a label"),
        pytest.param(path_segment_problems, "Host_Name..x", id="a path segment"),
        pytest.param(label_value_problems, "", id="the empty value"),
        pytest.param(label_value_problems, "A_b.c-1", id="a value"),
        pytest.param(qualified_name_problems, "Plain_Name", id="a key"),
        pytest.param(qualified_name_problems, "example.com/Name", id="a key with a prefix"),
    ],
)
def test_good_names_have_no_problems(rule: Rule, name: str) -> None:
    assert rule(name) == []


@pytest.mark.parametrize(
    ("rule", "name", "problems"),
    [
        pytest.param(subdomain_problems, "Bad_Name", ["a lowercase RFC 1123 subdomain"], id="upper case"),
        pytest.param(subdomain_problems, "x" * 254, ["must be no more than 253 characters"], id="a byte too long"),
        pytest.param(subdomain_problems, "a..b", ["a lowercase RFC 1123 subdomain"], id="an empty label"),
        pytest.param(subdomain_problems, "a\n", ["a lowercase RFC 1123 subdomain"], id="a line end"),
        pytest.param(label_problems, "a.b", ["must not contain dots"], id="a dot in a label"),
        pytest.param(path_segment_problems, "..", ["may not be '..'"], id="a step up"),
        pytest.param(path_segment_problems, "a/b%", ["may not contain '/'", "may not contain '%'"], id="a path"),
        pytest.param(label_value_problems, "x" * 64, ["must be no more than 63 bytes"], id="a long value"),
        pytest.param(label_value_problems, "é", ["a valid label"], id="a letter beyond ASCII"),
        pytest.param(qualified_name_problems, "a/b/c", ["a valid label key"], id="two prefixes"),
        pytest.param(qualified_name_problems, "/b", ["prefix part must be non-empty"], id="an empty prefix"),
        pytest.param(
            qualified_name_problems, "", ["name part must be non-empty", "name part must consist"], id="nothing"
        ),
        pytest.param(
            qualified_name_problems,
            f"A_B/-{'x' * 63}",
            ["prefix part a lowercase", "name part must be no more than 63 bytes", "name part must consist"],
            id="everything wrong",
        ),
    ],
)
def test_bad_names_are_told_all_their_problems(rule: Rule, name: str, problems: list[str]) -> None:
    found = rule(name)

    assert [text[: len(problem)] for text, problem in zip(found, problems, strict=True)] == problems

# SPDX-License-Identifier: Apache-2.0
"""The grammar of names."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from apimachinery.names import (
    label_errors,
    label_value_errors,
    path_segment_errors,
    qualified_name_errors,
    subdomain_errors,
)

Rule = Callable[[str], list[str]]


@pytest.mark.parametrize(
    ("rule", "name"),
    [
        pytest.param(subdomain_errors, "a.b-c.1", id="a subdomain"),
        pytest.param(subdomain_errors, "x" * 253, id="a long subdomain"),
        pytest.param(label_errors, "a-1", id="a label"),
        pytest.param(path_segment_errors, "Host_Name..x", id="a path segment"),
        pytest.param(label_value_errors, "", id="the empty value"),
        pytest.param(label_value_errors, "A_b.c-1", id="a value"),
        pytest.param(qualified_name_errors, "Plain_Name", id="a key"),
        pytest.param(qualified_name_errors, "example.com/Name", id="a key with a prefix"),
    ],
)
def test_good_names_have_no_problems(rule: Rule, name: str) -> None:
    assert rule(name) == []


@pytest.mark.parametrize(
    ("rule", "name", "problems"),
    [
        pytest.param(subdomain_errors, "Bad_Name", ["a lowercase RFC 1123 subdomain"], id="upper case"),
        pytest.param(subdomain_errors, "x" * 254, ["must be no more than 253 characters"], id="a byte too long"),
        pytest.param(subdomain_errors, "a..b", ["a lowercase RFC 1123 subdomain"], id="an empty label"),
        pytest.param(subdomain_errors, "a\n", ["a lowercase RFC 1123 subdomain"], id="a line end"),
        pytest.param(label_errors, "a.b", ["must not contain dots"], id="a dot in a label"),
        pytest.param(path_segment_errors, "..", ["may not be '..'"], id="a step up"),
        pytest.param(path_segment_errors, "a/b%", ["may not contain '/'", "may not contain '%'"], id="a path"),
        pytest.param(label_value_errors, "x" * 64, ["must be no more than 63 bytes"], id="a long value"),
        pytest.param(label_value_errors, "é", ["a valid label"], id="a letter beyond ASCII"),
        pytest.param(qualified_name_errors, "a/b/c", ["a valid label key"], id="two prefixes"),
        pytest.param(qualified_name_errors, "/b", ["prefix part must be non-empty"], id="an empty prefix"),
        pytest.param(
            qualified_name_errors, "", ["name part must be non-empty", "name part must consist"], id="nothing"
        ),
        pytest.param(
            qualified_name_errors,
            f"A_B/-{'x' * 63}",
            ["prefix part a lowercase", "name part must be no more than 63 bytes", "name part must consist"],
            id="everything wrong",
        ),
    ],
)
def test_bad_names_are_told_all_their_problems(rule: Rule, name: str, problems: list[str]) -> None:
    found = rule(name)

    assert [text[: len(problem)] for text, problem in zip(found, problems, strict=True)] == problems

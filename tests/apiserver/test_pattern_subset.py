# SPDX-License-Identifier: Apache-2.0
"""The patterns of a server without google-re2: the same matches as RE2, or a refusal."""

from __future__ import annotations

import sys
import time
from importlib.util import find_spec

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apimachinery.errors import UsageError
from embedded_apiserver import patterns
from embedded_apiserver.pattern_subset import BeyondSubset, SubsetPattern
from embedded_apiserver.patterns import compiled

WITH_RE2 = pytest.mark.skipif(find_spec("re2") is None, reason="google-re2 is not installed: nothing to compare with")
ATOMS = [
    "a",
    "b",
    ".",
    "-",
    "[ab]",
    "[^a]",
    "[a-c]",
    "[-a]",
    r"\.",
    r"\d",
    r"\s",
    r"\W",
    r"[\w.]",
    "^",
    "$",
    r"\n",
    "é",
]
REPEATS = ["", "", "", "*", "+", "?", "*?", "+?", "??", "{2}", "{1,3}", "{0,2}?", "{2,}", "{0}"]
PARTS = st.builds("{}{}".format, st.sampled_from(ATOMS), st.sampled_from(REPEATS))


def grouped(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds("({}){}".format, inner, st.sampled_from(REPEATS)),
        st.builds("(?:{}|{}){}".format, inner, inner, st.sampled_from(REPEATS)),
        st.builds("{}{}".format, inner, inner),
        st.builds("{}|{}".format, inner, inner),
    )


PATTERNS = st.recursive(PARTS, grouped, max_leaves=8)
TEXTS = st.text(alphabet="abcé.- \n\v1Z", max_size=8)


@WITH_RE2
@given(PATTERNS, TEXTS)
def test_a_pattern_of_the_subset_matches_where_re2_matches(pattern: str, text: str) -> None:
    ours, theirs = SubsetPattern(pattern), compiled(pattern)

    assert ours.matches(text) == theirs.matches(text)
    assert list(ours.places(text)) == list(theirs.places(text))


@WITH_RE2
@given(st.text(alphabet=r"ab()[]{}*+?|\.^$-,:1dDsbQpz" + "é", max_size=10), TEXTS)
def test_any_text_is_read_as_re2_reads_it_or_refused(pattern: str, text: str) -> None:
    try:
        ours = SubsetPattern(pattern)
    except BeyondSubset:
        return
    assert list(ours.places(text)) == list(compiled(pattern).places(text))  # NoPattern would fail the test


@WITH_RE2
@pytest.mark.parametrize(
    "pattern",
    [
        r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
        r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$",
        r"^((100|[0-9]{1,2})%|[0-9]+)$",
        r"^[0-9a-fA-F]{8}\b-".replace(r"\b", ""),
        r"^https?://[^\s/$.?#][^\s]*$",
    ],
)
def test_patterns_that_projects_use_are_of_the_subset(pattern: str) -> None:
    texts = ["a", "a.b-c.d", "-a", "1.5Gi", "+.5e3", "100%", "101%", "0123abcd-", "https://a/b", "http:// ", "", "a\n"]
    ours, theirs = SubsetPattern(pattern), compiled(pattern)
    assert [ours.matches(text) for text in texts] == [theirs.matches(text) for text in texts]


@pytest.mark.parametrize(
    "pattern",
    ["(?i)a", "(?P<n>a)", r"\bA", r"\pL", "[[:alpha:]]", r"\Qa\E", "a**", "x{", "(", ")", "[", "a{2,1}", "(a{99}){99}",
     "(" * 99 + ")" * 99, "[]a]", r"\1", "(?=a)", "\\", "[b-a]"],
)  # fmt: skip
def test_what_the_subset_lacks_is_refused(pattern: str) -> None:
    with pytest.raises(BeyondSubset):
        SubsetPattern(pattern)


def test_no_pattern_takes_longer_than_its_size_times_the_text() -> None:
    pattern = SubsetPattern("^(a+)+(a|a)*$")  # for which Python's own engine takes 2**2000 steps
    began = time.process_time()
    assert not pattern.matches("a" * 2000 + "b")
    assert time.process_time() - began < 5.0


def test_a_server_without_re2_uses_the_subset_and_says_once_what_it_lacks(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "re2", None)
    patterns._engine.cache_clear()
    try:
        assert patterns.compiled("^a+$").matches("aa")
        with pytest.raises(UsageError, match=r"'\\\\ba' needs google-re2: .* \(.*\)$"):
            patterns.compiled(r"\ba")
    finally:
        patterns._engine.cache_clear()

    [line] = [record.getMessage() for record in caplog.records]
    assert line.startswith("google-re2 is not installed")

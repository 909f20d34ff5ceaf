# SPDX-License-Identifier: Apache-2.0
"""Patterns of schemas have the syntax of Go's regular expressions, and match in linear time."""

from __future__ import annotations

import pytest
from kit.contract.engines import WITH_RE2

from embedded_apiserver.patterns import NoPattern, compiled

pytestmark = WITH_RE2


@pytest.mark.parametrize(
    ("pattern", "good", "bad"),
    [
        pytest.param("^[a-z]+$", "abc", "ABC", id="the same in both"),
        pytest.param("^a$", "a", "a\n", id="the end is the end"),
        pytest.param(r"\Aa\z", "a", "a\n", id="the end by another name"),
        pytest.param("^(?i)(abort|warn)?$", "WARN", "warned", id="flags in the middle"),
        pytest.param("^((?i)may|june|[1-9])(:(?i)may)?$", "JUNE:May", "JULY", id="flags in groups, to their ends"),
        pytest.param("^(a(?i)b|c)d$", "Cd", "CD", id="flags beyond an alternative"),
        pytest.param("^(?i:a)b$", "Ab", "AB", id="flags of a group"),
        pytest.param("^[[:alpha:]_]+$", "ab_", "a1", id="a named class"),
        pytest.param("^[^[:space:]]+$", "ab", "a b", id="none of a named class"),
        pytest.param("^[]a]+$", "]a", "b", id="a bracket that comes first"),
        pytest.param("^[[a]$", "[", "b", id="a bracket that opens nothing"),
        pytest.param(r"^[\]$]$", "$", "x", id="escapes and dollars in a set"),
        pytest.param(r"^\$\($", "$(", "x", id="escapes"),
        pytest.param(r"^\d+$", "1", "\u0661", id="digits are those of ASCII"),
        pytest.param(r"^a{2,3}?$", "aaa", "aaaa", id="some times"),
        pytest.param(r"^a{2,}b{0}$", "aaaa", "a", id="times without an end, and no times"),
        pytest.param(r"^a{,2}$", "a{,2}", "aa", id="braces that say no number stand for themselves"),
        pytest.param(r"a|^(?:b|)$", "", "c", id="nothing is an alternative"),
        pytest.param(r"\bcat\b", "a cat.", "cats", id="words as wholes"),
        pytest.param(r"a\Bt", "at", "a t", id="inside a word"),
        pytest.param("(?m)^b$", "a\nb\nc", "ab", id="lines"),
        pytest.param("(?s)^.$", "\n", "ab", id="any character"),
        pytest.param("^(?P<one>.)(?-s:.)$", "ab", "a\n", id="a name, and a flag taken back"),
        pytest.param(r"^\x{1F600}\x41\101$", "\U0001f600AA", "x", id="characters by their numbers"),
        pytest.param(r"^\p{Greek}[\pL]\Q.\E$", "αa.", "aa.", id="classes of Unicode, and a quotation"),
    ],
)
def test_a_pattern_means_what_it_means_elsewhere(pattern: str, good: str, bad: str) -> None:
    assert compiled(pattern).matches(good)
    assert not compiled(pattern).matches(bad)


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("(a{1,1000}){1,1000}", "invalid repeat count: "),
        ("(", "missing closing ): `(`"),
        ("[a", "missing closing ]: `[a`"),
        ("*a", "missing argument to repetition operator: `*`"),
        ("a)", "unexpected ): `a)`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("a{2,1}", "invalid repeat count: `{2,1}`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("[z-a]", "invalid character class range: `z-a`"),
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        ("(?i", "invalid or unsupported Perl syntax: `(?i`"),
        (r"(a)\1", "invalid escape sequence: `\\1`"),
        (r"a\Z", "invalid escape sequence: `\\Z`"),
        ("a\\", "trailing backslash at end of expression: ``"),
    ],
)
def test_what_is_no_pattern_is_told_in_the_words_of_a_real_server(pattern: str, problem: str) -> None:
    with pytest.raises(NoPattern) as told:
        compiled(pattern)

    assert str(told.value).startswith(f"error parsing regexp: {problem}")


@pytest.mark.parametrize("pattern", ["^(a+)+$", "^(a|a)*$", "(a*)*b", "^(.*)*b$", "(a|b)*a(a|b){20}c"])
def test_no_pattern_takes_more_than_one_way_through_a_text(pattern: str) -> None:
    assert not compiled(pattern).matches("a" * 10_000 + "!")

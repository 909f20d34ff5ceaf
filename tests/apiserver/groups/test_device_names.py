# SPDX-License-Identifier: Apache-2.0
"""Names of the attributes of devices."""

from __future__ import annotations

import pytest

from embedded_apiserver.groups.devices.device_names import full_name, qualified_name

_NO_DOMAIN, _NO_NAME = "the domain must not be empty", "the name must not be empty"


# As a server of 1.36 answered.
@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("model", []),
        ("example.com/model", []),
        ("/", [_NO_DOMAIN, _NO_NAME]),
        ("a/", [_NO_NAME]),
        ("/b", [_NO_DOMAIN]),
        ("a/b/c", []),
        ("example.com/a b/c", []),
        ("//", []),
    ],
)
def test_a_name_with_two_slashes_or_more_is_accepted_as_by_a_real_server(name: str, told: list[str]) -> None:
    assert [text for each in qualified_name(name, "x") for text in told if text in each.message] == told
    assert bool([*qualified_name(name, "x")]) is bool(told)
    assert bool([*full_name(name, "x")]) is (bool(told) or "/" not in name)

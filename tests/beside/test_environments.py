# SPDX-License-Identifier: Apache-2.0
"""The projects that `tox -e beside` installs are those whose result the guide shows."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
LISTED = tomllib.loads(Path(__file__).with_name("environments.toml").read_text(encoding="utf-8"))


def test_each_environment_is_one_release_of_one_project() -> None:
    assert LISTED
    for name, fields in LISTED.items():
        assert fields.keys() == {"requirement", "module"}
        assert re.fullmatch(re.escape(name) + r"==[0-9.]+", fields["requirement"])


def test_the_guide_shows_the_result_of_each_environment() -> None:
    page = (ROOT / "docs" / "stability.md").read_text(encoding="utf-8")
    table = page.partition("\n| beside |")[2].partition("\n\n")[0]

    assert re.findall(r"^\| `([^`]+)` \|", table, re.MULTILINE) == [each["requirement"] for each in LISTED.values()]

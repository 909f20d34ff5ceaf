# SPDX-License-Identifier: Apache-2.0
"""The version of the installed package, wherever and however it is installed."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from controller_runtime.core.version import installed_version

METADATA = "Metadata-Version: 2.1\nName: controller-runtime\nVersion: 1.2.3\n"


def test_the_name_of_the_directory_that_an_installer_makes_has_it(tmp_path: Path) -> None:
    (tmp_path / "controller_runtime-1.2.3.dist-info").mkdir()

    assert installed_version([str(tmp_path / "absent"), str(tmp_path)]) == "1.2.3"


def test_an_archive_has_it_in_a_file(tmp_path: Path) -> None:
    archive = tmp_path / "all.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("controller_runtime-1.2.3.dist-info/METADATA", METADATA)

    assert installed_version([str(tmp_path), str(archive)]) == "1.2.3"


@pytest.mark.parametrize("name", ["controller_runtime.egg-info", "controller_runtime-1.2.3-py3.11.egg-info"])
def test_an_older_form_of_directory_has_it_in_a_file(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "PKG-INFO").write_text(METADATA)

    assert installed_version([str(tmp_path)]) == "1.2.3"


def test_a_clone_has_none(tmp_path: Path) -> None:
    (tmp_path / "no.zip").write_text("not an archive")

    assert installed_version([str(tmp_path), str(tmp_path / "no.zip")]) == "unreleased"

# SPDX-License-Identifier: Apache-2.0
"""Files that were made are made again, and no other file is touched."""

from __future__ import annotations

from pathlib import Path

import pytest

from apimachinery.errors import UsageError
from controller_runtime.manifests.bundles import MARK, TEMPLATE_MARK
from controller_runtime.manifests.files import write_files


def test_files_are_written_again_and_those_of_before_are_removed(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.yaml": MARK + "1", "templates/b.yaml": TEMPLATE_MARK + "2"})
    (tmp_path / "own.yaml").write_text("mine")
    (tmp_path / "templates" / "own.yaml").write_text("mine, too")

    removed = write_files(tmp_path, {"a.yaml": MARK + "3"})

    assert removed == [tmp_path / "templates" / "b.yaml"]
    assert (tmp_path / "a.yaml").read_text() == MARK + "3"
    assert sorted(path.name for path in tmp_path.rglob("*.yaml")) == ["a.yaml", "own.yaml", "own.yaml"]


@pytest.mark.parametrize("content", ["kind: Deployment\n", "", MARK[:-2], f" {MARK}"])
def test_a_file_that_was_not_made_is_refused_before_anything_is_written(tmp_path: Path, content: str) -> None:
    (tmp_path / "b.yaml").write_text(content)

    with pytest.raises(UsageError, match=r"b\.yaml was not made by this command: move it away, or name another folder"):
        write_files(tmp_path, {"a.yaml": MARK, "b.yaml": MARK})

    assert [path.name for path in tmp_path.iterdir()] == ["b.yaml"]
    assert (tmp_path / "b.yaml").read_text() == content


def test_a_folder_that_cannot_be_made_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(UsageError, match="cannot write to"):
        write_files(tmp_path / "file", {"a.yaml": MARK})

# SPDX-License-Identifier: Apache-2.0
"""A suite that uses the server is known before its files are imported."""

from __future__ import annotations

from pathlib import Path

import pytest

from embedded_apiserver.testing.scan import paths_of, uses_server


@pytest.mark.parametrize(
    ("place", "text", "found"),
    [
        ("tests/test_a.py", "def test_a(kubernetes_server): ...", True),
        ("tests/test_a.py", "def test_a(kubernetes_server_session): ...", True),
        ("tests/deep/er/test_a.py", "class A(KubernetesServerMixin, TestCase): ...", True),
        ("conftest.py", "def server(kubernetes_server): ...", True),
        ("tests/conftest.py", "def server(kubernetes_server): ...", True),
        ("tests/test_a.py", "def test_a(my_kubernetes_server): ...", False),
        ("tests/test_a.py", "def test_a(cluster): ...", False),
        ("tests/notes.txt", "kubernetes_server", False),
        ("other/test_a.py", "def test_a(kubernetes_server): ...", False),
        ("tests/.venv/test_a.py", "def test_a(kubernetes_server): ...", False),
        ("tests/build/test_a.py", "def test_a(kubernetes_server): ...", False),
    ],
)
def test_a_suite_uses_the_server_if_a_file_of_it_names_it(tmp_path: Path, place: str, text: str, found: bool) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / place).write_text(text)

    assert uses_server([tmp_path / "tests"], tmp_path, ["build"]) is found


def test_a_file_that_is_named_alone_is_looked_into_with_the_files_above_it(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_a.py").write_text("def test_a(kubernetes_server): ...")
    (tmp_path / "tests" / "test_b.py").write_text("")
    [named] = paths_of(["tests/test_a.py::test_a"], tmp_path)

    assert named == tmp_path / "tests" / "test_a.py"
    assert uses_server([named], tmp_path, [])
    assert not uses_server([tmp_path / "tests" / "test_b.py"], tmp_path, [])


def test_what_does_not_exist_uses_nothing(tmp_path: Path) -> None:
    assert not uses_server([tmp_path / "nowhere"], tmp_path, [])

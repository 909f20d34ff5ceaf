# SPDX-License-Identifier: Apache-2.0
"""The library is installed with the distributions beside it, from wherever the installed one came from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from controller_runtime.core.extras import remedy
from controller_runtime.core.library import Library, installed_library, source_in


@pytest.mark.parametrize(
    ("direct_url", "source"),
    [
        pytest.param({"url": "file:///a%20b/clone", "dir_info": {}}, "/a b/clone", id="a clone"),
        pytest.param({"url": "file:///w/x.whl", "archive_info": {}}, "/w/x.whl", id="a wheel"),
        pytest.param({"url": "https://h/x.whl", "archive_info": {}}, "https://h/x.whl", id="a wheel elsewhere"),
        pytest.param(
            {"url": "https://h/r.git", "vcs_info": {"vcs": "git", "commit_id": "abc"}, "subdirectory": "lib"},
            "git+https://h/r.git@abc#subdirectory=lib",
            id="a repository",
        ),
    ],
)
def test_the_library_comes_from_where_pip_installed_it_from(direct_url: dict[str, object], source: str) -> None:
    assert source_in(json.dumps(direct_url)) == source


def installed_in(folder: Path, name: str, direct_url: str = "") -> str:
    """Make the metadata of an installed library in a folder; return the folder for `sys.path`."""
    (made := folder / name).mkdir(parents=True)
    file = "PKG-INFO" if name.endswith(".egg-info") else "METADATA"
    (made / file).write_text("Metadata-Version: 2.1\nName: controller-runtime\nVersion: 1.2.3\n")
    if direct_url:
        (made / "direct_url.json").write_text(json.dumps({"url": direct_url, "dir_info": {}}))
    return str(folder)


def test_the_metadata_that_a_build_leaves_in_a_clone_hides_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clone = installed_in(tmp_path / "clone", "controller_runtime.egg-info")
    site = installed_in(tmp_path / "site", "controller_runtime-1.2.3.dist-info", "file:///src/lib")
    monkeypatch.setattr("sys.path", [clone, site])

    assert installed_library() == Library("/src/lib")


def test_without_a_note_of_pip_a_message_says_how_a_name_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.path", [installed_in(tmp_path, "controller_runtime-1.2.3.dist-info")])
    note = " (on no index yet: add --find-links with the folder of its wheels)"

    assert remedy("cli") == f"pip install 'controller-runtime[cli]>=1.2.3'{note}"


GIT = "git+https://h/r.git@abc"
WHEEL = "-0.1.0-py3-none-any.whl"


@pytest.mark.parametrize(
    ("source", "requirements"),
    [
        ("controller-runtime", ["controller-runtime[testing]"]),
        ("controller-runtime[cli]>=0.1.0", ["controller-runtime[testing]>=0.1.0"]),
        ("/a b/clone", ["/a b/clone/apimachinery", "/a b/clone/apiserver", "/a b/clone[testing]"]),
        (".", ["./apimachinery", "./apiserver", ".[testing]"]),
        (
            GIT,
            [
                f"controller-runtime-apimachinery @ {GIT}#subdirectory=apimachinery",
                f"embedded-apiserver @ {GIT}#subdirectory=apiserver",
                f"controller-runtime[testing] @ {GIT}",
            ],
        ),
        (
            f"{GIT}#subdirectory=lib",
            [
                f"controller-runtime-apimachinery @ {GIT}#subdirectory=lib/apimachinery",
                f"embedded-apiserver @ {GIT}#subdirectory=lib/apiserver",
                f"controller-runtime[testing] @ {GIT}#subdirectory=lib",
            ],
        ),
        (
            f"/w/controller_runtime{WHEEL}",
            [
                f"/w/controller_runtime_apimachinery{WHEEL}",
                f"/w/embedded_apiserver{WHEEL}",
                f"/w/controller_runtime{WHEEL}[testing]",
            ],
        ),
        (
            "https://h/controller_runtime-0.1.0.tar.gz",
            [
                "controller-runtime-apimachinery @ https://h/controller_runtime_apimachinery-0.1.0.tar.gz",
                "embedded-apiserver @ https://h/embedded_apiserver-0.1.0.tar.gz",
                "controller-runtime[testing] @ https://h/controller_runtime-0.1.0.tar.gz",
            ],
        ),
    ],
)
def test_the_distributions_that_the_library_requires_come_from_beside_it(source: str, requirements: list[str]) -> None:
    assert Library(source).requirements("testing") == requirements


def test_no_distribution_is_given_that_is_not_required() -> None:
    assert Library("/c").requirements("cli") == ["/c/apimachinery", "/c[cli]"]
    assert Library("/c").requirements() == ["/c/apimachinery", "/c"]


def test_the_bundled_controllers_come_with_the_extras_that_they_require() -> None:
    assert Library("/c").requirements(controllers=True) == [
        "/c/apimachinery",
        "/c/apiserver",
        "/c[testing,cli,agent]",
        "/c/controllers",
    ]
    assert Library("controller-runtime").requirements(controllers=True) == [
        "controller-runtime[testing,cli,agent]",
        "controller-runtime-controllers",
    ]


def test_a_command_is_quoted_for_a_shell() -> None:
    assert Library("/a b").command("cli", "pytest") == "pip install '/a b/apimachinery' '/a b[cli]' pytest"


@pytest.mark.parametrize(
    ("source", "is_local"), [("controller-runtime", False), ("/clone", True), (f"/w/x{WHEEL}", True), (GIT, False)]
)
def test_a_path_is_of_this_machine_alone(source: str, is_local: bool) -> None:
    assert Library(source).is_local is is_local

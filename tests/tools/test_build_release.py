# SPDX-License-Identifier: Apache-2.0
"""The files of a release: archives without traces of their build, metadata from one place, checksums."""

from __future__ import annotations

import configparser
import gzip
import io
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

import pytest
from kit import build_release

ROOT = Path(__file__).parents[2]
FACTS = {
    "authors": ["Ada", "Grace <grace@example.com>"],
    "repository": "https://example.com/code",
    "issues": "",
    "documentation": "https://example.com/docs",
    "security": "security@example.com",
    "conduct": "",
}


def archive(names: list[str], *, mtime: int, owner: str, mode: int = 0o664) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as written:
        for name in names:
            member = tarfile.TarInfo(name)
            member.size, member.mtime, member.uname, member.mode = len(name), mtime, owner, mode
            written.addfile(member, io.BytesIO(name.encode()))
    return made.getvalue()


def test_an_archive_has_no_trace_of_when_and_by_whom_it_was_built() -> None:
    one = build_release.normalized(archive(["p/a", "p/b"], mtime=1, owner="ada", mode=0o600), 86400)
    other = build_release.normalized(archive(["p/b", "p/a"], mtime=2, owner="grace"), 86400)

    assert one == other
    with tarfile.open(fileobj=io.BytesIO(one)) as read:
        members = [(each.name, each.mtime, each.uname, each.mode) for each in read]
        assert members == [("p/a", 86400, "", 0o644), ("p/b", 86400, "", 0o644)]
        assert read.extractfile("p/a").read() == b"p/a"  # type: ignore[union-attr]


def test_other_contents_are_another_archive() -> None:
    made = [build_release.normalized(archive([name], mtime=1, owner="ada"), 0) for name in ("p/a", "p/b")]

    assert gzip.decompress(made[0]) != gzip.decompress(made[1])


@pytest.mark.parametrize("folder", build_release.FOLDERS)
def test_authors_and_links_come_into_the_metadata_of_each_distribution(folder: str) -> None:
    text = (ROOT / folder / "setup.cfg").read_text(encoding="utf-8")
    before, after = configparser.ConfigParser(), configparser.ConfigParser()

    before.read_string(text)
    after.read_string(build_release.with_facts(text, FACTS))

    added = {name: value for name, value in after["metadata"].items() if name not in before["metadata"]}
    assert added == {
        "author": "Ada",
        "author_email": "Grace <grace@example.com>",
        "project_urls": "\nSource = https://example.com/code\nDocumentation = https://example.com/docs",
    }
    assert before.sections() == after.sections()


def test_facts_that_are_open_change_nothing_and_are_named() -> None:
    facts = {**dict.fromkeys(FACTS, ""), "authors": []}
    text = "[metadata]\nname = a\nversion = 1\n"

    assert build_release.with_facts(text, facts) == text
    assert build_release.undecided(facts) == [*FACTS]
    assert build_release.undecided(FACTS) == ["issues", "conduct"]


def test_the_project_has_these_facts_and_no_others() -> None:
    facts = tomllib.loads((ROOT / "project.toml").read_text(encoding="utf-8"))

    assert facts.keys() == FACTS.keys()
    for page in ("SECURITY.md", "CODE_OF_CONDUCT.md"):
        assert "`project.toml`" in (ROOT / page).read_text(encoding="utf-8")


def test_checksums_are_those_that_the_usual_program_reads() -> None:
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

    assert build_release.checksums({"b.whl": b"", "a.whl": b""}) == f"{empty}  a.whl\n{empty}  b.whl\n"


def test_a_step_that_fails_is_told_with_its_output(tmp_path: Path) -> None:
    with pytest.raises(build_release.Failure, match="of no use"):
        build_release.did(sys.executable, "-c", "raise SystemExit('of no use')", cwd=tmp_path)


def test_a_tree_with_changes_is_not_built(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    repository.mkdir()
    for command in (["init", "-q"], ["add", "."]):
        (repository / "setup.cfg").write_text("[metadata]\n")
        subprocess.run(["git", *command], cwd=repository, check=True)
    monkeypatch.setattr(build_release, "ROOT", repository)

    with pytest.raises(build_release.Failure, match="not committed"):
        build_release.release(tmp_path / "dist")
    assert not (tmp_path / "dist").exists()

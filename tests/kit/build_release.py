# SPDX-License-Identifier: Apache-2.0
"""Builds the files of a release, and stops before anything is published: `python tests/kit/build_release.py [DIR]`.

Wheels and source archives of the four distributions are built twice from the last commit, in two folders, and have to
have the same bytes. Beside them come a list of all that an environment with them contains (CycloneDX) and SHA-256
checksums. The facts of project.toml are written into their metadata. `tox -e release` has the packages that this needs.

Exit status 1: two builds differ, the tree has changes that are not committed, or a step failed.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import venv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("apimachinery", "apiserver", ".", "controllers")
EXTRAS = "testing,cli,webhooks,agent,exec,tracing,lean"
SBOM, CHECKSUMS = "sbom.cdx.json", "SHA256SUMS"
_LINKS = {"repository": "Source", "issues": "Issues", "documentation": "Documentation"}


class Failure(Exception):
    """A step that failed."""


def undecided(facts: Mapping[str, Any]) -> list[str]:
    """Return the names of the facts that project.toml leaves open."""
    return [name for name, value in facts.items() if not value]


def with_facts(setup: str, facts: Mapping[str, Any]) -> str:
    """Return the text of a setup.cfg with authors and links in its metadata; those that are open are left out."""
    named = [author for author in facts["authors"] if "<" not in author]
    reached = [author for author in facts["authors"] if "<" in author]
    lines = [f"author = {', '.join(named)}"] * bool(named) + [f"author_email = {', '.join(reached)}"] * bool(reached)
    links = [f"    {label} = {facts[name]}" for name, label in _LINKS.items() if facts[name]]
    lines += ["project_urls =", *links] if links else []
    added = "".join(f"{line}\n" for line in lines)
    return re.sub(r"(?<=\n)name = .*\n", lambda found: found[0] + added, setup, count=1)


def normalized(archive: bytes, epoch: int) -> bytes:
    """Return a source archive whose bytes depend on names and contents alone.

    setuptools writes the times of the build, the user's name, and files in the order of the folder.

    Args:
        archive: A tar file, compressed by gzip.
        epoch: The time of all files, in seconds since 1970.
    """
    plain = io.BytesIO()
    with (
        tarfile.open(fileobj=io.BytesIO(archive)) as read,
        tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as written,
    ):
        for member in sorted(read.getmembers(), key=lambda each: each.name):
            clean = tarfile.TarInfo(member.name)
            clean.type, clean.size, clean.mtime = member.type, member.size, epoch
            clean.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            written.addfile(clean, read.extractfile(member) if member.isfile() else None)
    return gzip.compress(plain.getvalue(), mtime=epoch)


def checksums(files: Mapping[str, bytes]) -> str:
    """Return the lines that `sha256sum --check` reads."""
    return "".join(f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in sorted(files.items()))


def did(*command: str | Path, cwd: Path, **environment: str) -> bytes:
    """Run a command to its end and return what it wrote; raise Failure with its messages if it failed."""
    words = [str(part) for part in command]
    done = subprocess.run(words, cwd=cwd, env={**os.environ, **environment}, capture_output=True, check=False)
    if done.returncode:
        raise Failure(f"{' '.join(words)}:\n{(done.stdout + done.stderr).decode(errors='replace')[-2000:]}")
    return done.stdout


def built(folder: Path, facts: Mapping[str, Any], epoch: int) -> dict[str, bytes]:
    """Build the four distributions of the last commit in a folder; return their files."""
    tree = folder / "tree"
    with tarfile.open(fileobj=io.BytesIO(did("git", "archive", "HEAD", cwd=ROOT))) as archive:
        archive.extractall(tree, filter="data")
    for each in FOLDERS:
        setup = tree / each / "setup.cfg"
        setup.write_text(with_facts(setup.read_text(encoding="utf-8"), facts), encoding="utf-8")
        options = ("--no-isolation", "--outdir", folder / "out")  # with the setuptools that tox.ini pins
        did(sys.executable, "-m", "build", *options, tree / each, cwd=folder, SOURCE_DATE_EPOCH=str(epoch))
    files = {path.name: path.read_bytes() for path in (folder / "out").iterdir()}
    return {name: normalized(data, epoch) if name.endswith(".tar.gz") else data for name, data in files.items()}


def sbom(folder: Path, wheels: Path) -> bytes:
    """Return the CycloneDX document of an environment with all distributions and extras, as pip resolves it today."""
    venv.create(folder / "all", with_pip=True)
    python = folder / "all" / "bin" / "python"
    library = next(wheels.glob("controller_runtime-*.whl"))
    others = [wheel for wheel in wheels.glob("*.whl") if wheel != library]
    did(python, "-m", "pip", "install", "--quiet", "--no-compile", f"{library}[{EXTRAS}]", *others, cwd=folder)
    did(python, "-m", "pip", "uninstall", "--quiet", "--yes", "pip", "setuptools", cwd=folder)
    options = ("--output-reproducible", "--output-format", "JSON", "--output-file", folder / SBOM)
    did(sys.executable, "-m", "cyclonedx_py", "environment", *options, python, cwd=folder)
    return (folder / SBOM).read_bytes()


def release(out: Path) -> list[str]:
    """Write the files of a release into a folder; return what is told about them."""
    if did("git", "status", "--porcelain", "--untracked-files=no", cwd=ROOT):
        raise Failure("there are changes that are not committed: a release is built from a commit")
    os.umask(0o022)  # wheels have the permissions of their files
    facts = tomllib.loads((ROOT / "project.toml").read_text(encoding="utf-8"))
    epoch = int(did("git", "log", "-1", "--format=%ct", cwd=ROOT))
    with tempfile.TemporaryDirectory(prefix="release-") as temporary:
        rounds = []
        for name in ("first", "second"):
            (folder := Path(temporary) / name).mkdir()
            rounds.append(built(folder, facts, epoch))
        files, again = rounds
        if differing := sorted(name for name in {*files, *again} if files.get(name) != again.get(name)):
            raise Failure(f"two builds differ in {', '.join(differing)}")
        out.mkdir(parents=True, exist_ok=True)
        for name, data in files.items():
            (out / name).write_bytes(data)
        files[SBOM] = sbom(Path(temporary), out)
    (out / SBOM).write_bytes(files[SBOM])
    (out / CHECKSUMS).write_text(checksums(files), encoding="utf-8")
    told = [f"{len(data):9}  {name}" for name, data in sorted(files.items())]
    told.append(f"two builds gave the same bytes; checksums are in {out / CHECKSUMS}; nothing was published")
    if left := undecided(facts):
        told.append(f"do not publish yet: project.toml leaves {', '.join(left)} open")
    return told


def main(arguments: list[str]) -> int:
    """Build into the folder that is given, or `dist`, and print what came of it."""
    try:
        told = release(Path(arguments[0] if arguments else "dist").resolve())
    except Failure as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    sys.stdout.write("".join(f"{line}\n" for line in told))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

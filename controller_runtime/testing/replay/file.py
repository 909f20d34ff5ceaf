# SPDX-License-Identifier: Apache-2.0
"""Replays of files, and the tests that are generated from them."""

from __future__ import annotations

import re
from pathlib import Path

import attrs

from apimachinery.errors import UsageError
from controller_runtime.incidents.incident import MOST_BYTES, Incident, decode
from controller_runtime.manager.manager import Setup
from controller_runtime.testing.replay.comparing import Replayed
from controller_runtime.testing.replay.run import replay
from controller_runtime.testing.replay.telling import told


@attrs.frozen
class ReplayedFile:
    """The replay of a file, for a test.

    Attributes:
        replayed: The result.
        text: The result beside the record, as the command `replay` prints it.
    """

    replayed: Replayed
    text: str

    @property
    def fails_as_recorded(self) -> bool:
        """True if it fails with the recorded error, or with any unexpected error where one was recorded."""
        return self.replayed.has_same_failure

    @property
    def writes(self) -> list[tuple[str, str]]:
        """The method and the path of each write, in order."""
        return [(each.request.method, each.request.path) for each in self.replayed.writes]


def read(path: Path) -> Incident:
    """Return the incident, a recorded reconcile, in a file.

    Raises:
        UsageError: The file cannot be read, or holds no incident that this library can read.
    """
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise UsageError(f"{path}: not an incident: it is no file")  # a pipe would be waited for
        with path.open("rb") as file:
            raw = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    return decode(raw, str(path))


def replay_file(path: Path | str, setup: Setup) -> ReplayedFile:
    """Run the reconcile that is recorded in a file again, with the present code of a program.

    Args:
        path: The file.
        setup: The setup function of the program, which adds controllers to a manager.

    Raises:
        UsageError: The file holds no incident, or the program has no such controller.
        ControllerRuntimeError: The reconcile does not end, or `setup` failed.
    """
    replayed = replay(read(Path(path)), setup)
    return ReplayedFile(replayed, told(replayed))


def write_test(path: Path, incident: Incident, module: str, attribute: str, folder: Path) -> Path:
    """Write a test for an incident into a folder, with a copy of the incident's file beside it; return the test's path.

    The test fails as long as the reconcile fails as recorded; for an incident without an error, once the writes or the
    end differ.

    Args:
        path: The incident's file.
        incident: The content of the file.
        module: The module of the program.
        attribute: The name of its setup function.
        folder: The folder for the test.

    Raises:
        UsageError: The test or the copy exists already.
    """
    name = re.sub(r"\W+", "_", path.stem.lower(), flags=re.ASCII).strip("_") or "incident"
    test, copy = folder / f"test_{name}.py", folder / path.name
    if test.exists() or (copy.exists() and copy.resolve() != path.resolve()):
        raise UsageError(f"{test if test.exists() else copy} is there already: remove it, or work in another folder")
    if copy.resolve() != path.resolve():
        copy.write_bytes(path.read_bytes())
    failure = incident.end.error is not None
    check = "not result.fails_as_recorded" if failure else "not result.replayed.differs"
    what = f"{incident.controller} failed" if failure else f"what {incident.controller} did"
    text = _TEST.format(module=module, attribute=attribute, name=name, file=path.name, check=check, what=_plain(what))
    test.write_text(text, encoding="utf-8")
    return test


def _plain(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9 ._-]", "-", text)


_TEST = '''"""An incident of production as a test: {what}."""

from pathlib import Path

from {module} import {attribute}

from controller_runtime.testing import replay_file

INCIDENT = Path(__file__).with_name({file!r})


def test_{name}():
    result = replay_file(INCIDENT, {attribute})

    assert {check}, result.text
    # Complete this: the requests that the repaired reconcile should send.
    # assert result.writes == [("PATCH", "/apis/...")]
'''

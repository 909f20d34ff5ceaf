# SPDX-License-Identifier: Apache-2.0
"""Replays thousands of records with one version of a program, and groups them by their differences."""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import attrs

from apimachinery.errors import ControllerRuntimeError, UsageError
from controller_runtime.incidents.incident import Incident
from controller_runtime.manager.manager import Setup
from controller_runtime.testing.replay.changes import changes_of
from controller_runtime.testing.replay.comparing import Replayed, Verdict
from controller_runtime.testing.replay.file import read
from controller_runtime.testing.replay.run import replay
from controller_runtime.testing.replay.telling import told, why_undecided
from controller_runtime.testing.simulation.process import pinned


class Fate(enum.Enum):
    """The result of one record; the value is the word in the report."""

    SAME = "same"
    DIFFERS = "differ"
    ALLOWED = "allowed"
    UNDECIDED = "undecided"
    UNREADABLE = "not read"


@attrs.frozen
class One:
    """The result of one record.

    Attributes:
        path: The file.
        controller: The name of the controller; empty if the file could not be read.
        fate: The result.
        changes: The differences of this version.
        why: The reason why the record is undecided or could not be read; otherwise empty.
        text: The replay as `replay FILE` shows it, for the first record with these changes; otherwise empty.
    """

    path: Path
    controller: str
    fate: Fate
    changes: tuple[str, ...] = ()
    why: str = ""
    text: str = ""


@attrs.define
class Allowed:
    """The intended changes, as lines `CONTROLLER: CHANGE`.

    Attributes:
        lines: The lines.
        used: The lines that have allowed the changes of a record.
    """

    lines: frozenset[str] = frozenset()
    used: set[str] = attrs.field(factory=set)

    @classmethod
    def read(cls, path: Path | None) -> Allowed:
        """Return the lines of a file, without empty lines and those that begin with `#`; no lines if `path` is None.

        Raises:
            UsageError: The file cannot be read.
        """
        try:
            text = "" if path is None else path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"--allow {path}: {error}") from error
        lines = (line.strip() for line in text.splitlines())
        return cls(frozenset(line for line in lines if line and not line.startswith("#")))

    def all_of(self, controller: str, changes: Iterable[str]) -> bool:
        """Return whether all changes of a record are allowed; if so, add their lines to `used`."""
        wanted = {f"{controller}: {each}" for each in changes}
        if not wanted <= self.lines:
            return False
        self.used |= wanted
        return True


def files_in(folder: Path) -> list[Path]:
    """Return the paths of the records in a folder and its subfolders, sorted.

    Raises:
        UsageError: The folder has no file `*.json`.
    """
    found = sorted(folder.rglob("*.json"))
    if not found:
        raise UsageError(f"{folder} has no file *.json: name the folder that `--incidents` names")
    return found


def replay_all(files: Iterable[Path], setup: Setup, allowed: Allowed, before: Setup | None = None) -> Iterator[One]:
    """Replay each record with one version of a program, and yield the results.

    Args:
        files: The files of the records.
        setup: The setup function of the version.
        allowed: The intended changes.
        before: The setup function of the version that made the records; None if it is not available. A record that
            differs is replayed with this version as well: if that does not repeat the record either, the result
            depends on something that is not recorded, and the record is undecided.
    """
    with pinned():  # once for all, since to be moved to another CPU and back is a tenth of a replay
        yield from _replayed(files, setup, allowed, before)


def _replayed(files: Iterable[Path], setup: Setup, allowed: Allowed, before: Setup | None) -> Iterator[One]:
    shown: set[tuple[str, ...]] = set()
    for path in files:
        try:
            incident = read(path)
        except UsageError as error:
            yield One(path, "", Fate.UNREADABLE, why=str(error))
            continue
        one = _one(path, incident, setup, before)
        if one.fate is Fate.DIFFERS:
            place = (one.controller, *one.changes)
            if allowed.all_of(one.controller, one.changes):
                one = attrs.evolve(one, fate=Fate.ALLOWED)
            one = attrs.evolve(one, text="" if place in shown else one.text)
            shown.add(place)
        yield one


def _one(path: Path, incident: Incident, setup: Setup, before: Setup | None) -> One:
    name = incident.controller
    try:
        replayed = replay(incident, setup)
        if replayed.verdict is Verdict.SAME:
            return One(path, name, Fate.SAME)
        if replayed.verdict is Verdict.UNDECIDED:
            return One(path, name, Fate.UNDECIDED, why=why_undecided(replayed))
        if before is not None and not _repeats(incident, before):
            return One(path, name, Fate.UNDECIDED, why=STATE)
    except ControllerRuntimeError as error:  # such as a controller that this version has not, or that does not end
        return One(path, name, Fate.UNDECIDED, why=str(error))
    return One(path, name, Fate.DIFFERS, changes_of(replayed), text=told(replayed))


STATE = "the present version does not repeat it either: it keeps state between reconciles, or did not record it"


def _repeats(incident: Incident, before: Setup) -> bool:
    found: Replayed = replay(incident, before)
    return found.verdict is Verdict.SAME


@attrs.frozen
class Summary:
    """The results of many records.

    Attributes:
        every: The result of each record.
        allowed: The intended changes.
        most_undecided: The largest share of records that may be undecided, from 0 to 1.
    """

    every: Sequence[One]
    allowed: Allowed
    most_undecided: float

    @property
    def counts(self) -> Counter[Fate]:
        """The number of records with each result."""
        return Counter(each.fate for each in self.every)

    @property
    def undecided(self) -> float:
        """The share of undecided records, from 0 to 1."""
        return self.counts[Fate.UNDECIDED] / max(1, len(self.every))

    @property
    def status(self) -> int:
        """The exit status: 1 if a file cannot be read, 3 if a record differs, 4 if all or too many are undecided,
        otherwise 0.
        """
        if self.counts[Fate.UNREADABLE]:
            return 1
        if self.counts[Fate.DIFFERS]:
            return int(Verdict.DIFFERS)
        is_unknown = self.undecided > self.most_undecided or self.counts[Fate.UNDECIDED] == len(self.every)
        return int(Verdict.UNDECIDED) if is_unknown else 0

    def groups(self) -> list[tuple[str, tuple[str, ...], list[One]]]:
        """Return the records that differ, grouped by controller and changes, the largest group first."""
        found: dict[tuple[str, tuple[str, ...]], list[One]] = {}
        for each in self.every:
            if each.fate is Fate.DIFFERS:
                found.setdefault((each.controller, each.changes), []).append(each)
        ordered = sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))
        return [(controller, changes, ones) for (controller, changes), ones in ordered]

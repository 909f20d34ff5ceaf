# SPDX-License-Identifier: Apache-2.0
"""Replays thousands of records by one version of a program, and sorts them by what it does otherwise."""

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
    """The result of one record; the value is the word that is shown."""

    SAME = "same"
    DIFFERS = "differ"
    ALLOWED = "allowed"
    UNDECIDED = "undecided"
    UNREADABLE = "not read"


@attrs.frozen
class One:
    """The result of one record.

    Attributes:
        path: Its file.
        controller: Its controller; empty if it could not be read.
        fate: The result.
        changes: The differences of the version.
        why: The reason why it is undecided or could not be read; empty otherwise.
        text: The replay as `replay FILE` shows it, of the first one with these changes; empty otherwise.
    """

    path: Path
    controller: str
    fate: Fate
    changes: tuple[str, ...] = ()
    why: str = ""
    text: str = ""


@attrs.define
class Allowed:
    """The changes that are meant, as lines `CONTROLLER: CHANGE`; those that allowed something are counted.

    Attributes:
        lines: The lines.
        used: Those that allowed something.
    """

    lines: frozenset[str] = frozenset()
    used: set[str] = attrs.field(factory=set)

    @classmethod
    def read(cls, path: Path | None) -> Allowed:
        """Return those of a file; empty lines and those that begin with `#` are left out.

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
        """Return whether all changes of a record are allowed, and note the lines that allow them."""
        wanted = {f"{controller}: {each}" for each in changes}
        if not wanted <= self.lines:
            return False
        self.used |= wanted
        return True


def files_in(folder: Path) -> list[Path]:
    """Return the incidents in a folder and those below it, in order.

    Raises:
        UsageError: The folder has no records.
    """
    found = sorted(folder.rglob("*.json"))
    if not found:
        raise UsageError(f"{folder} has no file *.json: name the folder that `--incidents` names")
    return found


def replay_all(files: Iterable[Path], setup: Setup, allowed: Allowed, before: Setup | None = None) -> Iterator[One]:
    """Replay each record by a version of a program.

    Args:
        files: The records.
        setup: The version.
        allowed: The changes that are meant.
        before: The version that recorded them, if it is there. A record that differs is replayed by it as well: if that
            one differs, too, the record depends on something that it does not have, and is undecided.
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
        every: One of each record.
        allowed: The changes that are meant.
        most_undecided: The largest share of records that may be undecided.
    """

    every: Sequence[One]
    allowed: Allowed
    most_undecided: float

    @property
    def counts(self) -> Counter[Fate]:
        """The number of records by result."""
        return Counter(each.fate for each in self.every)

    @property
    def undecided(self) -> float:
        """The share of those that are undecided, from 0 to 1."""
        return self.counts[Fate.UNDECIDED] / max(1, len(self.every))

    @property
    def status(self) -> int:
        """Exit status: 1 if a file is not read, 3 if a record differs, 4 if too many are undecided, or all, else 0."""
        if self.counts[Fate.UNREADABLE]:
            return 1
        if self.counts[Fate.DIFFERS]:
            return int(Verdict.DIFFERS)
        is_unknown = self.undecided > self.most_undecided or self.counts[Fate.UNDECIDED] == len(self.every)
        return int(Verdict.UNDECIDED) if is_unknown else 0

    def groups(self) -> list[tuple[str, tuple[str, ...], list[One]]]:
        """Return the records that differ by controller and changes, the largest group first."""
        found: dict[tuple[str, tuple[str, ...]], list[One]] = {}
        for each in self.every:
            if each.fate is Fate.DIFFERS:
                found.setdefault((each.controller, each.changes), []).append(each)
        ordered = sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))
        return [(controller, changes, ones) for (controller, changes), ones in ordered]

# SPDX-License-Identifier: Apache-2.0
"""`replay`: runs recorded reconciles again, by the present code or by another version of it."""

from __future__ import annotations

import contextlib
import io
import pdb
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import click

from apimachinery.errors import UsageError
from apimachinery.log import configure
from controller_runtime.core.extras import needed_by
from controller_runtime.manager.manager import Manager, Setup
from controller_runtime.program.cli_options import adding
from controller_runtime.program.origin import Origin, call_setup, forgotten

MOST_UNDECIDED = 5.0
"""Percent of the records of a folder that may be undecided, by default."""

_PATH = click.Path(path_type=Path)

replay_options = adding(
    click.argument("file", type=_PATH),
    click.option("--as-test", is_flag=True, help="Write a pytest file that passes once the recorded failure is gone."),
    click.option("--pdb", "debugs", is_flag=True, help="Enter the debugger where the replayed reconcile raised."),
    click.option(
        "--with",
        "newer",
        metavar="PLACE",
        help="Replay by another version of the program: its folder, or its file, such as ./new/cabins.py:setup.",
    ),
    click.option("--allow", type=_PATH, help="A file of changes that are meant, one a line, as the output shows them."),
    click.option("--junit", type=_PATH, help="Write the results of a folder to this file, as JUnit's XML."),
    click.option(
        "--undecided",
        "most_undecided",
        type=click.FloatRange(0, 100),
        default=MOST_UNDECIDED,
        show_default=True,
        help="Percent of the records of a folder that may be undecided.",
    ),
)
"""Adds what both forms of the command have: `file`, and the fields of `Options`."""


@attrs.frozen
class Options:
    """The options of a replay; the help of the command describes them."""

    as_test: bool = False
    debugs: bool = False
    newer: str | None = None
    allow: Path | None = None
    junit: Path | None = None
    most_undecided: float = MOST_UNDECIDED


@click.command("replay")
@replay_options
@click.option("--program", metavar="MODULE[:SETUP]", required=True, help="The program: a module, or a file cabins.py.")
def replay_command(file: Path, program: str, **options: Any) -> int:
    """Run the reconcile that FILE recorded, by the present code, in virtual time; or all that a folder has.

    Nothing is sent anywhere. The status is 0 if it does the same, 3 if it differs, 4 if that cannot
    be decided, because something was asked for that was not recorded; 1 after an error, 2 for
    wrong use.
    """
    origin = Origin.parse(program)
    return replay_program(file, origin.load(), origin, Options(**options))


def replay_command_of(setup: Setup, name: str) -> click.Command:
    """Return the command `replay` for a program with its own `setup` function."""

    @click.command(f"{name} replay", help=replay_command.help, context_settings={"help_option_names": ["-h", "--help"]})
    @replay_options
    def command(file: Path, **options: Any) -> int:
        return replay_program(file, setup, Origin.of(setup), Options(**options))

    return command


def replay_program(file: Path, setup: Setup, origin: Origin | None, options: Options) -> int:
    """Replay an incident file, or all files of a folder; print the result, and return the exit status.

    Raises:
        UsageError: The file is not an incident, the program has no such controller, or a test cannot be written.
        ControllerRuntimeError: The reconcile does not end, or the program failed.
    """
    configure(stream=io.StringIO())  # the lines are part of the result, and shown there
    if options.newer is None:
        return _replay(file, setup, None, origin, options)
    with _loaded(options.newer, origin) as newer:
        return _replay(file, newer, setup, None, options)


def _replay(file: Path, setup: Setup, before: Setup | None, origin: Origin | None, options: Options) -> int:
    if file.is_dir():
        return _replay_folder(file, setup, before, options)
    if options.allow is not None or options.junit is not None:
        raise UsageError("--allow and --junit are for a folder of incidents: name one, or leave them out")
    with needed_by("replay"):
        from controller_runtime.testing.replay.file import read, write_test
        from controller_runtime.testing.replay.run import replay
        from controller_runtime.testing.replay.telling import told
    incident = read(file)
    replayed = replay(incident, _filling(setup))
    click.echo(told(replayed))
    if options.as_test:
        if origin is None:
            raise UsageError("--as-test needs a setup function at the top level of a module, to import it in the test")
        click.echo(f"wrote {write_test(file, incident, origin.module, origin.attribute, Path.cwd())}")
    if options.debugs and replayed.error is not None:
        pdb.post_mortem(replayed.error.__traceback__)
    return int(replayed.verdict)


def _replay_folder(folder: Path, setup: Setup, before: Setup | None, options: Options) -> int:
    if options.as_test or options.debugs:
        raise UsageError("--as-test and --pdb are for one incident: name its file")
    with needed_by("replay"):
        from controller_runtime.testing.replay.many import Allowed, Summary, files_in, replay_all
        from controller_runtime.testing.replay.summary import junit, summed_up
    allowed = Allowed.read(options.allow)
    old = None if before is None else _filling(before)
    every = [*replay_all(files_in(folder), _filling(setup), allowed, old)]
    summary = Summary(every, allowed, options.most_undecided / 100)
    click.echo(summed_up(summary))
    if options.junit is not None:
        try:
            options.junit.write_bytes(junit(summary))
        except OSError as error:
            raise UsageError(f"--junit {options.junit}: {error.strerror}") from error
    return summary.status


def _filling(setup: Setup) -> Setup:
    def fill(manager: Manager) -> None:
        call_setup(setup, manager)

    return fill


@contextlib.contextmanager
def _loaded(place: str, origin: Origin | None) -> Iterator[Setup]:
    """Import another version of a program beside the one that is there, and have its modules found inside the block.

    Raises:
        UsageError: There is no program at that place.
    """
    folder = Path(place)
    if not folder.is_dir():
        found = Origin.parse(place)
    elif origin is None:
        raise UsageError(f"--with {place}: name the program's file in it, such as {folder / 'cabins.py'}")
    elif origin.path is not None:
        found = Origin.parse(f"{folder / origin.path.name}:{origin.attribute}")
    else:
        found = origin
    root = found.path.parent if found.path is not None else folder.resolve()
    with contextlib.nullcontext() if origin is None else forgotten(origin.folder):
        sys.path.insert(0, str(root))
        try:
            yield found.load()
        finally:
            sys.path.remove(str(root))

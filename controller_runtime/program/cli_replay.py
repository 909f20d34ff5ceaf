# SPDX-License-Identifier: Apache-2.0
"""`replay FILE`: runs a recorded reconcile again, by the present code, and prints what it does beside the record."""

from __future__ import annotations

import io
import pdb
from pathlib import Path

import click

from apimachinery.errors import UsageError
from apimachinery.log import configure
from controller_runtime.core.extras import needed_by
from controller_runtime.manager.manager import Manager, Setup
from controller_runtime.program.cli_options import adding
from controller_runtime.program.origin import Origin, call_setup

replay_options = adding(
    click.argument("file", type=click.Path(path_type=Path)),
    click.option("--as-test", is_flag=True, help="Write a pytest file that passes once the recorded failure is gone."),
    click.option("--pdb", "debugs", is_flag=True, help="Enter the debugger where the replayed reconcile raised."),
)
"""Adds what both forms of the command have: `file`, `as_test`, `debugs`."""


@click.command("replay")
@replay_options
@click.option("--program", metavar="MODULE[:SETUP]", required=True, help="The program: a module, or a file cabins.py.")
def replay_command(file: Path, as_test: bool, debugs: bool, program: str) -> int:
    """Run the reconcile that FILE recorded, by the present code, in virtual time.

    Nothing is sent anywhere. The status is 0 if it does the same, 3 if it differs, 4 if that cannot
    be decided, because something was asked for that was not recorded; 1 after an error, 2 for
    wrong use.
    """
    origin = Origin.parse(program)
    return replay_program(file, origin.load(), origin, as_test=as_test, debugs=debugs)


def replay_command_of(setup: Setup, name: str) -> click.Command:
    """Return the command `replay` of a program itself."""

    @click.command(f"{name} replay", help=replay_command.help, context_settings={"help_option_names": ["-h", "--help"]})
    @replay_options
    def command(file: Path, as_test: bool, debugs: bool) -> int:
        return replay_program(file, setup, Origin.of(setup), as_test=as_test, debugs=debugs)

    return command


def replay_program(file: Path, setup: Setup, origin: Origin | None, *, as_test: bool, debugs: bool) -> int:
    """Replay a file, print the result, and return the exit status.

    Raises:
        UsageError: The file holds no incident, the program has no such controller, or a test cannot be written.
        ControllerRuntimeError: The reconcile does not end, or the program failed.
    """
    with needed_by("replay"):
        from controller_runtime.testing.replay.file import read, write_test
        from controller_runtime.testing.replay.run import replay
        from controller_runtime.testing.replay.telling import told
    configure(stream=io.StringIO())  # the lines are part of the result, and shown there
    incident = read(file)

    def fill(manager: Manager) -> None:
        call_setup(setup, manager)

    replayed = replay(incident, fill)
    click.echo(told(replayed))
    if as_test:
        if origin is None:
            raise UsageError("--as-test needs a setup function at the top level of a module, to import it in the test")
        click.echo(f"wrote {write_test(file, incident, origin.module, origin.attribute, Path.cwd())}")
    if debugs and replayed.error is not None:
        pdb.post_mortem(replayed.error.__traceback__)
    return int(replayed.verdict)

# SPDX-License-Identifier: Apache-2.0
"""A program as a command: its options, its errors as one line each, its exit status."""

from __future__ import annotations

import importlib.util
import logging
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

import click

from apimachinery.errors import ControllerRuntimeError, UsageError
from apimachinery.log import get_logger
from apimachinery.system import thread_names
from apimachinery.texts import bounded, indented
from controller_runtime.manager.failure import is_still_running
from controller_runtime.manager.manager import Setup
from controller_runtime.program import stderr
from controller_runtime.program.cli_options import (
    ProgramCommand,
    configure_logging,
    program_options,
    reload_option,
)
from controller_runtime.program.ending import end_at_once, leave
from controller_runtime.program.origin import Origin, ProgramFailed, refuse_inside_import
from controller_runtime.program.view import choose_view

log = get_logger(__name__)

FAILED, BAD_USAGE = 1, 2
"""Exit statuses: of a program that failed, and of one that was called or configured wrongly."""

SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
"""Settings of every command."""


def run(setup: Setup, *, argv: Sequence[str] | None = None, name: str | None = None) -> NoReturn:
    """Run a program as a command, and end the process with its status.

    The command has the options that its `--help` shows; each may also come from an environment variable, such as
    `CONTROLLER_LEADER_ELECT` for `--leader-elect`. Without an option for a cluster the program runs on the cluster of
    its pod, or outside of a pod on an embedded API server, which ends with the program.

    SIGINT, SIGTERM and SIGHUP end the program in order: its reconciles, then its lease, then its caches. A second
    SIGINT or SIGTERM ends it at once; SIGUSR1 writes its state to standard error. With the arguments `replay FILE` it
    replays a recorded reconcile instead, with the same setup function.

    Args:
        setup: Adds the controllers and other parts of the program to a manager. It is called before the manager runs,
            and again for each new manager: with `--reload` there is one after each change of the program's files.
        argv: The command line arguments; by default those of this process.
        name: The name in messages, and of the lease with `--leader-elect`; by default the name of the script.

    Raises:
        SystemExit: With the exit status: 0 after a regular stop, 1 after a failure, 2 for wrong options or
            configuration, 3 after a plan with changes.
        UsageError: A module calls this while it is imported for its setup function.
        Exception: A thread of the program raised an unexpected error.

    Threads: the main thread only.
    """
    refuse_inside_import()
    program_name = name or script_name(sys.argv[0])
    given = sys.argv[1:] if argv is None else argv
    if given and given[0] == "replay":
        from controller_runtime.program.cli_replay import replay_command_of

        main(replay_command_of(setup, program_name), given[1:], f"{program_name} replay")
    main(_command_of(setup, program_name), argv, program_name)


def script_name(path: str) -> str:
    """Return the program name for the path of a script: its name, or for a `__main__.py` the name of its folder."""
    script = Path(path)
    return (script.resolve().parent.name if script.stem == "__main__" else script.stem) or "program"


def _command_of(setup: Setup, name: str) -> click.Command:
    @click.command(name, cls=ProgramCommand, context_settings=SETTINGS)
    @program_options
    @reload_option
    def command(**options: Any) -> int:
        """Run until stopped.

        With neither --embedded nor --kubeconfig it runs on the cluster of the pod that this
        process is in; outside of a pod, on an embedded API server.
        """
        return run_program(setup, Origin.of(setup), name, options)

    return command


def run_program(setup: Setup, origin: Origin | None, name: str, options: dict[str, Any]) -> int:
    """Run a program with the option values of `program_options` and `reload_option`, each already checked by click.

    Args:
        setup: The program's setup function.
        origin: The source of `setup`, to import it again with `--reload`; None if that is impossible.
        name: The program's name.
        options: The values by the names of the options.

    Returns:
        The exit status.

    Raises:
        ControllerRuntimeError: See `run_or_plan.run_or_plan`.
    """
    # Imported here, because `--help` and a wrong option need nothing of it.
    from controller_runtime.program.plan import ProgramOptions
    from controller_runtime.program.program import Program
    from controller_runtime.program.run_or_plan import run_or_plan

    live = take_view_options(options)
    return run_or_plan(Program(name=name, setup=setup, origin=origin), ProgramOptions(live=live, **options))


def take_view_options(options: dict[str, Any]) -> bool:
    """Remove the options of log and view from `options`, configure the log, and return whether the view is live."""
    log_format, verbose, level = options.pop("log_format"), options.pop("verbose"), options.pop("log_level")
    configure_logging(log_format, verbose, level)
    asked = options.pop("live")
    live, why_not = choose_view(
        False if options.get("plain") else asked,
        text_log=log_format == "text" and not verbose and level == "info",
        terminal=sys.stderr.isatty() and os.environ.get("TERM") != "dumb",
        rich=importlib.util.find_spec("rich") is not None,
    )
    if why_not:
        log.warning(why_not)
    return live


def main(command: click.Command, argv: Sequence[str] | None, name: str) -> NoReturn:
    """Run a command, and exit with its status: 0 after a regular stop, 1 after a failure, 2 for wrong usage.

    A command may return another status. Expected errors are printed in one line on standard error, errors of the
    program's own code with a traceback. If threads do not end, the process still ends, with status 1, and prints their
    stacks.
    """
    if sys.stderr is sys.__stderr__:  # not while a test or an embedding program captures it
        stderr.install()
    before = thread_names()
    try:
        status = _status_of(lambda: command.main(args=argv, prog_name=name, standalone_mode=False), name)
    except Exception as error:
        if not is_still_running(error):
            raise
        log.exception("failed")
        end_at_once(FAILED)
    leave(status, before, FAILED)


def _status_of(call: Callable[[], object], name: str) -> int:
    try:
        status = call()
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx else name
        message = error.format_message().rstrip(".") + _source_of(error)
        click.echo(f"{name}: {message[:1].lower()}{message[1:]}; `{path} --help` shows what there is", err=True)
        return BAD_USAGE
    except click.Abort:
        return FAILED
    except ControllerRuntimeError as error:
        if logging.getLogger().isEnabledFor(logging.DEBUG):
            log.exception("failed")
        click.echo(indented(f"{name}: {bounded(str(error))}"), err=True)
        if isinstance(error, ProgramFailed):
            click.echo(indented(bounded(error.block)), err=True)
        if is_still_running(error):
            for note in error.__notes__:
                click.echo(indented(bounded(note)), err=True)
            end_at_once(FAILED)
        return BAD_USAGE if isinstance(error, UsageError) else FAILED
    return status if isinstance(status, int) else 0


def _source_of(error: click.UsageError) -> str:
    """Return where a value that was refused comes from, if that is the environment."""
    if not isinstance(error, click.BadParameter) or error.ctx is None or error.param is None:
        return ""
    source = error.ctx.get_parameter_source(error.param.name or "")
    return f" (from {error.param.envvar})" if source is click.core.ParameterSource.ENVIRONMENT else ""

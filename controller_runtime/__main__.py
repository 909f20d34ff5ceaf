# SPDX-License-Identifier: Apache-2.0
"""`python -m controller_runtime`: commands for programs that are built on this library."""

from __future__ import annotations

from typing import NoReturn

import click

from controller_runtime.program.command import SETTINGS
from controller_runtime.program.command import main as run_main
from controller_runtime.program.lazy_group import LazyGroup

COMMANDS = {
    "init": "controller_runtime.program.cli_init:init_command",
    "manifests": "controller_runtime.program.cli_manifests:manifests_command",
    "migrate-storage": "controller_runtime.program.cli_migrate_storage:migrate_storage_command",
    "replay": "controller_runtime.program.cli_replay:replay_command",
    "run": "controller_runtime.program.cli_run:run_command",
}
"""Where each command is; a new one is a line here."""


@click.group(cls=LazyGroup, lazy=COMMANDS, context_settings=SETTINGS, no_args_is_help=False)
@click.version_option(package_name="controller-runtime", prog_name="controller-runtime")
def cli() -> None:
    """Commands for Kubernetes controllers in Python."""


def main() -> NoReturn:
    """Run the command line, and exit the process with its status."""
    run_main(cli, None, "controller_runtime")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""`python -m controller_runtime run`: runs the setup function of a module or of a file."""

from __future__ import annotations

from typing import Any

import click

from controller_runtime.program.cli_options import ProgramCommand, program_options, reload_option
from controller_runtime.program.command import run_program
from controller_runtime.program.origin import Origin


@click.command("run", cls=ProgramCommand)
@click.argument("program", metavar="MODULE[:SETUP]")
@program_options
@reload_option
def run_command(program: str, **options: Any) -> int:
    """Run the function SETUP (by default: setup) of a module, or of a file such as path/to/cabins.py.

    The function takes a manager, and adds to it all that is to run. With neither --embedded nor
    --kubeconfig it runs on the cluster of the pod that this process is in; outside of a pod, on
    an embedded API server.
    """
    origin = Origin.parse(program)
    return run_program(origin.load(), origin, origin.module.rpartition(".")[2], options)

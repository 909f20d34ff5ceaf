# SPDX-License-Identifier: Apache-2.0
"""Runs a program, or prints what it would write if it ran."""

from __future__ import annotations

from controller_runtime.program.plan import ProgramOptions
from controller_runtime.program.program import Program, execute


def run_or_plan(program: Program, options: ProgramOptions) -> int:
    """Run a program until it is stopped, or print what it would write; return the exit status of the command.

    Threads: the main thread only.

    Raises:
        UsageError: The options contradict each other, or the kubeconfig cannot be used.
        ControllerRuntimeError: The cluster cannot be reached, or a part of the program failed.
    """
    if options.plan:
        # Imported here, because a program that runs needs nothing of it.
        from controller_runtime.program.planning import print_plan

        return print_plan(program, options)
    execute(program, options)
    return 0

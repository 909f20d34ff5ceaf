# SPDX-License-Identifier: Apache-2.0
"""`--plan`: a program prints what it would write, and writes nothing."""

from __future__ import annotations

import contextlib
from functools import partial

import click

from apimachinery.stop import Stop, spawn
from apimachinery.system import SystemHost
from controller_runtime.client.transport import Transport
from controller_runtime.manager.manager import Manager
from controller_runtime.planning.plan_pass import PlanPass
from controller_runtime.planning.report import PlanOutput, report_of
from controller_runtime.program.cluster import is_in_pod
from controller_runtime.program.origin import call_setup
from controller_runtime.program.plan import ProgramOptions, ProgramPlan, lease_name_of, plan_program
from controller_runtime.program.program import Program
from controller_runtime.program.session import reach
from controller_runtime.program.signals import handled_signals


def print_plan(program: Program, options: ProgramOptions) -> int:
    """Reconcile every object once with dry runs, print the differences, and return the exit status: see `report`.

    Options for serving, leader election and rings are ignored: a plan takes no lease, so it can run next to the
    program.

    Threads: the main thread only.

    Raises:
        UsageError: Options contradict each other, or the kubeconfig cannot be used.
        ControllerRuntimeError: The cluster cannot be reached, `setup` failed or a cache did not fill, or the pass was
            stopped before its end.
    """
    where = plan_program(
        options, in_pod=is_in_pod(), lease_name=lease_name_of(program.name), lease_namespace=program.lease_namespace
    )
    host = SystemHost()
    stop = Stop(host)
    with contextlib.ExitStack() as stack:
        stack.enter_context(handled_signals(host, stop))
        if options.duration is not None:
            spawn(host, stop, "duration", partial(_end_after, stop, options.duration))
            stack.callback(stop.set)
        one = PlanPass(host, _transport(host, where, options), stop, options.allow_outside)
        stack.enter_context(one.isolated())
        manager = Manager(host, one.transport, namespace=options.namespace)
        stack.callback(stop.on_set(manager.transport.close))
        reach(manager, stop)
        with one.filling(manager):
            call_setup(program.setup, manager)
        for controller in manager.controllers:
            controller.workers = options.workers or controller.workers
        report = report_of(one.run(manager))
    click.echo(report.show(PlanOutput(options.output or PlanOutput.DIFF.value)))
    return report.status


def _end_after(stop: Stop, seconds: float) -> None:
    stop.wait(seconds)
    stop.set()


def _transport(host: SystemHost, where: ProgramPlan, options: ProgramOptions) -> Transport:
    # Imported here, because the official client is large, and the command's help does not need it.
    from controller_runtime.client.http.configuration import find
    from controller_runtime.client.http.transport import HTTPTransport

    return HTTPTransport(host, find(options.kubeconfig, where.cluster.context))

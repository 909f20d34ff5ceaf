# SPDX-License-Identifier: Apache-2.0
"""`python -m controller_runtime migrate-storage`: stores all objects of a custom resource in its storage version."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from apimachinery.errors import ControllerRuntimeError, UsageError
from controller_runtime.program.origin import Origin, call_setup

if TYPE_CHECKING:  # the command's help needs nothing of it
    from apimachinery.stop import Stop
    from controller_runtime.client.storage_migration import Progress, StorageMigration
    from controller_runtime.crd.storage import StoragePlan

_SHOWN = 5  # failures that are shown one by one


@click.command("migrate-storage")
@click.argument("what", metavar="PLURAL.GROUP|MODULE:SETUP")
@click.option("--kubeconfig", type=click.Path(path_type=Path), metavar="FILE", help="The cluster; as kubectl finds it.")
@click.option("--context", metavar="NAME", help="Context of the kubeconfig; its current one by default.")
@click.option(
    "--rate",
    type=click.FloatRange(min=0, min_open=True),
    default=100.0,
    show_default=True,
    help="Most objects a second.",
)
@click.option("--dry-run", is_flag=True, help="Tell what would be done.")
@click.option("--accept-loss", is_flag=True, help="Go on though fields of an older version would be lost.")
def migrate_storage_command(
    what: str, kubeconfig: Path | None, context: str | None, rate: float, dry_run: bool, accept_loss: bool
) -> int:
    """Rewrite the stored objects of a custom resource, and prune status.storedVersions.

    Do this after the storage version of a definition was changed, before the older version leaves the
    definition. It names a definition, such as cabins.example.com, or a program, of which all
    definitions that it installs are meant. It can be stopped, or killed, and goes on when it is run again.
    """
    # Imported here, because `--help` and a wrong option need nothing of it.
    from apimachinery.stop import Stop
    from controller_runtime.client.client import Client
    from controller_runtime.client.storage_migration import StorageMigration
    from controller_runtime.core.signals import stop_on_signals

    names = definitions_of(what)
    client = Client.from_kubeconfig(kubeconfig, context)
    stop = Stop(client.host, "storage migration")
    with contextlib.closing(client.transport), stop_on_signals(client.host, stop):
        for name in names:
            migrate(StorageMigration(client, name, rate, accept_loss, _show), stop, dry_run=dry_run)
    return 0


def definitions_of(what: str) -> Sequence[str]:
    """Return the names of definitions: `what` itself, or those that the program `what` installs.

    Raises:
        UsageError: `what` is neither a definition nor a program, or the program installs none.
        ControllerRuntimeError: The program cannot be imported or set up.
    """
    if ":" not in what and not what.endswith(".py") and os.sep not in what:
        if "." not in what:
            raise UsageError(
                f"{what!r} names no definition: give PLURAL.GROUP, such as {what}.example.com, or MODULE:SETUP"
            )
        return [what]
    from apimachinery.system import SystemHost
    from controller_runtime.manifests.facts import facts_of, unconnected_manager

    origin = Origin.parse(what)
    manager = unconnected_manager(SystemHost())
    call_setup(origin.load(), manager)
    found = [str(body["metadata"]["name"]) for body in facts_of(manager).definitions]
    if not found:
        raise UsageError(f"{origin} installs no definition: call manager.install(…) in it, or name a definition")
    return found


def migrate(migration: StorageMigration, stop: Stop, *, dry_run: bool) -> None:
    """Migrate the objects of one definition and print the progress; with `dry_run` only print the plan.

    Raises:
        ControllerRuntimeError: The migration was stopped, objects could not be rewritten, or it cannot be done.
    """
    name = migration.name
    plan, progress = migration.plan(stop) if dry_run else migration.run(stop)
    if not plan.pruned:
        click.echo(f"{name}: all objects are stored as {plan.storage}: nothing to do")
    elif dry_run:
        click.echo(
            f"{name}: would rewrite {progress.total - progress.done} of {progress.total} objects as {plan.storage}, "
            f"and remove {', '.join(plan.pruned)} from status.storedVersions"
        )
    elif progress.failed:
        raise ControllerRuntimeError(_failures(name, progress))
    elif progress.done < progress.total:
        raise ControllerRuntimeError(
            f"{name}: stopped after {progress.done} of {progress.total} objects: run it again to go on from there"
        )
    else:
        click.echo(f"{name}: removed {', '.join(plan.pruned)} from status.storedVersions")


def _failures(name: str, progress: Progress) -> str:
    shown = [f"{key}: {reason}" for key, reason in [*progress.failed.items()][:_SHOWN]]
    more = [f"and {len(progress.failed) - _SHOWN} more"] if len(progress.failed) > _SHOWN else []
    what = f"{name}: {len(progress.failed)} of {progress.total} objects could not be rewritten, so nothing was pruned"
    return f"{what}; mend them and run it again: {'; '.join(shown + more)}"


def _show(plan: StoragePlan, progress: Progress) -> None:
    click.echo(f"{plan.name}: {progress.done} of {progress.total} objects are stored as {plan.storage}")

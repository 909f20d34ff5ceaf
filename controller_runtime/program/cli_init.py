# SPDX-License-Identifier: Apache-2.0
"""`python -m controller_runtime init`: writes the files of a new operator."""

from __future__ import annotations

from pathlib import Path

import click

from apimachinery.errors import UsageError
from controller_runtime.core.library import Library, installed_library
from controller_runtime.program.scaffold.deploy import deploy_files
from controller_runtime.program.scaffold.files import (
    commands_for,
    files_for,
    imported_names,
    wheels_command,
    write_files,
)
from controller_runtime.program.scaffold.names import names_of


@click.command("init")
@click.argument("name", metavar="NAME")
@click.option("--kind", metavar="KIND", help="The kind that it serves.  [default: NAME in CamelCase]")
@click.option("--group", metavar="DOMAIN", default="example.com", show_default=True, help="The API group of the kind.")
@click.option("--dir", "folder", metavar="DIR", type=click.Path(path_type=Path), help="The folder.  [default: NAME]")
@click.option(
    "--requirement",
    metavar="TEXT",
    help="Where pip finds controller-runtime: a folder, a wheel, a URL, or a version such as "
    "controller-runtime==0.1.0.  [default: where the installed one came from]",
)
def init_command(name: str, kind: str | None, group: str, folder: Path | None, requirement: str | None) -> None:
    """Write a new operator: its program, test, manifests, Dockerfile, CI file and README.

    NAME is a DNS label such as guest-book; its module is guest_book. If one of the files
    exists, nothing is written.
    """
    names, library = names_of(name, kind, group, imported_names()), _library(requirement)
    files = files_for(names, library)
    files |= deploy_files(names, files)
    target = folder or Path(name)
    write_files(target, files)
    click.echo(f"{target}: {', '.join(files)}\n")
    for command in commands_for(names, target):
        click.echo(f"    {command}")
    if not library.is_by_name:
        here = Library(str(Path(library.source).resolve())) if library.is_local else library
        click.echo("\nFor an environment of its own follow README.md; its first command is, on this machine,\n")
        click.echo(f"    {wheels_command(here)}")


def _library(requirement: str | None) -> Library:
    """Return where pip finds this library: as given, or where the installed one came from.

    Raises:
        UsageError: The given text is not one of these.
    """
    if requirement is None:
        return installed_library()
    library = Library(requirement.strip())
    if not requirement.isprintable() or not (library.is_by_name or library.is_place):
        raise UsageError(
            f"--requirement {requirement!r} names no controller-runtime: give the path of a folder or a wheel, such as "
            "./controller-runtime, a URL, or a version, such as controller-runtime>=0.1"
        )
    return library

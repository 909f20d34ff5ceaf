# SPDX-License-Identifier: Apache-2.0
"""`python -m controller_runtime init`: writes the four files of a new operator."""

from __future__ import annotations

from pathlib import Path

import click

from apimachinery.errors import UsageError
from controller_runtime.core.library import Library, installed_library
from controller_runtime.program.scaffold.files import commands_for, files_for, imported_names, write_files
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
    """Write a new operator: its program, its test, pyproject.toml and a Dockerfile.

    NAME is a DNS label such as guest-book; its module is guest_book. If one of the four files
    exists, nothing is written.
    """
    names = names_of(name, kind, group, imported_names())
    files = files_for(names, _library(requirement))
    target = folder or Path(name)
    write_files(target, files)
    click.echo(f"{target}: {', '.join(files)}\n")
    for command in commands_for(names, target):
        click.echo(f"    {command}")


def _library(requirement: str | None) -> Library:
    """Return where pip finds this library: as given, or where the installed one came from.

    Raises:
        UsageError: The given text is empty or more than one line.
    """
    if requirement is None:
        return installed_library()
    if not requirement.strip() or not requirement.isprintable():
        raise UsageError(
            f"--requirement {requirement!r}: give what pip installs, such as a path or a version, in a line"
        )
    return Library(requirement.strip())

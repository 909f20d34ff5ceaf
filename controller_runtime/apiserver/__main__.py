# SPDX-License-Identifier: Apache-2.0
"""`python -m controller_runtime.apiserver`: the bare embedded API server, on loopback, until it is stopped."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from socket import gethostname

import click

from controller_runtime.api.http import Handler
from controller_runtime.apiserver.audit import AuditedHandler
from controller_runtime.apiserver.server import APIServer
from controller_runtime.apiserver.shell.identity import kept_identity, new_identity
from controller_runtime.apiserver.shell.process import ProcessOptions, run
from controller_runtime.apiserver.upkeep.identity_lease import IdentityLease
from controller_runtime.core.errors import UsageError
from controller_runtime.core.host import Host
from controller_runtime.core.log import configure
from controller_runtime.core.system import SystemHost


@click.command(help="Serve an embedded Kubernetes API on loopback until interrupted. Prints one line when it is ready.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port; by default the system picks one.")
@click.option(
    "--kubeconfig-out",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Where to write the kubeconfig; by default into a private folder, removed at the end.",
)
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path, file_okay=False),
    help="Keep the objects in this folder, and who the server is; by default they are gone at the end.",
)
@click.option(
    "--accept-loss",
    is_flag=True,
    help="If the data directory is damaged, set its files aside in it and serve the objects that can be read; "
    "by default the server refuses to start and changes nothing.",
)
@click.option(
    "--audit-log-path",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Append a line of JSON to this file for each request; by default there is no record of them.",
)
@click.option("--exit-with-parent", is_flag=True, help="Stop when standard input ends.")
def command(
    port: int,
    kubeconfig_out: Path | None,
    data_dir: Path | None,
    accept_loss: bool,
    audit_log_path: Path | None,
    exit_with_parent: bool,
) -> None:
    """Serve until stopped; see the command's help."""
    serve(port, kubeconfig_out, data_dir, audit_log_path, exit_with_parent, accept_loss=accept_loss)


Beside = Callable[[Host, APIServer, str], AbstractContextManager[None]]
"""Does something in the server's process while it serves; is told the token that the server takes."""


def serve(
    port: int,
    kubeconfig_out: Path | None,
    data_dir: Path | None,
    audit_log_path: Path | None,
    exit_with_parent: bool,
    beside: Beside | None = None,
    accept_loss: bool = False,
) -> None:
    """Serve until stopped, as the command is asked to; with what is to be done `beside`."""
    configure(level=logging.WARNING)
    options = ProcessOptions(port=port, kubeconfig_out=kubeconfig_out, exit_with_parent=exit_with_parent)
    host = SystemHost()
    identity = new_identity(host.now()) if data_dir is None else kept_identity(data_dir, host.now())
    server = APIServer(host, token=identity.token, data_dir=data_dir, accept_loss=accept_loss)
    lease = IdentityLease(host, server, gethostname(), token=identity.token)
    with ExitStack() as stack:
        stack.callback(server.close)
        handler: Handler = server
        if audit_log_path is not None:
            handler = stack.enter_context(AuditedHandler(host, server, audit_log_path))
        if beside is not None:
            stack.enter_context(beside(host, server, identity.token))
        run(host, handler, identity, options, click.echo, lease)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit code: 0 stopped as asked, 2 called wrongly."""
    try:
        code = command.main(arguments, prog_name="python -m controller_runtime.apiserver", standalone_mode=False)
    except click.ClickException as error:
        click.echo(f"error: {error.format_message()}", err=True)
        return error.exit_code
    except UsageError as error:
        click.echo(f"error: {error}", err=True)
        return 2
    return int(code or 0)


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
"""`python -m controller_runtime.apiserver`: serves the embedded API server on loopback, without any controllers."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager, ExitStack
from datetime import datetime
from pathlib import Path
from socket import gethostname
from typing import TYPE_CHECKING, Any

import attrs
import click

from controller_runtime.api.http import Handler
from controller_runtime.apiserver.admission.chain import NAMES, OFF_BY_DEFAULT
from controller_runtime.apiserver.audit import AuditedHandler
from controller_runtime.apiserver.gates import parse_gates
from controller_runtime.apiserver.server import APIServer
from controller_runtime.apiserver.shell.quick_import import without_authorities
from controller_runtime.apiserver.upkeep.identity_lease import IdentityLease
from controller_runtime.core.errors import UsageError
from controller_runtime.core.extras import needed_by
from controller_runtime.core.host import Host
from controller_runtime.core.log import configure
from controller_runtime.core.system import SystemHost

if TYPE_CHECKING:  # with the extra `server`
    from controller_runtime.apiserver.shell.identity import Identity


def _names(context: click.Context, option: click.Parameter, text: str) -> tuple[str, ...]:
    """Return the names that an option lists, separated by commas."""
    return tuple(name for name in map(str.strip, text.split(",")) if name)


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
@click.option(
    "--emulated-version",
    metavar="1.N",
    help="Answer as this release of Kubernetes: what came later is refused or unknown; by default the newest.",
)
@click.option(
    "--enable-admission-plugins",
    default="",
    callback=_names,
    metavar="NAMES",
    help=f"Switch on these steps of admission, separated by commas; off by default: {', '.join(OFF_BY_DEFAULT)}.",
)
@click.option(
    "--disable-admission-plugins",
    default="",
    callback=_names,
    metavar="NAMES",
    help=f"Switch off these steps of admission, separated by commas; there are {', '.join(NAMES)}.",
)
@click.option(
    "--feature-gates",
    default="",
    metavar="NAME=BOOL",
    help="Switch features on or off, separated by commas; off by default: ShardedListAndWatch (`shardSelector`).",
)
@click.option(
    "--webhook-service",
    multiple=True,
    metavar="NAMESPACE/NAME=HOST:PORT",
    help="Where a service is served that configurations of webhooks name; may be given several times. "
    "Services are not routed here, so others cannot be called.",
)
@click.option(
    "--cluster-objects",
    is_flag=True,
    help="Have what every cluster has: the service `kubernetes`, an account and the authority in each namespace, "
    "priority classes, flow schemas. Pods then run under an account.",
)
@click.option("--exit-with-parent", is_flag=True, help="Stop when standard input ends.")
def command(**options: Any) -> None:
    """Serve until stopped; the options are described in the command's help."""
    serve(**options)


Beside = Callable[[Host, APIServer, str], AbstractContextManager[None]]
"""Returns a context manager that is entered before the server serves and left after it has stopped.

It is called with the host, the server, and the bearer token that the server requires.
"""


@attrs.frozen(kw_only=True)
class ServerSettings:
    """The settings of a server: those options of the command that are the server's, as click has checked them.

    Attributes:
        data_dir: The directory for the objects and the server's identity; None keeps both in memory.
    """

    data_dir: Path | None = None
    accept_loss: bool = False
    emulated_version: str | None = None
    enable_admission_plugins: Collection[str] = ()
    disable_admission_plugins: Collection[str] = ()
    feature_gates: str = ""
    webhook_service: Sequence[str] = ()
    cluster_objects: bool = False

    def identity(self, now: datetime) -> Identity:
        """Return the identity that is kept in `data_dir`, or a new one."""
        from controller_runtime.apiserver.shell import identity as identities

        return identities.new_identity(now) if self.data_dir is None else identities.kept_identity(self.data_dir, now)

    def server(self, host: Host, identity: Identity) -> APIServer:
        """Return the server.

        Raises:
            UsageError: A setting is wrong or cannot be met.
        """
        from controller_runtime.apiserver.shell import webhook_calls

        return APIServer(
            host,
            token=identity.token,
            signing_key=identity.signing_key,
            authority=identity.certificates.authority.decode(),
            data_dir=self.data_dir,
            accept_loss=self.accept_loss,
            emulated=self.emulated_version,
            enable_admission_plugins=self.enable_admission_plugins,
            disable_admission_plugins=self.disable_admission_plugins,
            feature_gates=parse_gates(self.feature_gates),
            caller=webhook_calls.TLSCaller.of(host, self.webhook_service),
            cluster_objects=self.cluster_objects,
        )


def serve(
    port: int,
    kubeconfig_out: Path | None,
    audit_log_path: Path | None,
    exit_with_parent: bool,
    beside: Beside | None = None,
    **settings: Any,
) -> None:
    """Serve until stopped by a signal, or by the end of standard input if `exit_with_parent` is set.

    Args:
        port: The port; 0 lets the system choose one.
        kubeconfig_out: The file for the kubeconfig; None writes it into a private folder that is removed at the end.
        audit_log_path: The file for the audit log; None writes none.
        exit_with_parent: Stop when standard input ends.
        beside: Further work in the same process, such as garbage collection.
        settings: The fields of `ServerSettings`.

    Raises:
        UsageError: A setting is wrong or cannot be met, or the extra `server` is not installed.
    """
    configure(level=logging.WARNING)
    host, chosen = SystemHost(), ServerSettings(**settings)
    with needed_by("the embedded server"), without_authorities():
        from controller_runtime.apiserver.shell import process
    options = process.ProcessOptions(port=port, kubeconfig_out=kubeconfig_out, exit_with_parent=exit_with_parent)
    identity = chosen.identity(host.now())
    server = chosen.server(host, identity)
    with ExitStack() as stack:
        stack.callback(server.close)
        audited = None if audit_log_path is None else AuditedHandler(host, server, audit_log_path)
        handler: Handler = server if audited is None else stack.enter_context(audited)
        if beside is not None:
            stack.enter_context(beside(host, server, identity.token))
        lease = IdentityLease(host, server, gethostname(), token=identity.token)
        process.run(host, handler, identity, options, click.echo, lease, server.publish)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status: 0 if it was stopped as intended, 2 for a usage error."""
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

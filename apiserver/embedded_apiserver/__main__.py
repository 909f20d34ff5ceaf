# SPDX-License-Identifier: Apache-2.0
"""`python -m embedded_apiserver`: serves the embedded API server, without any controllers."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager, ExitStack, closing
from pathlib import Path
from socket import gethostname
from typing import TYPE_CHECKING, Any

import attrs
import click

from apimachinery.errors import UsageError
from apimachinery.host import Host
from apimachinery.http import Handler
from apimachinery.log import configure
from apimachinery.system import SystemHost
from embedded_apiserver.admission.names import NAMES, OFF_BY_DEFAULT
from embedded_apiserver.cel.meter import MOST_STEPS
from embedded_apiserver.gates import parse_gates
from embedded_apiserver.shell.address import LOOPBACK, Address
from embedded_apiserver.shell.identity import Identity
from embedded_apiserver.shell.perturbing import perturbing_of
from embedded_apiserver.shell.quick_import import identity_beside_imports
from embedded_apiserver.upkeep.identity_lease import IdentityLease

if TYPE_CHECKING:
    from embedded_apiserver.server import APIServer
    from embedded_apiserver.storage.witness import Witness


def _names(context: click.Context, option: click.Parameter, text: str) -> tuple[str, ...]:
    """Return the names that an option lists, separated by commas."""
    return tuple(name for name in map(str.strip, text.split(",")) if name)


@click.command(help="Serve an embedded Kubernetes API until interrupted. Prints one line when it is ready.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port; by default the system picks one.")
@click.option(
    "--bind-address",
    default=LOOPBACK,
    show_default=True,
    metavar="IP",
    help="Listen at this address of the machine, 0.0.0.0 for all. Beyond loopback other machines reach the server, "
    "and each that has the token is its administrator.",
)
@click.option(
    "--tls-san",
    multiple=True,
    metavar="NAME",
    help="A DNS name or an IP address, beside loopback, by which clients reach the server; may be given several times. "
    "The certificate is valid for all, and the kubeconfig has the first.",
)
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
    "--release",
    metavar="1.N",
    help="Answer as the server of this release: what came later is refused or unknown; by default the newest.",
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
@click.option(
    "--most-expression-steps",
    type=click.IntRange(1),
    default=MOST_STEPS,
    show_default=True,
    help="Steps that the expressions of policies and custom resources may take for one request, 413 beyond; "
    "a step is at most 0.2 µs, or 8 bytes. A real server has no such limit.",
)
@click.option(
    "--perturb",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="PLAN",
    help="Perturb a client once, as this file says: end it at a write, or let it see a resource late or never.",
)
@click.option(
    "--perturb-restart",
    default="",
    metavar="COMMAND",
    help="Ends the perturbed client's process and starts another one; by default its connection is cut and no more.",
)
@click.option("--exit-with-parent", is_flag=True, help="Stop when standard input ends.")
def command(**options: Any) -> None:
    """Run the server until it is stopped; `options` are those of the command line."""
    serve(**options)


Beside = Callable[[Host, "APIServer", str], AbstractContextManager[None]]
"""Returns a context manager that is entered before the server serves and left after it has stopped.

It is called with the host, the server, and the bearer token that the server requires.
"""


@attrs.frozen(kw_only=True)
class ServerSettings:
    """The settings of a server: the command's options that configure the server itself.

    Attributes:
        data_dir: The directory for the objects and the server's identity; None keeps both in memory.
        accept_loss: True to start with the readable objects of a damaged directory.
        release: The release of Kubernetes to serve, such as `1.33`; None for the newest known one.
        enable_admission_plugins: The names of admission steps to switch on.
        disable_admission_plugins: The names of admission steps to switch off.
        feature_gates: Features to switch on or off, such as `ShardedListAndWatch=true`.
        webhook_service: The addresses of services in webhook configurations, each as `NAMESPACE/NAME=HOST:PORT`.
        cluster_objects: True to create the objects that every cluster has; see `APIServer`.
        most_expression_steps: The maximum number of steps for the CEL expressions of one request.
    """

    data_dir: Path | None = None
    accept_loss: bool = False
    release: str | None = None
    enable_admission_plugins: Collection[str] = ()
    disable_admission_plugins: Collection[str] = ()
    feature_gates: str = ""
    webhook_service: Sequence[str] = ()
    cluster_objects: bool = False
    most_expression_steps: int = MOST_STEPS

    def witness(self) -> Witness | None:
        """Return the witness of the data directory, a file that counts acknowledged writes; None without a directory.

        The witness locks the directory against other servers.

        Raises:
            UsageError: The directory cannot be used, or is in use by another server.
        """
        if self.data_dir is None:
            return None
        from embedded_apiserver.storage.witness import locked

        return locked(self.data_dir)

    def server(self, host: Host, identity: Identity, witness: Witness | None) -> APIServer:
        """Return the server for these settings.

        Args:
            host: The host of the server.
            identity: The keys and tokens of the server.
            witness: The result of `self.witness()`; the server closes it at its end.

        Raises:
            UsageError: A setting is wrong or cannot be met.
        """
        from embedded_apiserver.server import APIServer
        from embedded_apiserver.shell import webhook_calls

        journal = None
        if self.data_dir is not None:
            from embedded_apiserver.storage.journal import SQLiteJournal  # a server in memory has no SQLite

            journal = SQLiteJournal(self.data_dir, accept_loss=self.accept_loss, witness=witness)
        return APIServer(
            host,
            token=identity.token,
            signing_key=identity.signing_key,
            authority=identity.certificates.authority.decode(),
            journal=journal,
            release=self.release,
            enable_admission_plugins=self.enable_admission_plugins,
            disable_admission_plugins=self.disable_admission_plugins,
            feature_gates=parse_gates(self.feature_gates),
            caller=webhook_calls.TLSCaller.of(host, self.webhook_service),
            cluster_objects=self.cluster_objects,
            most_expression_steps=self.most_expression_steps,
        )


def serve(
    port: int,
    kubeconfig_out: Path | None,
    audit_log_path: Path | None,
    exit_with_parent: bool,
    perturb: Path | None = None,
    perturb_restart: str = "",
    beside: Beside | None = None,
    bind_address: str = LOOPBACK,
    tls_san: Sequence[str] = (),
    **settings: Any,
) -> None:
    """Run the server until a signal stops it, or standard input ends if `exit_with_parent` is set.

    Args:
        port: The port; 0 lets the system choose one.
        kubeconfig_out: The file for the kubeconfig; None writes it into a private folder that is removed at the end.
        audit_log_path: The file for the audit log; None writes none.
        exit_with_parent: Stop when standard input ends.
        perturb, perturb_restart: The arguments of `perturbing_of`.
        beside: Further work in the same process, such as garbage collection; None for none.
        bind_address: The IP address at which to listen.
        tls_san: Further host names and addresses for the server's certificate; the kubeconfig uses the first one.
        settings: The fields of `ServerSettings`.

    Raises:
        UsageError: A setting is wrong or cannot be met.
    """
    configure(level=logging.WARNING)
    host, chosen, perturbed = SystemHost(), ServerSettings(**settings), perturbing_of(perturb, perturb_restart)
    address = Address.of(bind_address, tls_san)
    with ExitStack() as stack:
        # Before the identity: of servers that start at once on a new directory, only the one that goes on may make it.
        if (witness := chosen.witness()) is not None:
            stack.callback(witness.close)
        identity = identity_beside_imports(chosen.data_dir, host, address)
        from embedded_apiserver import audit
        from embedded_apiserver.shell import process

        options = process.ProcessOptions(
            port=port, address=address, kubeconfig_out=kubeconfig_out, exit_with_parent=exit_with_parent
        )
        server = stack.enter_context(closing(chosen.server(host, identity, witness)))
        audited = None if audit_log_path is None else audit.AuditedHandler(host, server, audit_log_path)
        handler: Handler = server if audited is None else stack.enter_context(audited)
        handler = handler if perturbed is None else perturbed.handler(host, server, handler)
        if beside is not None:
            stack.enter_context(beside(host, server, identity.token))
        lease = IdentityLease(host, server, gethostname(), token=identity.token)
        process.run(host, handler, identity, options, click.echo, lease, server.publish)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status: 0 after an intended stop, 2 for a usage error."""
    try:
        code = command.main(arguments, prog_name="embedded-apiserver", standalone_mode=False)
    except click.ClickException as error:
        click.echo(f"error: {error.format_message()}", err=True)
        return error.exit_code
    except UsageError as error:
        click.echo(f"error: {error}", err=True)
        return 2
    return int(code or 0)


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
"""The options of commands, from the command line or from the environment."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from apimachinery.log import configure
from controller_runtime.manager.endpoints import NOWHERE
from controller_runtime.ring.by import RingBy

F = Callable[..., Any]
SECONDS = click.FloatRange(min=0, min_open=True)
"""A number of seconds; zero is refused, because a duration or a period of zero is a mistake."""
LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
"""The levels of the log that a user can choose."""
ENVIRONMENT = "CONTROLLER"
"""Begins the names of environment variables: `CONTROLLER_LEADER_ELECT` is `--leader-elect`."""


class ProgramCommand(click.Command):
    """A command whose options may also come from environment variables; the command line takes precedence."""

    def __init__(self, *args: Any, **options: Any) -> None:
        options.setdefault(
            "epilog",
            f"Each option may be given by the environment, too: {ENVIRONMENT}_LEADER_ELECT=true is --leader-elect.",
        )
        super().__init__(*args, **options)
        for parameter in self.params:
            if isinstance(parameter, click.Option) and parameter.name is not None:
                parameter.envvar = f"{ENVIRONMENT}_{parameter.name.upper()}"


def adding(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Return a decorator that adds these options to a command, in this order."""

    def add(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return add


server_options = adding(
    click.option("--embedded", is_flag=True, help="Start an embedded API server and run on it."),
    click.option(
        "--kubeconfig",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Run on the cluster that this file names.",
    ),
    click.option("--context", metavar="NAME", help="Context of the kubeconfig; its current one by default."),
)
"""Adds the options that name the API server: `embedded`, `kubeconfig`, `context`."""

duration_option = click.option("--duration", type=SECONDS, metavar="SECONDS", help="Stop after this many seconds.")

log_options = adding(
    click.option(
        "--log-format",
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        help="Format of each log line.",
    ),
    click.option("-v", "--verbose", is_flag=True, help="Log each reconcile, and show tracebacks."),
)
"""Adds the options of the log: `log_format`, `verbose`; see `configure_logging`."""

election_options = adding(
    click.option("--leader-elect", is_flag=True, help="Run the controllers only while this replica leads."),
    click.option(
        "--coordinated", is_flag=True, help="Register as a candidate, and lead when lease-candidate-election elects it."
    ),
    click.option(
        "--binary-version", metavar="VERSION", help="Version that the candidate declares; this package's by default."
    ),
    click.option(
        "--emulation-version",
        metavar="VERSION",
        help="Version that the candidate says it behaves like; its binary version by default.",
    ),
    click.option(
        "--leader-election-id",
        metavar="ID",
        help="Name of the lease or ring that the replicas share; the program's by default.",
    ),
    click.option(
        "--leader-election-namespace",
        metavar="NS",
        help="Where that lease or ring is; by default the namespace given, that of the pod, or default.",
    ),
)
"""Adds the options of leader election."""

endpoint_options = adding(
    click.option(
        "--metrics-bind-address",
        metavar="ADDRESS",
        default=NOWHERE,
        help="Serve /metrics and /debug/controllers at HOST:PORT, or at :PORT of every interface; 0 (default): "
        "nowhere.",
    ),
    click.option(
        "--health-probe-bind-address",
        metavar="ADDRESS",
        default=NOWHERE,
        help="Serve /healthz, /livez and /readyz; the address as above.",
    ),
)
"""Adds the addresses at which a program is observed."""

cache_options = adding(
    click.option(
        "--audit-caches/--no-audit-caches",
        default=True,
        help="Compare caches of up to 50000 objects with the cluster, a page of metadata a minute; on by default.",
    ),
)
"""Adds what is done for the caches of a program on a cluster."""

deletion_options = adding(
    click.option(
        "--deletion-budget",
        metavar="KIND=BOUND",
        multiple=True,
        help="Most objects of a kind that are deleted in ten minutes: pods=10, pods=20%, or pods=10,20%/3600 for the "
        "smaller of both in an hour. Comes before that of the program; may be repeated.",
    ),
    click.option(
        "--open-deletions",
        metavar="KIND=N",
        default="",
        help="Open such a budget once for N deletions more, or any: pods=25. The same text opens nothing twice.",
    ),
)
"""Adds the budgets of deletions."""

tracing_option = click.option(
    "--tracing", is_flag=True, help="Make spans of changes, reconciles and requests, for OpenTelemetry's provider."
)

incidents_option = click.option(
    "--incidents",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Keep what the last reconciles did, and leave a file in FOLDER for each error with a stack; `replay` runs it "
    "again. SIGUSR1 writes all that is kept.",
)

webhook_options = adding(
    click.option(
        "--webhook-bind-address",
        metavar="ADDRESS",
        default=NOWHERE,
        help="Serve the program's webhooks over TLS; the address as above.",
    ),
    click.option(
        "--webhook-service",
        metavar="NS/NAME",
        default="",
        help="Service that leads there, and name of the configurations; certificates are kept in the Secret "
        "NAME-certificates.",
    ),
    click.option(
        "--webhook-cert-dir",
        type=click.Path(path_type=Path),
        metavar="DIR",
        help="Folder with tls.crt and tls.key, read again when they change, in place of certificates of its own.",
    ),
    click.option(
        "--secure-metrics",
        is_flag=True,
        help="Serve /metrics there, too, to those whom the API server authorizes.",
    ),
    click.option(
        "--webhook-client-ca-file",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Authorities of which one must have signed the certificate of each client; any client by default.",
    ),
)
"""Adds what is served over TLS: webhooks, and metrics beside them."""

ring_options = adding(
    click.option("--ring", is_flag=True, help="Share the work of controllers that allow it with the other replicas."),
    click.option(
        "--ring-by",
        type=click.Choice([by.value for by in RingBy]),
        default=RingBy.NAME.value,
        show_default=True,
        help="The unit that the replicas share out: objects by name or uid, namespaces, or owners with their objects.",
    ),
)
"""Adds the options of a ring."""

plan_options = adding(
    click.option(
        "--plan",
        is_flag=True,
        help="Reconcile each object once with dry runs, print what would change, and end: with status 0 if nothing "
        "would, 3 if something would, 1 after an error.",
    ),
    click.option(
        "--output",
        type=click.Choice(["diff", "json"]),
        default=None,
        help="Form of the plan; diff by default.",
    ),
    click.option(
        "--allow-outside",
        metavar="HOST",
        multiple=True,
        help="Let a plan call this host, this path of a socket or this program, too; all others are refused.",
    ),
)
"""Adds the options of a plan."""

program_options = adding(
    server_options,
    click.option(
        "-n", "--namespace", metavar="NS", default="", help="Watch this namespace only; cluster-scoped kinds as ever."
    ),
    election_options,
    ring_options,
    click.option("--workers", type=click.IntRange(min=1), metavar="N", help="Workers of each controller."),
    plan_options,
    click.option(
        "--install-crds",
        is_flag=True,
        help="Apply the definitions of the program's classes before it starts; always done with --embedded. "
        "Configurations of admission webhooks are in the manifests.",
    ),
    click.option(
        "--allow-breaking",
        is_flag=True,
        help="With --install-crds: also definitions whose changes break what is stored.",
    ),
    duration_option,
    click.option(
        "--grace",
        type=click.FloatRange(min=0),
        metavar="SECONDS",
        help="Time for running reconciles to end once the program is asked to stop.",
    ),
    endpoint_options,
    webhook_options,
    cache_options,
    deletion_options,
    tracing_option,
    incidents_option,
    click.option(
        "--live/--no-live", default=None, help="Show tables on the terminal, or log lines; tables by default."
    ),
    click.option("--plain", is_flag=True, help="Tell what has changed in plain lines, for screen readers."),
    click.option(
        "--plot",
        type=click.Path(path_type=Path, dir_okay=False, writable=True),
        metavar="FILE",
        help="Write a timeline of what the view shows to FILE, as SVG, when the program stops.",
    ),
    log_options,
    click.option(
        "--log-level", type=click.Choice([*LEVELS]), default="info", show_default=True, help="Lowest level shown."
    ),
)
"""Adds the options that every program has, except `--reload`: `ProgramOptions`, and those of `configure_logging`."""

reload_option = click.option(
    "--reload", is_flag=True, help="Import the program again when one of its files is saved, and restart it."
)


def configure_logging(log_format: str, verbose: bool, log_level: str = "info") -> None:
    """Configure the log of this process by the options for its format and level."""
    configure(style=log_format, level=logging.DEBUG if verbose else LEVELS[log_level])

# SPDX-License-Identifier: Apache-2.0
"""`python -m controller_runtime manifests`: what a program needs on a cluster, made from its code."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import click

from apimachinery.errors import UsageError
from apimachinery.names import label_errors, service_name_errors
from controller_runtime.program.cli_options import ring_options
from controller_runtime.program.origin import Origin, call_setup
from controller_runtime.program.plan import lease_name_of

if TYPE_CHECKING:  # the command's help needs nothing of it
    from controller_runtime.manifests.bundles import Bundle

DIFFERENT = 1
"""The exit status of `--check` when something differs."""

_PATH = click.Path(path_type=Path)


@attrs.frozen(kw_only=True)
class ManifestOptions:
    """The options of the command; see its help."""

    check: bool
    allow_breaking: bool
    kubeconfig: Path | None
    context: str | None
    files: tuple[Path, ...]
    kustomize: Path | None
    helm: Path | None
    monitoring: Path | None
    name: str | None
    namespace: str | None
    image: str | None
    replicas: int
    ring: bool
    ring_by: str
    watch_namespace: str
    webhook_from: tuple[str, ...]
    rights: tuple[Path, ...]
    no_rights: bool
    service_monitor: bool


@click.command("manifests")
@click.argument("program", metavar="MODULE[:SETUP]")
@click.argument("files", nargs=-1, type=_PATH, metavar="[FILE]...")
@click.option("--check", is_flag=True, help="Compare the code with FILEs or folders; status 1 if they differ.")
@click.option("--allow-breaking", is_flag=True, help="With --check: do not fail on breaking changes.")
@click.option(
    "--kubeconfig",
    type=_PATH,
    metavar="FILE",
    help="With --check: name the changes that break what this cluster has stored; status 1 if there are any.",
)
@click.option("--context", metavar="NAME", help="The context of the kubeconfig; the current one by default.")
@click.option("--kustomize", type=_PATH, metavar="DIR", help="Write the files of a kustomization.")
@click.option("--helm", type=_PATH, metavar="DIR", help="Write a Helm chart.")
@click.option(
    "--monitoring",
    type=_PATH,
    metavar="DIR",
    help="Write a dashboard, alerts, a Prometheus and a Grafana; with --service-monitor, for those of the cluster.",
)
@click.option("--name", metavar="NAME", help="Name of the deployment and all that is its; the module's by default.")
@click.option("--namespace", metavar="NS", help="Where the program runs; by default its name and -system.")
@click.option("--image", metavar="IMAGE", help="Image whose entry point is the program.")
@click.option(
    "--replicas",
    type=click.IntRange(min=1),
    default=2,
    show_default=True,
    help="Replicas; they elect a leader if there are several.",
)
@ring_options
@click.option("--watch-namespace", metavar="NS", default="", help="The only namespace that the program watches.")
@click.option(
    "--webhook-from",
    multiple=True,
    metavar="CIDR",
    help="Addresses from which the API server calls webhooks; others cannot. All by default. May be repeated.",
)
@click.option(
    "--rights",
    type=_PATH,
    multiple=True,
    metavar="FILE",
    help="Roles that the program needs, as `pytest --rbac-record FILE` writes them. May be repeated.",
)
@click.option("--no-rights", is_flag=True, help="Leave out all roles except that of the election.")
@click.option("--service-monitor", is_flag=True, help="Add a ServiceMonitor, for the Prometheus operator.")
def manifests_command(program: str, **options: Any) -> int:
    """Print what a program needs on a cluster, as YAML: definitions, rights, deployment, metrics.

    The program is the function SETUP (by default: setup) of a module or of a file. It is called with
    a manager that has no server. An object that you change belongs in a kustomization or in a chart's
    values: what this command made it makes again.
    """
    return run_manifests(Origin.parse(program), ManifestOptions(**options))


def run_manifests(origin: Origin, options: ManifestOptions) -> int:
    """Print, write or compare the manifests of a program, and return the exit status.

    Raises:
        UsageError: The options contradict each other, a name is invalid, a file that this command did not make is in
            the way, or a file cannot be read.
        ControllerRuntimeError: The program cannot be imported or set up.
    """
    # Imported here, because `--help` and a wrong option need nothing of it.
    from controller_runtime.manifests.bundles import kustomization, yaml_of
    from controller_runtime.manifests.chart import chart
    from controller_runtime.manifests.files import write_files

    _refuse_contradictions(options)
    bundle = _bundle(origin, options)
    if options.check:
        return _check(bundle, options)
    if options.image is None and (options.monitoring is None or options.kustomize or options.helm):
        click.echo(f"the image is {bundle.settings.image}: name yours with --image", err=True)
    if options.monitoring is not None:
        _write_monitoring(bundle, options.monitoring)
    if options.kustomize is None and options.helm is None and options.monitoring is None:
        click.echo(yaml_of(bundle.objects()), nl=False)
    for folder, make in ((options.kustomize, kustomization), (options.helm, chart)):
        if folder is not None:
            for removed in write_files(folder, make(bundle)):
                click.echo(f"removed {removed}, which is made no more", err=True)
    return 0


def _write_monitoring(bundle: Bundle, folder: Path) -> None:
    from controller_runtime.manifests.files import write_files
    from controller_runtime.manifests.monitoring.stack import monitoring_files

    for removed in write_files(folder, monitoring_files(bundle.settings, with_operator=bundle.has_monitor)):
        click.echo(f"removed {removed}, which is made no more", err=True)


def _refuse_contradictions(options: ManifestOptions) -> None:
    if options.check and not (options.files or options.kubeconfig):
        raise UsageError("--check needs the files or folders to compare: name them after the program")
    if (options.allow_breaking or options.kubeconfig) and not options.check:
        raise UsageError("--allow-breaking and --kubeconfig are about --check: give it, too")
    if options.files and not options.check:
        raise UsageError(f"{options.files[0]}: files are only compared, with --check")
    if options.check and (options.kustomize or options.helm or options.monitoring):
        raise UsageError("--check writes nothing: leave out --kustomize, --helm and --monitoring")
    if options.rights and options.no_rights:
        raise UsageError("--rights and --no-rights exclude each other: give one of them")
    is_monitoring_alone = options.monitoring is not None and options.kustomize is None and options.helm is None
    if not (options.rights or options.no_rights or options.check or is_monitoring_alone):
        raise UsageError(
            "the rights of the program are unknown: record them with `pytest --rbac-record rights.yaml` and give "
            "--rights rights.yaml, or leave its roles out with --no-rights"
        )


def _bundle(origin: Origin, options: ManifestOptions) -> Bundle:
    from apimachinery.system import SystemHost
    from controller_runtime.election.config import LeaderElectionConfig
    from controller_runtime.manifests.bundles import Bundle
    from controller_runtime.manifests.facts import facts_of, require_shared, unconnected_manager
    from controller_runtime.manifests.network import peers_of
    from controller_runtime.manifests.rights import read_rights, require_watches
    from controller_runtime.manifests.settings import plain_settings
    from controller_runtime.ring.by import RingBy

    name = _name(options.name or lease_name_of(origin.module.rpartition(".")[2]).replace(".", "-"))
    namespace = _label("--namespace", options.namespace or f"{name}-system")
    setup = origin.load()
    lease = LeaderElectionConfig(name=name, namespace=namespace) if options.replicas > 1 else None
    manager = unconnected_manager(SystemHost(), namespace=options.watch_namespace, lease=lease)
    call_setup(setup, manager)
    facts = facts_of(manager, namespace=options.watch_namespace)
    rights = read_rights(options.rights) if options.rights else None
    if rights is not None:
        require_watches(rights, facts.watched, namespace)
    settings = plain_settings(
        name,
        namespace=namespace,
        image=_image(options.image or f"{name}:latest"),
        replicas=options.replicas,
        watch_namespace=_label("--watch-namespace", options.watch_namespace) if options.watch_namespace else "",
    )
    callers = peers_of(options.webhook_from)
    if callers and not facts.has_webhooks:
        raise UsageError("--webhook-from: the program has no webhooks: leave it out")
    settings = attrs.evolve(settings, has_webhooks=facts.has_webhooks, webhook_from=callers)
    if options.ring:
        require_shared(facts)
        settings = attrs.evolve(settings, ring_by=RingBy(options.ring_by), elects=bool(facts.unshared))
    return Bundle(facts, settings, rights, has_monitor=options.service_monitor)


def _check(bundle: Bundle, options: ManifestOptions) -> int:
    from controller_runtime.manifests.chart import chart
    from controller_runtime.manifests.checking import check_breaking, check_objects, check_texts
    from controller_runtime.manifests.text import ABSENT

    charts = [path for path in options.files if (path / "Chart.yaml").is_file()]
    others = [path for path in options.files if path not in charts]
    files = dict(chart(bundle)) if charts else {}
    if bundle.rights is None:
        files.pop("templates/roles.yaml", None)
    lines = [line for folder in charts for line in check_texts(folder, files)]
    # Without --image it is not known, and a kustomization has a name in its place.
    is_named = options.image is not None and not any((path / "kustomization.yaml").is_file() for path in others)
    settings = bundle.settings if is_named else attrs.evolve(bundle.settings, image=ABSENT)
    lines += check_objects(attrs.evolve(bundle, settings=settings), others) if others else []
    broken = _broken_on_server(bundle, options.kubeconfig, options.context) if options.kubeconfig is not None else []
    for line in (*(check_breaking(bundle, others) if others else ()), *lines, *broken):
        click.echo(line)
    return DIFFERENT if lines or (broken and not options.allow_breaking) else 0


def _broken_on_server(bundle: Bundle, kubeconfig: Path, context: str | None) -> list[str]:
    """Return a line for each change that breaks what a cluster has stored."""
    from controller_runtime.client.client import Client
    from controller_runtime.manager.breaking_definitions import breaking_on_server

    client = Client.from_kubeconfig(kubeconfig, context)
    try:
        return [
            f"{kubeconfig}: {body['metadata']['name']}: breaking: {change}"
            for body in bundle.facts.definitions
            for change in breaking_on_server(client, body)
        ]
    finally:
        client.transport.close()


def _label(option: str, value: str) -> str:
    if problems := label_errors(value):
        raise UsageError(f"{option} {value!r} is not a valid name: {problems[0]}")
    return value


def _name(value: str) -> str:
    """Return a name that a service and a container may have."""
    from controller_runtime.manifests.objects import METRICS_SUFFIX

    if problems := service_name_errors(f"{value}{METRICS_SUFFIX}"):
        raise UsageError(
            f"{value!r} cannot name a service: give another --name; with {METRICS_SUFFIX} it {problems[0]}"
        )
    return value


def _image(value: str) -> str:
    if not re.fullmatch(r"[\w./:@-]+", value, re.ASCII):
        raise UsageError(f"--image {value!r} names no image: give one such as registry.example.com/cabins:1.0")
    return value

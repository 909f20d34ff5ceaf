# SPDX-License-Identifier: Apache-2.0
"""The options of a program, and the decisions that follow from them before anything is started."""

from __future__ import annotations

import re
from pathlib import Path

import attrs

from apimachinery.errors import UsageError
from apimachinery.objects import ObjectKey
from controller_runtime.core.pod_namespace import pod_namespace
from controller_runtime.election.config import Candidacy, LeaderElectionConfig
from controller_runtime.manager.endpoints import NOWHERE
from controller_runtime.program.cluster import Cluster, choose_cluster
from controller_runtime.ring.by import RingBy


@attrs.frozen(kw_only=True)
class ProgramOptions:
    """The options of a program. Each is valid by itself; `plan_program` checks that they are consistent.

    Attributes:
        live: Whether to show the live view instead of log lines.
        grace: Seconds that running reconciles have to finish after a request to stop; None for the program's own value.

    The others are described in the help of the command; see `cli_options`.
    """

    embedded: bool = False
    kubeconfig: Path | None = None
    context: str | None = None
    namespace: str = ""
    leader_elect: bool = False
    coordinated: bool = False
    binary_version: str | None = None
    emulation_version: str | None = None
    leader_election_id: str | None = None
    leader_election_namespace: str | None = None
    ring: bool = False
    ring_by: str = RingBy.NAME.value
    workers: int | None = None
    grace: float | None = None
    duration: float | None = None
    metrics_bind_address: str = NOWHERE
    health_probe_bind_address: str = NOWHERE
    webhook_bind_address: str = NOWHERE
    webhook_service: str = ""
    webhook_cert_dir: Path | None = None
    webhook_client_ca_file: Path | None = None
    secure_metrics: bool = False
    plan: bool = False
    output: str | None = None
    allow_outside: tuple[str, ...] = ()
    install_crds: bool = False
    allow_breaking: bool = False
    reload: bool = False
    live: bool = False
    tracing: bool = False
    incidents: Path | None = None
    audit_caches: bool = True
    deletion_budget: tuple[str, ...] = ()
    open_deletions: str = ""
    plain: bool = False
    plot: Path | None = None

    @property
    def is_watched(self) -> bool:
        """True if a view shows the program's objects (`live`, `plain` or `plot`), so that they must be counted."""
        return self.live or self.plain or self.plot is not None


@attrs.frozen
class RingPlan:
    """The ring of a program.

    Attributes:
        name: The name of the ring.
        namespace: The namespace of its objects.
        by: The property of requests by which replicas divide them.
    """

    name: str
    namespace: str
    by: RingBy


@attrs.frozen
class ProgramPlan:
    """The decisions about a program before it starts.

    Attributes:
        cluster: The cluster to run on.
        leader_election: The leader election of the replicas; None for no election.
        ring: The ring by which replicas divide their work; None for no ring.
        record: The ConfigMap for deletion budgets, unless the program names one.
    """

    cluster: Cluster
    leader_election: LeaderElectionConfig | None
    ring: RingPlan | None
    record: ObjectKey | None = attrs.field(default=None, kw_only=True)


def plan_program(
    options: ProgramOptions, *, in_pod: bool, lease_name: str, lease_namespace: str | None = None
) -> ProgramPlan:
    """Return the cluster, the election and the ring with which a program runs, as its options say.

    Args:
        options: The options of the command line.
        in_pod: Whether this process runs in a pod, whose cluster is then the default.
        lease_name: The default name of the lease.
        lease_namespace: The default namespace of the lease; None for that of `--namespace`, or else the pod's, or else
            `default`.

    Raises:
        UsageError: The options contradict each other, a version is invalid, or the folder of a file does not exist.
    """
    cluster = choose_cluster(
        embedded=options.embedded, kubeconfig=options.kubeconfig, context=options.context, in_pod=in_pod
    )
    election = _leader_election(options, lease_name, lease_namespace)
    _check_plan(options, cluster)
    if options.allow_breaking and not options.install_crds:
        raise UsageError("--allow-breaking is about --install-crds: give both, or neither")
    if options.plot is not None and not options.plot.absolute().parent.is_dir():
        raise UsageError(f"--plot {options.plot}: there is no folder {options.plot.parent}")
    if options.incidents is not None and not options.incidents.absolute().parent.is_dir():
        raise UsageError(f"--incidents {options.incidents}: there is no folder {options.incidents.parent}")
    if options.plan:  # no lease is taken, so that a plan can be made beside the program that runs
        return ProgramPlan(cluster, None, None)
    name, namespace = _place(options, lease_name, lease_namespace)
    ring = RingPlan(name, namespace, RingBy(options.ring_by)) if options.ring else None
    record = ObjectKey(f"{name}-deletions", pod_namespace() if in_pod else namespace)
    return ProgramPlan(cluster, election, ring, record=record)


def _check_plan(options: ProgramOptions, cluster: Cluster) -> None:
    """Refuse what makes no sense with `--plan`, or without it.

    Raises:
        UsageError: There is such an option.
    """
    if not options.plan:
        if options.output is not None or options.allow_outside:
            raise UsageError("--output and --allow-outside are about --plan: add it, or leave them out")
        return
    if cluster.embedded:
        why = "a new server has nothing to plan for" if not cluster.by_default else "no option names a cluster"
        raise UsageError(f"--plan needs a cluster that is in use, and {why}: add --kubeconfig FILE")
    if options.reload:
        raise UsageError("--plan and --reload exclude each other: a plan is one pass over all objects")


def _place(options: ProgramOptions, lease_name: str, lease_namespace: str | None) -> tuple[str, str]:
    """Return the name and the namespace of what replicas coordinate by: a lease, a ring, or both."""
    namespace = options.leader_election_namespace or lease_namespace or options.namespace or pod_namespace()
    return options.leader_election_id or lease_name, namespace


def lease_name_of(program: str) -> str:
    """Return the name of a program in the form of a lease's name: lower case, with dashes for invalid characters."""
    return re.sub(r"[^a-z0-9.]+", "-", program.lower()).strip("-.") or "program"


def _leader_election(
    options: ProgramOptions, lease_name: str, lease_namespace: str | None
) -> LeaderElectionConfig | None:
    """Return how replicas of this program elect their leader; None for no election.

    Raises:
        UsageError: An option of an election is given without the option that it needs, or a version is invalid.
    """
    if options.coordinated and not options.leader_elect:
        raise UsageError("--coordinated needs --leader-elect: add it")
    if (options.binary_version or options.emulation_version) and not options.coordinated:
        raise UsageError("--binary-version and --emulation-version need --coordinated: only a candidate declares them")
    if options.leader_elect:
        name, namespace = _place(options, lease_name, lease_namespace)
        return LeaderElectionConfig(
            name=name,
            namespace=namespace,
            coordinated=_candidacy(options) if options.coordinated else None,
        )
    if (options.leader_election_id or options.leader_election_namespace) and not options.ring:
        raise UsageError(
            "--leader-election-id and --leader-election-namespace need --leader-elect or --ring: add one of them"
        )
    return None


def _candidacy(options: ProgramOptions) -> Candidacy:
    versions = {"binary_version": options.binary_version, "emulation_version": options.emulation_version}
    try:
        return Candidacy(**{name: version for name, version in versions.items() if version is not None})
    except ValueError as error:
        raise UsageError(f"this replica cannot be a candidate: {error}") from error

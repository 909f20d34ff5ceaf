# SPDX-License-Identifier: Apache-2.0
"""`controllers agent`: registers this machine as a node and reports for it. Options are named as a kubelet's."""

from __future__ import annotations

from typing import Any

import click

from controller_runtime.program.cli_options import (
    SECONDS,
    configure_logging,
    duration_option,
    log_options,
    server_options,
)
from controllers.agent.run import AgentOptions, run_agent


@click.command("agent")
@click.option("--node-name", metavar="NAME", help="The node's name; this machine's by default.")
@server_options
@click.option(
    "--register-node",
    type=bool,
    default=True,
    show_default=True,
    metavar="BOOL",
    help="Create the Node if there is none.",
)
@click.option("--take-over", is_flag=True, help="Report for a Node that a kubelet has reported for so far.")
@click.option("--node-labels", default="", metavar="K=V,...", help="Labels of a Node that is created.")
@click.option("--register-with-taints", default="", metavar="K=V:EFFECT,...", help="Taints of a Node that is created.")
@click.option(
    "--node-ip", default="", metavar="IP[,IP]", help="The node's address, or one of each family; :: prefers IPv6."
)
@click.option("--provider-id", default="", metavar="ID", help="Provider ID of a Node that is created.")
@click.option(
    "--controller-attach-detach/--no-controller-attach-detach",
    default=True,
    show_default=True,
    help="Declare on the Node that a controller attaches its volumes.",
)
@click.option(
    "--max-pods",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    metavar="N",
    help="Number of pods in the Node's capacity; the agent runs none.",
)
@click.option(
    "--system-reserved",
    default="",
    metavar="R=AMOUNT,...",
    help="Resources that pods cannot have, such as cpu=500m,memory=1Gi.",
)
@click.option("--kube-reserved", default="", metavar="R=AMOUNT,...", help="More resources that pods cannot have.")
@click.option(
    "--eviction-hard",
    metavar="SIGNAL<AMOUNT,...",
    help="Thresholds of pressure; the kubelet's defaults by default, empty for none.",
)
@click.option(
    "--eviction-pressure-transition-period",
    type=click.FloatRange(min=0),
    default=300.0,
    show_default=True,
    metavar="SECONDS",
    help="Seconds for which pressure is reported after it was last measured.",
)
@click.option(
    "--node-status-update-frequency",
    type=SECONDS,
    metavar="SECONDS",
    help="Seconds between two measurements; 10 by default.",
)
@click.option(
    "--node-status-report-frequency",
    type=SECONDS,
    metavar="SECONDS",
    help="Seconds between two writes of an unchanged status; 300 by default, or the update frequency if that is given.",
)
@click.option(
    "--node-lease-duration-seconds",
    type=click.IntRange(min=1),
    default=40,
    show_default=True,
    metavar="SECONDS",
    help="Seconds for which a renewal of its lease is valid; it is renewed four times in that time.",
)
@click.option(
    "--shutdown-grace-period",
    type=click.FloatRange(min=0),
    default=0.0,
    show_default=True,
    metavar="SECONDS",
    help="Seconds in which to report Ready=False before the end; 0: do not report it.",
)
@click.option("--root-dir", default="/", show_default=True, metavar="DIR", help="A directory on the disk to measure.")
@duration_option
@log_options
def agent(log_format: str, verbose: bool, **options: Any) -> None:
    """Keep this machine's node alive: register it, post its status, renew its lease.

    With neither --embedded nor --kubeconfig it runs on the cluster of the pod that this
    process is in; outside of a pod, on the embedded server.
    """
    configure_logging(log_format, verbose)
    run_agent(AgentOptions(**options))

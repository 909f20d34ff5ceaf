# SPDX-License-Identifier: Apache-2.0
"""`controllers agent`: keep one node alive in the API. The options have a kubelet's names where it has them."""

from __future__ import annotations

from typing import Any

import click

from controllers.agent.run import AgentOptions, run_agent
from controllers.command.cli_options import SECONDS, duration_option, log_options, server_options, speak


@click.command("agent")
@click.option("--node-name", metavar="NAME", help="What the node is called; as this machine by default.")
@server_options
@click.option(
    "--register-node",
    type=bool,
    default=True,
    show_default=True,
    metavar="BOOL",
    help="Make the Node if there is none.",
)
@click.option("--take-over", is_flag=True, help="Keep a Node that a kubelet has kept so far.")
@click.option("--node-labels", default="", metavar="K=V,...", help="Labels of a Node that is made.")
@click.option("--register-with-taints", default="", metavar="K=V:EFFECT,...", help="Taints of a Node that is made.")
@click.option(
    "--node-ip", default="", metavar="IP[,IP]", help="The node's address, or one of each family; :: prefers IPv6."
)
@click.option("--provider-id", default="", metavar="ID", help="Of a Node that is made.")
@click.option(
    "--controller-attach-detach/--no-controller-attach-detach",
    default=True,
    show_default=True,
    help="The Node says that a controller attaches its volumes.",
)
@click.option(
    "--max-pods",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    metavar="N",
    help="How many pods it says to take; nothing here runs them.",
)
@click.option("--system-reserved", default="", metavar="R=AMOUNT,...", help="Kept from pods: cpu=500m,memory=1Gi.")
@click.option("--kube-reserved", default="", metavar="R=AMOUNT,...", help="The same.")
@click.option(
    "--eviction-hard",
    metavar="SIGNAL<AMOUNT,...",
    help="Thresholds of pressure; a kubelet's own by default, empty for none.",
)
@click.option(
    "--eviction-pressure-transition-period",
    type=click.FloatRange(min=0),
    default=300.0,
    show_default=True,
    metavar="SECONDS",
    help="How long pressure holds after it was seen last.",
)
@click.option(
    "--node-status-update-frequency", type=SECONDS, metavar="SECONDS", help="Between two looks; 10 by default."
)
@click.option(
    "--node-status-report-frequency",
    type=SECONDS,
    metavar="SECONDS",
    help="Between two posts of an unchanged status; 300 by default, or the update frequency if that is given.",
)
@click.option(
    "--node-lease-duration-seconds",
    type=click.IntRange(min=1),
    default=40,
    show_default=True,
    metavar="SECONDS",
    help="How long a renewal of its lease counts; it is renewed four times as often.",
)
@click.option(
    "--shutdown-grace-period",
    type=click.FloatRange(min=0),
    default=0.0,
    show_default=True,
    metavar="SECONDS",
    help="What the last word, Ready=False, may take; 0 says none.",
)
@click.option("--root-dir", default="/", show_default=True, metavar="DIR", help="On the disk that is measured.")
@duration_option
@log_options
def agent(log_format: str, verbose: bool, **options: Any) -> None:
    """Keep this machine's node alive: register it, post its status, renew its lease.

    With neither --embedded nor --kubeconfig: on the cluster of the pod this runs in, else
    on the embedded server.
    """
    speak(log_format, verbose)
    run_agent(AgentOptions(**options))

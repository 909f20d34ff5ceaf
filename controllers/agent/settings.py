# SPDX-License-Identifier: Apache-2.0
"""What a node agent is told at its start; read from text as the kubelet's options have it, and checked."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from decimal import Decimal

import attrs

from controller_runtime.api.names import label_value_problems, qualified_name_problems, subdomain_problems
from controller_runtime.core.errors import UsageError
from controllers.agent.pressure import DEFAULTS, HOLD, Threshold
from controllers.heartbeat.node_lease import DURATION
from controllers.shared.quantities import parse_quantity

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address

LABEL = {"type": "node-agent"}
"""Says that no kubelet is behind the node."""
RESERVABLE = ("cpu", "memory", "ephemeral-storage", "pid")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


@attrs.frozen(kw_only=True)
class Settings:
    """The agent's; the defaults are a kubelet's, but that a node without a runtime takes no pods.

    Attributes:
        name: Of the Node, its lease and the lease's holder.
        labels: Put on a Node that is made here; they win over those that every node has.
        taints: The same.
        node_ips: Its addresses; none: they are found. One that is unspecified says which family to prefer.
        provider_id: Of a Node that is made here.
        attach_detach: The Node says that volumes are attached by a controller.
        register: Make the Node if there is none.
        max_pods: How many pods it can take.
        system_reserved: Kept from pods, by resource.
        kube_reserved: The same.
        thresholds: Shortages; those of memory and disk are kept from pods, too.
        pressure_hold: Seconds that a shortage counts after it was seen last.
        update_interval: Seconds between two looks at the machine.
        report_interval: Seconds between two posts of an unchanged status; None is a kubelet's own.
        lease_duration: Seconds that a renewal of its lease counts; it is renewed four times as often.
        shutdown_grace: Seconds that the last word, Ready=False, may take; 0: none is said.
        root: A folder on the file system that pods would use.

    Raises:
        UsageError: Something of it cannot be.
    """

    name: str
    labels: Mapping[str, str] = {}
    taints: Sequence[Mapping[str, str]] = ()
    node_ips: Sequence[IPAddress] = ()
    provider_id: str = ""
    attach_detach: bool = True
    register: bool = True
    max_pods: int = 0
    system_reserved: Mapping[str, Decimal] = {}
    kube_reserved: Mapping[str, Decimal] = {}
    thresholds: Sequence[Threshold] = DEFAULTS
    pressure_hold: float = HOLD
    update_interval: float = 10.0
    report_interval: float = 300.0
    lease_duration: int = DURATION
    shutdown_grace: float = 0.0
    root: str = "/"

    def __attrs_post_init__(self) -> None:
        if not self.name:
            raise UsageError("the node has no name: give --node-name one")
        if problems := subdomain_problems(self.name):
            raise UsageError(f"--node-name: {self.name!r} cannot be the name of a node: {problems[0]}")


def node_name(asked: str | None, hostname: str) -> str:
    """What the node is called: as asked, else as the machine; trimmed, in lower case."""
    return (hostname if asked is None else asked).strip().lower()


def parse_labels(text: str) -> dict[str, str]:
    """`key=value,key=value`.

    Raises:
        UsageError: Not that, or nothing that could be a label.
    """
    labels = _pairs("--node-labels", text)
    for key, value in labels.items():
        for problem in (*qualified_name_problems(key), *label_value_problems(value)):
            raise UsageError(f"--node-labels: {key}={value} cannot be a label: {problem}")
    return labels


def parse_taints(text: str) -> tuple[dict[str, str], ...]:
    """`key=value:Effect,key:Effect`.

    Raises:
        UsageError: Not that, or nothing that could be a taint.
    """
    taints = {}
    for part in (part.strip() for part in text.split(",") if part.strip()):
        head, _, effect = part.rpartition(":")
        key, _, value = head.partition("=")
        if effect not in _EFFECTS:
            raise UsageError(
                f"--register-with-taints: {part!r} is no taint such as key=value:NoSchedule; "
                f"effects are {', '.join(_EFFECTS)}"
            )
        for problem in (*qualified_name_problems(key), *label_value_problems(value)):
            raise UsageError(f"--register-with-taints: {part!r} cannot be a taint: {problem}")
        if (key, effect) in taints:
            raise UsageError(f"--register-with-taints: {key} is given twice with {effect}: give it once")
        taints[key, effect] = {"key": key, **({"value": value} if value else {}), "effect": effect}
    return tuple(taints.values())


def parse_reserved(option: str, text: str) -> dict[str, Decimal]:
    """`cpu=500m,memory=1Gi`.

    Raises:
        UsageError: Not that, or a resource that cannot be reserved.
    """
    reserved = {}
    for resource, amount in _pairs(option, text).items():
        if resource not in RESERVABLE:
            raise UsageError(f"{option}: {resource!r} cannot be reserved; there are {', '.join(RESERVABLE)}")
        try:
            reserved[resource] = parse_quantity(amount)
        except ValueError as error:
            raise UsageError(f"{option}: {resource}: {error}") from error
        if reserved[resource] < 0:
            raise UsageError(f"{option}: {resource}: {amount} is less than nothing")
    return reserved


def parse_node_ips(text: str) -> tuple[IPAddress, ...]:
    """One address, or one of each family: `192.0.2.7,2001:db8::7`.

    Raises:
        UsageError: Not that, or addresses that nobody else can reach.
    """
    found: list[IPAddress] = []
    for part in (part.strip() for part in text.split(",") if part.strip()):
        try:
            found.append(ipaddress.ip_address(part))
        except ValueError as error:
            raise UsageError(f"--node-ip: {part!r} is not an IP address") from error
    for address in found:
        if why := unreachable(address):
            if len(found) == 1 and address.is_unspecified:
                continue  # it names a family
            raise UsageError(f"--node-ip: {address} cannot be a node's address: it is {why}")
    if len(found) > 2 or len({address.version for address in found}) < len(found):
        raise UsageError(f"--node-ip: {text!r}: give one address, or one of each family")
    return tuple(found)


def unreachable(address: IPAddress) -> str:
    """Why nobody else can reach an address; empty if they can."""
    for why in ("loopback", "multicast", "link_local", "unspecified"):
        if getattr(address, f"is_{why}"):
            return why.replace("_", "-")
    return ""


def _pairs(option: str, text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for part in (part.strip() for part in text.split(",") if part.strip()):
        key, equals, value = part.partition("=")
        if not equals:
            raise UsageError(f"{option}: {part!r} is no pair such as key=value")
        if key.strip() in found:
            raise UsageError(f"{option}: {key.strip()} is given twice: give it once")
        found[key.strip()] = value.strip()
    return found

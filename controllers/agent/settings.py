# SPDX-License-Identifier: Apache-2.0
"""The settings of a node agent, parsed from the notation of the kubelet's options, and checked."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from decimal import Decimal

import attrs

from apimachinery.errors import UsageError
from apimachinery.names import label_value_errors, qualified_name_errors, subdomain_errors
from apimachinery.quantities import parse_quantity
from controllers.agent.pressure import DEFAULTS, HOLD, Threshold
from controllers.heartbeat.node_lease import DURATION

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address

LABEL = {"type": "node-agent"}
"""Label that marks the node as an agent's, without a kubelet."""
RESERVABLE = ("cpu", "memory", "ephemeral-storage", "pid")
"""Resources that can be reserved."""
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


@attrs.frozen(kw_only=True)
class Settings:
    """The settings of a node agent. The defaults are a kubelet's, except `max_pods`: nothing here could run a pod.

    Attributes:
        name: Name of the Node, of its lease and of the lease's holder.
        labels: Labels of a Node that the agent creates; they take precedence over the default labels.
        taints: Taints of a Node that the agent creates.
        node_ips: Addresses of the Node; if empty, they are detected. A single unspecified address, such as `::`, only
            selects the preferred address family.
        provider_id: Provider id of a Node that the agent creates.
        attach_detach: Whether to set the annotation by which a controller attaches the Node's volumes.
        register: Whether to create the Node if it does not exist.
        max_pods: Number of pods in the capacity.
        system_reserved: Amounts that are subtracted from the allocatable resources.
        kube_reserved: Further amounts that are subtracted from the allocatable resources.
        thresholds: Thresholds of the pressure conditions; those of memory and disk are subtracted from the allocatable
            resources.
        pressure_hold: Seconds for which a shortage counts after it was last measured.
        update_interval: Seconds between two measurements of the machine.
        report_interval: Seconds between two posts of an unchanged status.
        lease_duration: Seconds for which a renewal of the lease is valid; it is renewed four times as often.
        shutdown_grace: Seconds that the post of Ready=False at the end may take; 0 for no such post.
        root: A folder on the file system whose space is measured.

    Raises:
        UsageError: `name` is empty or cannot be the name of a Node.
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
        if problems := subdomain_errors(self.name):
            raise UsageError(f"--node-name: {self.name!r} cannot be the name of a node: {problems[0]}")


def node_name(asked: str | None, hostname: str) -> str:
    """Return the name of the node: `asked`, or `hostname` if that is None; stripped, and in lower case."""
    return (hostname if asked is None else asked).strip().lower()


def parse_labels(text: str) -> dict[str, str]:
    """Parse labels in the form `key=value,key=value`.

    Raises:
        UsageError: The text has another form, or a pair cannot be a label.
    """
    labels = _pairs("--node-labels", text)
    for key, value in labels.items():
        for problem in (*qualified_name_errors(key), *label_value_errors(value)):
            raise UsageError(f"--node-labels: {key}={value} cannot be a label: {problem}")
    return labels


def parse_taints(text: str) -> tuple[dict[str, str], ...]:
    """Parse taints in the form `key=value:Effect,key:Effect`.

    Raises:
        UsageError: The text has another form, or a part cannot be a taint.
    """
    taints = {}
    for part in (part.strip() for part in text.split(",") if part.strip()):
        head, _, effect = part.rpartition(":")
        key, _, value = head.partition("=")
        if effect not in _EFFECTS:
            raise UsageError(
                f"--register-with-taints: {part!r} is not a taint such as key=value:NoSchedule; "
                f"effects are {', '.join(_EFFECTS)}"
            )
        for problem in (*qualified_name_errors(key), *label_value_errors(value)):
            raise UsageError(f"--register-with-taints: {part!r} cannot be a taint: {problem}")
        if (key, effect) in taints:
            raise UsageError(f"--register-with-taints: {key} is given twice with {effect}: give it once")
        taints[key, effect] = {"key": key, **({"value": value} if value else {}), "effect": effect}
    return tuple(taints.values())


def parse_reserved(option: str, text: str) -> dict[str, Decimal]:
    """Parse amounts in the form `cpu=500m,memory=1Gi`, and return the amount by resource.

    Raises:
        UsageError: The text has another form, a resource cannot be reserved, or an amount is negative.
    """
    reserved = {}
    for resource, amount in _pairs(option, text).items():
        if resource not in RESERVABLE:
            raise UsageError(f"{option}: {resource!r} cannot be reserved; {', '.join(RESERVABLE)} can")
        try:
            reserved[resource] = parse_quantity(amount)
        except ValueError as error:
            raise UsageError(f"{option}: {resource}: {error}") from error
        if reserved[resource] < 0:
            raise UsageError(f"{option}: {resource}: {amount} is negative")
    return reserved


def parse_node_ips(text: str) -> tuple[IPAddress, ...]:
    """Parse one IP address, or one of each family, in the form `192.0.2.7,2001:db8::7`; empty text gives none.

    Raises:
        UsageError: The text has another form, or an address cannot be reached from other machines.
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
                continue  # alone it only says which family to prefer
            raise UsageError(f"--node-ip: {address} cannot be a node's address: it is {why}")
    if len(found) > 2 or len({address.version for address in found}) < len(found):
        raise UsageError(f"--node-ip: {text!r}: give one address, or one of each family")
    return tuple(found)


def unreachable(address: IPAddress) -> str:
    """Return why other machines cannot reach an address; empty if they can."""
    for why in ("loopback", "multicast", "link_local", "unspecified"):
        if getattr(address, f"is_{why}"):
            return why.replace("_", "-")
    return ""


def _pairs(option: str, text: str) -> dict[str, str]:
    """Parse pairs in the form `key=value,key=value`.

    Raises:
        UsageError: A part is not a pair, or a key is given twice.
    """
    found: dict[str, str] = {}
    for part in (part.strip() for part in text.split(",") if part.strip()):
        key, equals, value = part.partition("=")
        if not equals:
            raise UsageError(f"{option}: {part!r} is not a pair such as key=value")
        if key.strip() in found:
            raise UsageError(f"{option}: {key.strip()} is given twice: give it once")
        found[key.strip()] = value.strip()
    return found

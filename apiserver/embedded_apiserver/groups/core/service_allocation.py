# SPDX-License-Identifier: Apache-2.0
"""The addresses and ports that a service gets: which it needs, keeps and gives back, in the words of a real API server.

Only numbers are given: nothing answers at them. Each function is pure; `writes.addresses` knows what is taken.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator, Mapping, Set
from typing import Any, NamedTuple

from embedded_apiserver.causes import invalid
from embedded_apiserver.groups.core.service_addresses import addresses
from embedded_apiserver.objects import Object
from embedded_apiserver.status import Cause
from embedded_apiserver.typed.service_defaults import is_accessible_from_outside

NETWORK = ipaddress.ip_network("10.0.0.0/16")
PORTS = range(30000, 32768)
NONE = "None"
_FAMILIES = ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy")
_ON_NODES = ("NodePort", "LoadBalancer")
_SINGLE, _DUAL = "SingleStack", "RequireDualStack"
_TAKEN = "provided {} is already allocated"


class Refused(Exception):
    """A service requests an address, a port, an IP family or an IP family policy that it cannot have.

    Attributes:
        causes: The validation errors.
    """

    def __init__(self, *causes: Cause) -> None:
        super().__init__(", ".join(cause.message for cause in causes))
        self.causes = causes


class Pool(NamedTuple):
    """The addresses and ports that are available to a service.

    Attributes:
        taken: The addresses and ports in use by other services.
        addresses: Candidate addresses in the order of preference; those in `taken` are skipped.
        ports: Candidate ports in the order of preference; those in `taken` are skipped.
    """

    taken: Set[str | int]
    addresses: Iterator[str]
    ports: Iterator[int]


def used(spec: Object) -> set[str | int]:
    """Return the addresses and ports of a stored service, given its spec."""
    ports = {port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort")}
    if check := spec.get("healthCheckNodePort"):
        ports.add(check)
    return ports | {address for address in spec.get("clusterIPs") or () if address != NONE}


def allocated(spec: Object, before: Object, pool: Pool) -> Object:
    """Return the spec of a service with its addresses and ports filled in.

    Args:
        spec: The new spec with its defaults.
        before: The stored spec; empty for a new service.
        pool: The available addresses and ports.

    Raises:
        Refused: An address or a port is invalid, in use or out of range, or the service cannot have its IP families or
            their policy.
    """
    made = dict(spec)
    if before:
        _keep(made, before)
    if made.get("clusterIP") and not made.get("clusterIPs"):
        made["clusterIPs"] = [made["clusterIP"]]
    _set_addresses(made, before, pool)
    if _has_ports(made):
        _set_ports(made, before, pool)
    if _has_health_check(made) and not made.get("healthCheckNodePort"):
        made["healthCheckNodePort"] = _next(pool.ports, pool.taken)
    return made


def without_leftovers(spec: Object, before: Object) -> Object:
    """Return an updated service spec without fields that its new type does not use.

    Most are kept if the client changed them; `healthCheckNodePort` and `internalTrafficPolicy` are not.
    """
    dropped: set[str] = set()
    if _has_address(before) and not _has_address(spec):
        dropped |= {name for name in _FAMILIES if spec.get(name) == before.get(name)}
    if _has_health_check(before) and not _has_health_check(spec):
        dropped.add("healthCheckNodePort")
    if before.get("type") == "LoadBalancer" != spec.get("type"):
        names = ("allocateLoadBalancerNodePorts", "loadBalancerClass")
        dropped |= {name for name in names if spec.get(name) == before.get(name)}
    if is_accessible_from_outside(before) and not is_accessible_from_outside(spec):
        dropped |= {"externalTrafficPolicy"} & {name for name in spec if spec[name] == before.get(name)}
    if spec.get("type") == "ExternalName":
        dropped.add("internalTrafficPolicy")
    made = {name: value for name, value in spec.items() if name not in dropped}
    if _has_ports(before) and not _has_ports(spec) and _node_ports(spec) <= _node_ports(before):
        made["ports"] = [_without_node_port(port) for port in spec.get("ports") or ()]
    return made


def _keep(made: dict[str, Any], before: Object) -> None:
    """Give a service that is updated what it has already, as far as it does not ask for something else."""
    if _has_address(made) and _has_address(before):
        made.setdefault("clusterIP", before.get("clusterIP", ""))
        if not made.get("clusterIPs") and made["clusterIP"] == before.get("clusterIP"):
            made["clusterIPs"] = before.get("clusterIPs", [])
        elif made["clusterIP"] != before.get("clusterIP") and made.get("clusterIPs") == before.get("clusterIPs"):
            made["clusterIPs"] = [made["clusterIP"]]
    if _has_ports(made) and _has_ports(before):
        known = {port.get("name", ""): port.get("nodePort", 0) for port in before.get("ports") or ()}
        busy = _node_ports(made) & _node_ports(before)
        ports = []
        for port in made.get("ports") or ():
            old = known.get(port.get("name", ""), 0)
            if not port.get("nodePort") and old and old not in busy:
                busy.add(old)
                port = {**port, "nodePort": old}
            ports.append(port)
        made["ports"] = ports
    if _has_health_check(made) and _has_health_check(before) and "healthCheckNodePort" in before:
        made.setdefault("healthCheckNodePort", before["healthCheckNodePort"])


def _set_addresses(made: dict[str, Any], before: Object, pool: Pool) -> None:
    if not _has_address(made):
        return
    is_headless = made.get("clusterIP") == NONE
    is_open = is_headless and not made.get("selector")  # its endpoints may have addresses of any family
    if "ipFamilyPolicy" not in made:
        made["ipFamilyPolicy"] = before.get("ipFamilyPolicy") or (_DUAL if is_open else _SINGLE)
    _refuse_if(addresses(made, before.get("clusterIPs") or ()))
    given = made.get("clusterIPs") or []
    _release_second(made, before)
    _refuse_if([*_policy_causes(made, before), *_family_of_address_causes(given, made)])
    if is_open:
        families = made.get("ipFamilies") or ["IPv4"]
        other = "IPv6" if families[0] == "IPv4" else "IPv4"
        made["ipFamilies"] = [*families, other] if len(families) < 2 and made["ipFamilyPolicy"] != _SINGLE else families
        return
    _refuse_if(_family_causes(made))
    if not made.get("ipFamilies"):
        made["ipFamilies"] = ["IPv4"]
    if is_headless or (before and _has_address(before)):
        return  # an address that has changed is a cause that the checks find
    if not given:
        address = _next(pool.addresses, pool.taken)
        made |= {"clusterIP": address, "clusterIPs": [address]}
    else:
        _check_free(given, pool.taken)


def _refuse_if(causes: Iterable[Cause]) -> None:
    if found := list(causes):
        raise Refused(*found)


def _release_second(made: dict[str, Any], before: Object) -> None:
    """Take the second family from a service that is told to have one."""
    families = made.get("ipFamilies") or []
    if before and made["ipFamilyPolicy"] == _SINGLE and len(families) > 1 and families == before.get("ipFamilies"):
        made["ipFamilies"] = families[:1]


def _policy_causes(made: Object, before: Object) -> Iterator[Cause]:
    field, policy = "spec.ipFamilyPolicy", made["ipFamilyPolicy"]
    families, known = made.get("ipFamilies") or [], before.get("ipFamilies") or []
    if policy != _SINGLE:
        if families and families[:1] == known[:1] and len(families) < len(known):
            yield invalid(field, policy, "must be 'SingleStack' to release the secondary IP family")
        return
    several = {"cluster IPs": made.get("clusterIPs") or [], "IP families": families}
    for noun, values in several.items():
        if len(values) == 2:
            text = f"must be 'RequireDualStack' or 'PreferDualStack' when multiple {noun} are specified"
            yield invalid(field, policy, text)


def _family_of_address_causes(given: list[str], made: Object) -> Iterator[Cause]:
    """Return the validation errors of addresses whose family is not given, and that no service can have here."""
    for index, address in enumerate(given):
        if address == NONE:
            return
        if ":" in address and index >= len(made.get("ipFamilies") or ()):
            yield invalid(f"spec.clusterIPs[{index}]", given, "IPv6 is not configured on this cluster")


def _family_causes(made: Object) -> Iterator[Cause]:
    if made["ipFamilyPolicy"] == _DUAL:
        text = "this cluster is not configured for dual-stack services"
        yield invalid("spec.ipFamilyPolicy", _DUAL, text)
    for index, family in enumerate(made.get("ipFamilies") or ()):
        if family != "IPv4":
            yield invalid(f"spec.ipFamilies[{index}]", family, "not configured on this cluster")


def _check_free(given: list[str], taken: Set[str | int]) -> None:
    address = ipaddress.ip_address(given[0])
    problem = ""
    if address not in NETWORK:
        problem = "the provided network does not match the current range"
    elif address in (NETWORK.network_address, NETWORK.broadcast_address):
        problem = f"the provided IP ({given[0]}) is not in the valid range. The range of valid IPs is {NETWORK}"
    elif given[0] in taken:
        problem = _TAKEN.format("IP")
    if problem:
        raise Refused(unallocated(given, problem))


def unallocated(asked: list[str], problem: str) -> Cause:
    """Return the validation error for a service that cannot get an address.

    Args:
        asked: The requested addresses, of which the error names the first; a list with an empty text if any would do.
        problem: The reason.
    """
    which = f" {asked[0]}" if asked[0] else ""
    return invalid("spec.clusterIPs", asked, f"failed to allocate IP{which}: {problem}")


def _set_ports(made: dict[str, Any], before: Object, pool: Pool) -> None:
    gives = made["type"] == "NodePort" or made.get("allocateLoadBalancerNodePorts", True)
    asked = {port.get("port"): port["nodePort"] for port in made.get("ports") or () if port.get("nodePort")}
    own, ports = _node_ports(before) if before else set(), []
    for index, port in enumerate(made.get("ports") or ()):
        number = port.get("nodePort")
        if not number:
            if gives:  # two protocols of one port share their node port
                number = (None if before else asked.get(port.get("port"))) or _next(pool.ports, pool.taken)
                asked.setdefault(port.get("port"), number)
                port = {**port, "nodePort": number}
        elif number not in own:
            _check_port(number, index, pool.taken)
        ports.append(port)
    made["ports"] = ports


def _check_port(number: int, index: int, taken: Set[str | int]) -> None:
    field = f"spec.ports[{index}].nodePort"
    if number not in PORTS:
        text = f"provided port is not in the valid range. The range of valid ports is {PORTS[0]}-{PORTS[-1]}"
        raise Refused(invalid(field, number, text))
    if number in taken:
        raise Refused(invalid(field, number, _TAKEN.format("port")))


def _next(numbers: Iterator[Any], taken: Set[str | int]) -> Any:
    return next(number for number in numbers if number not in taken)


def _has_address(spec: Object) -> bool:
    return spec.get("type") != "ExternalName"


def _has_ports(spec: Object) -> bool:
    return spec.get("type") in _ON_NODES


def _has_health_check(spec: Object) -> bool:
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def _node_ports(spec: Object) -> set[int]:
    return {port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort")}


def _without_node_port(port: Mapping[str, Any]) -> Object:
    return {name: value for name, value in port.items() if name != "nodePort"}

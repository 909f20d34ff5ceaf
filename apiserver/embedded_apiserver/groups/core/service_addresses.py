# SPDX-License-Identifier: Apache-2.0
"""Rules of the cluster addresses of services, and of their change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from embedded_apiserver.causes import duplicate, forbidden, invalid
from embedded_apiserver.checks.addresses import address, has_two_families
from embedded_apiserver.checks.basic import one_of
from embedded_apiserver.objects import Object, part
from embedded_apiserver.status import Cause

_FAMILIES = ("IPv4", "IPv6")
_POLICIES = ("PreferDualStack", "RequireDualStack", "SingleStack")
_ONCE = "may not change once set"


def is_headless(spec: Object) -> bool:
    """Return whether a service is headless, that is, has no cluster IP."""
    return spec.get("clusterIP") == "None" or spec.get("clusterIPs") == ["None"]


def addresses(spec: Object, known: Sequence[str]) -> Iterator[Cause]:
    """Return the validation errors of a service's cluster IPs and IP families; addresses in `known` were accepted
    before.
    """
    one, many = spec.get("clusterIP", ""), spec.get("clusterIPs") or []
    families = spec.get("ipFamilies") or ()
    if one and many and many[0] != one:
        yield invalid("spec.clusterIPs", many, "first value must match `clusterIP`")
    elif many and not one:
        yield invalid("spec.clusterIPs", many, "must be empty when `clusterIP` is not specified")
    seen = set()
    for index, family in enumerate(families):
        yield from one_of(family, _FAMILIES, f"spec.ipFamilies[{index}]")
        if family in seen:
            yield duplicate(f"spec.ipFamilies[{index}]", family)
        seen.add(family)
    if (policy := spec.get("ipFamilyPolicy")) is not None:
        yield from one_of(policy, _POLICIES, "spec.ipFamilyPolicy")
    found = list(_each_address(many or ([one] if one else []), known))
    yield from found
    if len(many) > 2:
        yield invalid("spec.clusterIPs", many, "may only hold up to 2 values")
    if found:
        return
    if len(many) > 1 and not has_two_families(many):
        yield invalid("spec.clusterIPs", many, "may specify no more than one IP for each IP family")
    if not is_headless(spec):
        for index, (text, family) in enumerate(zip(many, families, strict=False)):
            if family in _FAMILIES and (":" in text) != (family == "IPv6"):
                words = f"expected an {family} value as indicated by `ipFamilies[{index}]`"
                yield invalid(f"spec.clusterIPs[{index}]", text, words)


def _each_address(many: Sequence[str], known: Sequence[str]) -> Iterator[Cause]:
    for index, text in enumerate(many):
        if index == 0 and text == "None":
            if len(many) > 1:
                yield invalid("spec.clusterIPs", many, "'None' must be the first and only value")
            continue
        yield from address(text, f"spec.clusterIPs[{index}]", known)


def address_change(old: Object, new: Object) -> Iterator[Cause]:
    """Return the validation errors of an update of a service's cluster IPs, families, class and health check port."""
    before, after = part(old, "spec"), part(new, "spec")
    if "ExternalName" not in (before.get("type"), after.get("type")):
        if not (is_headless(before) and is_headless(after)):
            yield from _changed_addresses(before, after)
        if not is_headless(before) and not is_headless(after):
            yield from _changed_families(before, after)
    if before.get("type") == after.get("type") == "LoadBalancer":
        name = after.get("loadBalancerClass")
        if before.get("loadBalancerClass") != name:
            yield invalid("spec.loadBalancerClass", name, _ONCE)
        is_local = before.get("externalTrafficPolicy") == after.get("externalTrafficPolicy") == "Local"
        if is_local and before.get("healthCheckNodePort", 0) != after.get("healthCheckNodePort", 0):
            yield forbidden("spec.healthCheckNodePort", "field is immutable")


def _changed_addresses(before: Object, after: Object) -> Iterator[Cause]:
    old, new = before.get("clusterIPs") or [], after.get("clusterIPs") or []
    if len(old) == len(new):
        for index, text in enumerate(old):
            if text != new[index]:
                yield invalid(f"spec.clusterIPs[{index}]", new, _ONCE)
        return
    if len(old) > len(new) and not new:
        yield invalid("spec.clusterIPs[0]", None, "primary clusterIP can not be unset")
    if old and new and old[0] != new[0]:
        yield invalid("spec.clusterIPs[0]", new, _ONCE)
    if len(old) > len(new) == 1 and (policy := after.get("ipFamilyPolicy")) != "SingleStack":
        text = "must be set to 'SingleStack' when releasing the secondary clusterIP"
        yield invalid("spec.ipFamilyPolicy", policy, text)


def _changed_families(before: Object, after: Object) -> Iterator[Cause]:
    old, new = before.get("ipFamilies") or [], after.get("ipFamilies") or []
    if len(old) == len(new):
        for index, family in enumerate(old):
            if family != new[index]:
                yield invalid("spec.ipFamilies[0]", new, _ONCE)
        return
    if len(old) > len(new) and not after.get("clusterIPs"):
        yield invalid("spec.ipFamilies[0]", new or None, "primary ipFamily can not be unset")
    if old and new and old[0] != new[0]:
        yield invalid("spec.ipFamilies[0]", after.get("clusterIPs"), _ONCE)
    if len(old) > len(new) == 1 and (policy := after.get("ipFamilyPolicy")) != "SingleStack":
        text = "must be set to 'SingleStack' when releasing the secondary ipFamily"
        yield invalid("spec.ipFamilyPolicy", policy, text)

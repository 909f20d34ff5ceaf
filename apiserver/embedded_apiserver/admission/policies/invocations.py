# SPDX-License-Identifier: Apache-2.0
"""Finds the policies and bindings that apply to a write, and their parameters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from embedded_apiserver.admission.policies.params import Misconfigured, kind_of_params, params_of
from embedded_apiserver.admission.policies.policies import AdmissionPolicy, Binding, Constraints
from embedded_apiserver.admission.step import Attributes, Surroundings
from embedded_apiserver.admission.webhooks.matching import called_as
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.objects import Object
from embedded_apiserver.storage.storage import Storage


class Invocation(NamedTuple):
    """A policy to evaluate for a write, with one binding and one parameter object.

    Attributes:
        policy: The policy.
        binding: The binding; None if the policy cannot be used at all.
        seen_as: The kind and version to which the object is converted.
        params: The parameter object; None if there is none.
        problem: The reason why the policy or the binding cannot be used; empty if it can.
    """

    policy: AdmissionPolicy
    binding: Binding | None
    seen_as: Kind
    params: Object | None = None
    problem: str = ""


def invocations(
    storage: Storage, around: Surroundings, policy: AdmissionPolicy, attributes: Attributes
) -> Iterator[Invocation]:
    """Yield the invocations of a policy for a write: one for each matching binding and each of its parameter
    objects.
    """
    seen_as = _seen_as(storage, around, policy.constraints, attributes)
    if seen_as is None:
        return
    try:
        kind = kind_of_params(around.kinds(), policy.spec.get("paramKind"))
    except Misconfigured as error:
        yield Invocation(policy, None, seen_as, problem=f"failed to configure policy: {error}")
        return
    for binding in policy.bindings:
        if binding.constraints is not None and _seen_as(storage, around, binding.constraints, attributes) is None:
            continue
        try:
            params = params_of(storage, kind, binding.spec.get("paramRef"), attributes.namespace)
        except Misconfigured as error:
            yield Invocation(policy, binding, seen_as, problem=f"failed to configure binding: {error}")
            continue
        for one in params:
            yield Invocation(policy, binding, seen_as, one)


def _seen_as(storage: Storage, around: Surroundings, constraints: Constraints, attributes: Attributes) -> Kind | None:
    kinds = around.kinds()
    found = called_as(storage, kinds, constraints.matched, attributes)
    if found is None or constraints.excluded is None:
        return found
    return None if called_as(storage, kinds, constraints.excluded, attributes) is not None else found

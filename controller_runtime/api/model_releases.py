# SPDX-License-Identifier: Apache-2.0
"""The releases of the official client that have the model of a kind, for the error about a model that is absent."""

from __future__ import annotations

from collections.abc import Mapping

OLDEST, NEWEST = 29, 37
"""The first and the last release that were examined."""

# The first and the last release of the models of whole objects that not all of these have, read from the wheels 29.0.0,
# 30.1.0, 31.0.0, 32.0.1, 33.1.0, 34.1.0, 35.0.0, 36.0.3 and 37.0.2 in November 2026.
_MODELS: Mapping[tuple[int, int], str] = {
    (29, 32): """
        V1alpha1IPAddress V1alpha1SelfSubjectReview V1alpha1ServiceCIDR V1alpha1ValidatingAdmissionPolicy
        V1alpha1ValidatingAdmissionPolicyBinding V1alpha2PodSchedulingContext V1alpha2ResourceClaim
        V1alpha2ResourceClaimTemplate V1alpha2ResourceClass V1beta1SelfSubjectReview V1beta3FlowSchema
        V1beta3PriorityLevelConfiguration
        """,
    (29, 33): "V1beta1ValidatingAdmissionPolicy V1beta1ValidatingAdmissionPolicyBinding",
    (29, 34): "V1alpha1VolumeAttributesClass",
    (29, 36): "V1alpha1ClusterTrustBundle",
    (30, 32): "V1alpha2ResourceClaimParameters V1alpha2ResourceClassParameters V1alpha2ResourceSlice",
    (30, 34): "V1alpha1StorageVersionMigration",
    (30, 37): "V1ValidatingAdmissionPolicy V1ValidatingAdmissionPolicyBinding",
    (31, 32): "V1alpha1LeaseCandidate V1alpha3PodSchedulingContext",
    (31, 33): "V1alpha3DeviceClass V1alpha3ResourceClaim V1alpha3ResourceClaimTemplate V1alpha3ResourceSlice",
    (31, 36): "V1beta1IPAddress V1beta1ServiceCIDR V1beta1VolumeAttributesClass",
    (32, 37): """
        V1alpha1MutatingAdmissionPolicy V1alpha1MutatingAdmissionPolicyBinding V1alpha2LeaseCandidate
        V1beta1DeviceClass V1beta1ResourceClaim V1beta1ResourceClaimTemplate V1beta1ResourceSlice
        """,
    (33, 37): """
        V1IPAddress V1ServiceCIDR V1alpha3DeviceTaintRule V1beta1ClusterTrustBundle V1beta1LeaseCandidate
        V1beta2DeviceClass V1beta2ResourceClaim V1beta2ResourceClaimTemplate V1beta2ResourceSlice
        """,
    (34, 34): "V1alpha1PodCertificateRequest",
    (34, 37): """
        ResourceV1ResourceClaim V1DeviceClass V1ResourceClaimTemplate V1ResourceSlice
        V1VolumeAttributesClass V1beta1MutatingAdmissionPolicy V1beta1MutatingAdmissionPolicyBinding
        """,
    (35, 35): "V1alpha1Workload",
    (35, 37): "V1beta1PodCertificateRequest V1beta1StorageVersionMigration",
    (36, 36): "V1alpha2PodGroup V1alpha2Workload",
    (36, 37): """
        V1MutatingAdmissionPolicy V1MutatingAdmissionPolicyBinding V1alpha3ResourcePoolStatusRequest
        V1beta2DeviceTaintRule V2APIGroupDiscovery V2beta1APIGroupDiscovery
        """,
    (37, 37): """
        V1ClusterTrustBundle V1DeviceTaintRule V1PodCertificateRequest V1StorageVersionMigration
        V1alpha1Eviction V1alpha1EvictionRequest V1alpha3CompositePodGroup V1alpha3PodGroup V1alpha3Workload
        V1beta1PodGroup V1beta1Workload
        """,
}


def releases_with(model: str) -> tuple[int, int] | None:
    """Return the first and the last major release of the official client that have a model; None if unknown."""
    return next((span for span, names in _MODELS.items() if model in names.split()), None)


def why_missing(what: str, model: str, installed: str) -> str:
    """Return an error message for a model that the installed client lacks, with the releases that have it.

    Args:
        what: The name of the collection, for the message.
        model: The name of the model's class.
        installed: The version of the client that is installed.
    """
    span = releases_with(model)
    text = f"{what}: the official client {installed} has no model {model}"
    if span is None:
        return f"{text}, nor is it known which release has; give `dict` as the view"
    first, last = span
    if last == NEWEST:
        return f"{text}; releases from {first} on have: pip install 'kubernetes>={first}', or give `dict` as the view"
    only = f"only release {first} has" if first == last else f"only releases {first} to {last} have"
    return f"{text}; {only}: give `dict` as the view"

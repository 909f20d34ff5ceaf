# SPDX-License-Identifier: Apache-2.0
"""The names of the steps of admission, for the command's options, without an import of the steps."""

NAMES = (
    "NamespaceLifecycle",
    "LimitRanger",
    "ServiceAccount",
    "TaintNodesByCondition",
    "PodSecurity",
    "Priority",
    "DefaultTolerationSeconds",
    "DefaultStorageClass",
    "StorageObjectInUseProtection",
    "PersistentVolumeClaimResize",
    "RuntimeClass",
    "CertificateApproval",
    "CertificateSigning",
    "CertificateSubjectRestriction",
    "DefaultIngressClass",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionWebhook",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionWebhook",
    "ResourceQuota",
)
"""The names of `admission.chain.STEPS`, in their order."""
OFF_BY_DEFAULT = ("ServiceAccount",)
"""The names of the steps that are off unless they are switched on."""

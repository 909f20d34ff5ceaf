# SPDX-License-Identifier: Apache-2.0
"""The kinds of other projects as classes of ours: what a translation of their Go types looks like."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from kubernetes.client import V1JobTemplateSpec, V1ObjectReference

from controller_runtime.crd import (
    LIST_ATOMIC,
    Column,
    Condition,
    CustomResource,
    Duration,
    Int32,
    Int64,
    IntOrString,
    JSONObject,
    Meta,
    Struct,
    custom_resource,
    field,
    list_map,
)

AtLeastZero = Meta(ge=0)
Texts = Annotated[list[str], LIST_ATOMIC]


class CronJobSpec(Struct):
    schedule: Annotated[str, Meta(min_length=0)]
    job_template: V1JobTemplateSpec
    starting_deadline_seconds: Annotated[Int64, AtLeastZero] | None = None
    concurrency_policy: Literal["Allow", "Forbid", "Replace"] = "Allow"
    suspend: bool | None = None
    successful_jobs_history_limit: Annotated[Int32, AtLeastZero] | None = None
    failed_jobs_history_limit: Annotated[Int32, AtLeastZero] | None = None


class CronJobStatus(Struct):
    active: Annotated[list[V1ObjectReference], LIST_ATOMIC, Meta(min_length=1, max_length=10)] = field(
        default_factory=list
    )
    last_schedule_time: datetime | None = None
    conditions: Annotated[list[Condition], list_map("type")] = field(default_factory=list)


@custom_resource("batch.tutorial.kubebuilder.io/v1")
class CronJob(CustomResource):
    spec: CronJobSpec
    status: CronJobStatus | None = None


class SecretKey(Struct):
    name: str
    key: str = ""


class IssuerRef(Struct):
    name: str
    kind: str = ""
    group: str = ""


class Subject(Struct):
    countries: Texts = []
    localities: Texts = []
    organizational_units: Texts = []
    organizations: Texts = []
    postal_codes: Texts = []
    provinces: Texts = []
    serial_number: str = ""
    street_addresses: Texts = []


class OtherName(Struct):
    oid: str = ""
    utf8_value: str = ""


class Permitted(Struct):
    dns_domains: Texts = []
    email_addresses: Texts = []
    ip_ranges: Texts = []
    uri_domains: Texts = []


class NameConstraints(Struct):
    critical: bool | None = None
    excluded: Permitted | None = None
    permitted: Permitted | None = None


class JKSKeystore(Struct):
    create: bool
    alias: str = ""
    password: str = ""
    password_secret_ref: SecretKey | None = None


class PKCS12Keystore(Struct):
    create: bool
    password: str = ""
    password_secret_ref: SecretKey | None = None
    profile: Literal["LegacyRC2", "LegacyDES", "Modern2023", "Modern2026"] | None = None


class Keystores(Struct):
    jks: JKSKeystore | None = None
    pkcs12: PKCS12Keystore | None = None


class PrivateKey(Struct):
    algorithm: Literal["RSA", "ECDSA", "Ed25519"] | None = None
    encoding: Literal["PKCS1", "PKCS8"] | None = None
    rotation_policy: Literal["Never", "Always"] | None = None
    size: int | None = None


class Window(Struct):
    cron: Annotated[str, Meta(min_length=1)]
    window_duration: Annotated[str, Meta(pattern=r"^([0-9]+(\.[0-9]+)?(s|m|h))+$")]
    timezone: Annotated[str, Meta(min_length=1)] | None = None


class Renewal(Struct):
    policy: Literal["RenewBefore", "Disabled"] | None = None
    windows: Annotated[list[Window], LIST_ATOMIC] = field(default_factory=list)


class SecretTemplate(Struct):
    annotations: dict[str, str] = {}
    labels: dict[str, str] = {}


class OutputFormat(Struct):
    type: Literal["DER", "CombinedPEM"]


Usage = Literal[
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
]


class CertificateSpec(Struct):
    secret_name: str
    issuer_ref: IssuerRef
    additional_output_formats: Annotated[list[OutputFormat], LIST_ATOMIC] = field(default_factory=list)
    common_name: str = ""
    dns_names: Texts = []
    duration: Duration = ""
    email_addresses: Texts = []
    encode_usages_in_request: bool | None = None
    ip_addresses: Texts = []
    is_ca: bool | None = field(default=None, name="isCA")
    keystores: Keystores | None = None
    literal_subject: str = ""
    name_constraints: NameConstraints | None = None
    other_names: Annotated[list[OtherName], LIST_ATOMIC] = field(default_factory=list)
    private_key: PrivateKey | None = None
    renew_before: Duration = ""
    renew_before_percentage: Int32 | None = None
    renewal: Renewal | None = None
    revision_history_limit: Int32 | None = None
    secret_template: SecretTemplate | None = None
    signature_algorithm: (
        Literal[
            "SHA256WithRSA",
            "SHA384WithRSA",
            "SHA512WithRSA",
            "ECDSAWithSHA256",
            "ECDSAWithSHA384",
            "ECDSAWithSHA512",
            "PureEd25519",
        ]
        | None
    ) = None
    subject: Subject | None = None
    uris: Texts = []
    usages: Annotated[list[Usage], LIST_ATOMIC] = field(default_factory=list)


class CertificateCondition(Struct):
    type: str
    status: Literal["True", "False", "Unknown"]
    reason: str = ""
    message: str = ""
    last_transition_time: datetime | None = None
    observed_generation: Int64 | None = None


class SuggestedWindow(Struct):
    start: datetime
    end: datetime


class RenewalInformation(Struct):
    explanation_url: str = field(default="", name="explanationURL")
    last_checked: datetime | None = None
    last_error: str = ""
    next_check: datetime | None = None
    suggested_window: SuggestedWindow | None = None


class ACMEStatus(Struct):
    ari: RenewalInformation | None = None


class CertificateStatus(Struct):
    acme: ACMEStatus | None = None
    conditions: Annotated[list[CertificateCondition], list_map("type")] = field(default_factory=list)
    failed_issuance_attempts: int | None = None
    last_failure_time: datetime | None = None
    next_private_key_secret_name: str | None = None
    not_after: datetime | None = None
    not_before: datetime | None = None
    renewal_time: datetime | None = None
    revision: int | None = None


@custom_resource(
    "cert-manager.io/v1",
    categories=["cert-manager"],
    short_names=["cert", "certs"],
    selectable=[".spec.issuerRef.group", ".spec.issuerRef.kind", ".spec.issuerRef.name"],
    columns=[
        Column(name="Ready", path='.status.conditions[?(@.type == "Ready")].status'),
        Column(name="Secret", path=".spec.secretName"),
        Column(name="Age", path=".metadata.creationTimestamp"),
    ],
)
class Certificate(CustomResource):
    spec: CertificateSpec | None = None
    status: CertificateStatus | None = None


class IgnoredDifference(Struct):
    kind: str
    group: str = ""
    jq_path_expressions: list[str] = []
    json_pointers: list[str] = []
    managed_fields_managers: list[str] = []
    name: str = ""
    namespace: str = ""


class Destination(Struct):
    name: str = ""
    namespace: str = ""
    server: str = ""


class JsonnetVariable(Struct):
    name: str
    value: str
    code: bool | None = None


class Jsonnet(Struct):
    ext_vars: list[JsonnetVariable] = field(default_factory=list)
    libs: list[str] = []
    tlas: list[JsonnetVariable] = field(default_factory=list)


class Directory(Struct):
    disable_extension_filter: bool | None = None
    exclude: str = ""
    include: str = ""
    jsonnet: Jsonnet | None = None
    recurse: bool | None = None


class HelmFile(Struct):
    name: str = ""
    path: str = ""


class HelmParameter(Struct):
    force_string: bool | None = None
    name: str = ""
    value: str = ""


class Helm(Struct):
    api_versions: list[str] = []
    file_parameters: list[HelmFile] = field(default_factory=list)
    ignore_missing_value_files: bool | None = None
    kube_version: str = ""
    namespace: str = ""
    parameters: list[HelmParameter] = field(default_factory=list)
    pass_credentials: bool | None = None
    release_name: str = ""
    skip_crds: bool | None = None
    skip_schema_validation: bool | None = None
    skip_tests: bool | None = None
    value_files: list[str] = []
    values: str = ""
    values_object: JSONObject = {}
    version: str = ""


class Replica(Struct):
    name: str
    count: IntOrString


class PatchTarget(Struct):
    annotation_selector: str = ""
    group: str = ""
    kind: str = ""
    label_selector: str = ""
    name: str = ""
    namespace: str = ""
    version: str = ""


class Patch(Struct):
    options: dict[str, bool] = {}
    patch: str = ""
    path: str = ""
    target: PatchTarget | None = None


class Automated(Struct):
    allow_empty: bool | None = None
    enabled: bool | None = None
    prune: bool | None = None
    self_heal: bool | None = None


class Backoff(Struct):
    duration: str = ""
    factor: Int64 | None = None
    max_duration: str = ""


class Retry(Struct):
    backoff: Backoff | None = None
    limit: Int64 | None = None
    refresh: bool | None = None


class SyncPolicy(Struct):
    automated: Automated | None = None
    managed_namespace_metadata: SecretTemplate | None = None
    retry: Retry | None = None
    sync_options: list[str] = []


class SyncSource(Struct):
    target_branch: str
    path: Annotated[str, Meta(min_length=1, pattern=r"^.{2,}|[^./]$")]
    repo_url: str = field(default="", name="repoURL")


class ApplicationCondition(Struct):
    type: str
    message: str
    last_transition_time: datetime | None = None


class Variable(Struct):
    name: str
    value: str


class PluginParameter(Struct):
    array: list[str] = []
    map: dict[str, str] = {}
    name: str = ""
    string: str = ""


class Plugin(Struct):
    env: list[Variable] = field(default_factory=list)
    name: str = ""
    parameters: list[PluginParameter] = field(default_factory=list)


class Health(Struct):
    last_transition_time: datetime | None = None
    message: str = ""
    status: str = ""


class ResourceStatus(Struct):
    group: str = ""
    health: Health | None = None
    hook: bool | None = None
    kind: str = ""
    name: str = ""
    namespace: str = ""
    requires_deletion_confirmation: bool | None = None
    requires_pruning: bool | None = None
    status: str = ""
    sync_wave: Int64 | None = None
    version: str = ""


class ApplicationConstructs(Struct):
    """Parts of Argo CD's Application, side by side."""

    destination: Destination
    sync_source: SyncSource
    conditions: list[ApplicationCondition] = field(default_factory=list)
    directory: Directory | None = None
    helm: Helm | None = None
    ignore_differences: list[IgnoredDifference] = field(default_factory=list)
    patches: list[Patch] = field(default_factory=list)
    plugin: Plugin | None = None
    replicas: list[Replica] = field(default_factory=list)
    resources: list[ResourceStatus] = field(default_factory=list)
    sync_policy: SyncPolicy | None = None

# SPDX-License-Identifier: Apache-2.0
"""Rules of jobs, and of the templates of jobs."""

from __future__ import annotations

from collections.abc import Iterator

from apimachinery.names import label_errors
from embedded_apiserver.causes import invalid, not_supported, required, too_long
from embedded_apiserver.checks.basic import non_negative, one_of
from embedded_apiserver.checks.prefixed import prefixed_path
from embedded_apiserver.checks.selectors import compiled, label_selector, shown_labels
from embedded_apiserver.groups.pods.pods import pod_template
from embedded_apiserver.groups.workloads.job_policies import failure_policy, success_policy
from embedded_apiserver.objects import Object, part
from embedded_apiserver.status import Cause
from embedded_apiserver.typed.go_structs import shown

_INDEXED = "requires indexed completion mode"
_NUMBERS = (
    *("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished"),
    *("backoffLimitPerIndex", "maxFailedIndexes"),
)
_MANY = 100_000
_MOST_FOR_MANY = 10_000
_HIGH = f"when completions are above {_MANY} and used with backoff limit per index"
_LONGEST_MANAGER = 63  # in bytes
_OWN_LABELS = ("controller-uid", "job-name", "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name")


def job_spec(spec: Object, place: str) -> Iterator[Cause]:
    """Return the validation errors of the spec of a Job or job template, without those of its selector."""
    yield from non_negative(spec, place, *_NUMBERS)
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        yield required(f"{place}.backoffLimitPerIndex", "when maxFailedIndexes is specified")
    if (manager := spec.get("managedBy")) is not None:
        yield from _manager(manager, f"{place}.managedBy")
    mode = spec.get("completionMode")
    if mode is not None:
        yield from one_of(mode, ("NonIndexed", "Indexed"), f"{place}.completionMode")
    if mode == "Indexed":
        yield from _indexed(spec, place)
    if mode in (None, "NonIndexed"):
        for name in ("backoffLimitPerIndex", "maxFailedIndexes"):
            if (value := spec.get(name)) is not None:
                yield invalid(f"{place}.{name}", value, _INDEXED)
    failures = spec.get("podFailurePolicy")
    if failures is not None:
        yield from failure_policy(spec, failures, f"{place}.podFailurePolicy.rules")
    if (success := spec.get("successPolicy")) is not None:
        if mode == "Indexed":
            yield from success_policy(spec, success, f"{place}.successPolicy.rules")
        else:
            yield invalid(f"{place}.successPolicy", shown("SuccessPolicy", success), _INDEXED)
    if (replacement := spec.get("podReplacementPolicy")) is not None:
        supported = ("Failed",) if failures is not None else ("Failed", "TerminatingOrFailed")
        yield from one_of(replacement, supported, f"{place}.podReplacementPolicy")
    yield from pod_template(part(spec, "template"), f"{place}.template")
    yield from _restarts(spec, f"{place}.template.spec.restartPolicy")


def _restarts(spec: Object, field: str) -> Iterator[Cause]:
    policy = part(part(spec, "template"), "spec").get("restartPolicy", "")
    if policy in ("", "Always"):
        yield required(field, 'valid values: "OnFailure", "Never"')
    elif policy not in ("OnFailure", "Never"):
        yield not_supported(field, policy, ("OnFailure", "Never"))
    elif spec.get("podFailurePolicy") is not None and policy != "Never":
        yield invalid(field, policy, 'only "Never" is supported when podFailurePolicy is specified')


def _manager(name: str, field: str) -> Iterator[Cause]:
    yield from prefixed_path(name, field)
    if len(name.encode()) > _LONGEST_MANAGER:
        yield too_long(field, _LONGEST_MANAGER)


def _indexed(spec: Object, place: str) -> Iterator[Cause]:
    completions, parallelism = spec.get("completions"), spec.get("parallelism")
    failed = spec.get("maxFailedIndexes")
    if completions is None:
        yield required(f"{place}.completions", "when completion mode is Indexed")
    if parallelism is not None and parallelism > _MANY:
        text = f"must be less than or equal to {_MANY} when completion mode is Indexed"
        yield invalid(f"{place}.parallelism", parallelism, text)
    if completions is not None and failed is not None and failed > completions:
        yield invalid(f"{place}.maxFailedIndexes", failed, "must be less than or equal to completions")
    if failed is not None and failed > _MANY:
        yield invalid(f"{place}.maxFailedIndexes", failed, f"must be less than or equal to {_MANY}")
    if completions is None or completions <= _MANY or spec.get("backoffLimitPerIndex") is None:
        return
    if failed is None:
        yield required(f"{place}.maxFailedIndexes", f"must be specified when completions is above {_MANY}")
    for name, value in (("parallelism", parallelism), ("maxFailedIndexes", failed)):
        if value is not None and value > _MOST_FOR_MANY:
            yield invalid(f"{place}.{name}", value, f"must be less than or equal to {_MOST_FOR_MANY} {_HIGH}")


def job(obj: Object) -> Iterator[Cause]:
    """Return the validation errors of a new Job, with the labels and the selector that the server has generated."""
    spec, metadata = part(obj, "spec"), obj["metadata"]
    yield from generated_selector(obj)
    yield from selected_job_spec(spec)
    completions = spec.get("completions") or 0
    if spec.get("completionMode") == "Indexed" and completions > 0:
        host = f"{metadata.get('name', '')}-{completions - 1}"
        if label_errors(host):
            text = f"will not able to create pod with invalid DNS label: {host}"
            yield invalid("metadata.name", metadata.get("name", ""), text)


def selected_job_spec(spec: Object) -> Iterator[Cause]:
    """Return the validation errors of the spec of a Job, including its selector."""
    selector, labels = spec.get("selector"), part(part(spec, "template"), "metadata").get("labels") or {}
    yield from job_spec(spec, "spec")
    if selector is None:
        yield required("spec.selector")
    yield from label_selector(selector, "spec.selector")
    found = compiled(selector)
    if found is not None and (selector is None or not found.matches(labels)):
        text = "`selector` does not match template `labels`"
        yield invalid("spec.template.metadata.labels", shown_labels(labels), text)


def generated_selector(obj: Object) -> Iterator[Cause]:
    """Return the validation errors of a Job's labels and selector if they differ from those that the server
    generates.
    """
    spec, metadata = part(obj, "spec"), obj["metadata"]
    if spec.get("manualSelector") or spec.get("selector") is None:
        return
    labels = part(part(spec, "template"), "metadata").get("labels") or {}
    own = dict(zip(_OWN_LABELS, 2 * (metadata.get("uid", ""), metadata.get("name", "")), strict=True))
    for name, value in own.items():
        field = f"spec.template.metadata.labels[{name}]"
        if name not in labels:
            yield required(field, f"must be '{value}'")
        elif labels[name] != value:
            yield invalid(field, shown_labels(labels), f"must be '{value}'")
    found = compiled(spec["selector"])
    if found is not None and not found.matches(own):
        yield invalid("spec.selector", shown("selector", spec["selector"]), "`selector` not auto-generated")

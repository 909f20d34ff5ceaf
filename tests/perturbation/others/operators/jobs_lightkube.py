# SPDX-License-Identifier: Apache-2.0
"""Runs a Job for each Report, and notes its name in the Report's status; by lightkube.

After https://github.com/gtsystem/lightkube#usage: a generic resource, and a loop over a watch.
"""

from __future__ import annotations

from lightkube import Client
from lightkube.generic_resource import create_namespaced_resource
from lightkube.models.batch_v1 import JobSpec
from lightkube.models.core_v1 import Container, PodSpec, PodTemplateSpec
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.batch_v1 import Job
from lightkube.types import PatchType

Report = create_namespaced_resource("example.com", "v1", "Report", "reports")


def job_of(report: Report) -> Job:
    container = Container(name="main", image=report.spec["image"])
    template = PodTemplateSpec(spec=PodSpec(containers=[container], restartPolicy="Never"))
    metadata = ObjectMeta(generateName=f"{report.metadata.name}-", labels={"report": report.metadata.name})
    return Job(metadata=metadata, spec=JobSpec(template=template))


def main() -> None:
    client = Client()
    for kind, report in client.watch(Report, namespace="*"):
        name, namespace = report.metadata.name, report.metadata.namespace
        if kind == "DELETED":
            for job in client.list(Job, namespace=namespace, labels={"report": name}):
                client.delete(Job, job.metadata.name, namespace=namespace)
        elif not (report.status or {}).get("job"):
            job = client.create(job_of(report), namespace=namespace)
            status = {"status": {"job": job.metadata.name}}
            client.patch(Report.Status, name, status, namespace=namespace, patch_type=PatchType.MERGE)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""Rules of the volumes of a pod."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from apimachinery.names import subdomain_errors
from embedded_apiserver.causes import duplicate, forbidden, invalid, required
from embedded_apiserver.checks.basic import given_one_of, label, needs
from embedded_apiserver.checks.paths import local_file
from embedded_apiserver.checks.resources import quantity
from embedded_apiserver.groups.pods import sources
from embedded_apiserver.groups.pods.claim_spec import claim_template
from embedded_apiserver.groups.pods.projections import FILE_MODE, downward_file, is_mode, key_to_path, projected
from embedded_apiserver.groups.pods.sources import VolumeSource, only_source
from embedded_apiserver.objects import Object
from embedded_apiserver.status import Cause

__all__ = ["local_file", "volumes"]

PULL_POLICIES = ("Always", "IfNotPresent", "Never")


def volumes(spec: Object, place: str, pod_name: str = "") -> tuple[dict[str, Object], list[Cause]]:
    """Return the valid volumes of a pod by name, and the validation errors of its volumes.

    Args:
        spec: The spec of a pod.
        place: The path of the volumes.
        pod_name: The name of the pod; empty for a template.
    """
    given: Sequence[Object] = spec.get("volumes") or ()
    known: dict[str, Object] = {}
    causes: list[Cause] = []
    made = {f"{pod_name}-{one.get('name', '')}" for one in given if pod_name and one.get("ephemeral") is not None}
    for index, volume in enumerate(given):
        field, name = f"{place}[{index}]", volume.get("name", "")
        found = list(_source_causes(volume, field, pod_name))
        found += label(name, f"{field}.name") if name else [required(f"{field}.name")]
        if name in known:
            found.append(duplicate(f"{field}.name", name))
        if not found:
            known[name] = volume
        causes += found
        claim = (volume.get("persistentVolumeClaim") or {}).get("claimName", "")
        if claim in made:
            text = "must not reference a PVC that gets created for an ephemeral volume"
            causes.append(invalid(f"{field}.persistentVolumeClaim.claimName", claim, text))
    return known, causes


def _source_causes(volume: Object, place: str, pod_name: str) -> Iterator[Cause]:
    name, count = volume.get("name", ""), 0
    if (empty := volume.get("emptyDir")) is not None:
        count = 1
        if (size := empty.get("sizeLimit")) is not None and quantity(size) < 0:
            yield forbidden(f"{place}.emptyDir.sizeLimit", "SizeLimit field must be a valid resource quantity")
        if len(volume) <= 2:
            return
    yield from only_source(volume, place, _SOURCES, count)
    if (disk := volume.get("iscsi")) is not None and sources.is_long_portal(name, disk):
        yield invalid(f"{place}.name", name, sources.PORTAL_TEXT)
    if volume.get("ephemeral") is not None and len(volume) == 2 and pod_name and name:
        claim = f"{pod_name}-{name}"
        for text in subdomain_errors(claim):
            yield invalid(f"{place}.name", name, f'PVC name "{claim}": {text}')


def _mode(source: Mapping[str, int], place: str) -> Iterator[Cause]:
    if not is_mode(mode := source.get("defaultMode")):
        yield invalid(f"{place}.defaultMode", mode, FILE_MODE)


def _files(name: str) -> sources.Check:
    """Return the rule of a source with files from the keys of an object, which the field `name` names."""

    def check(source: Object, place: str) -> Iterator[Cause]:
        yield from needs(source, place, name)
        yield from _mode(source, place)
        for index, item in enumerate(source.get("items") or ()):
            yield from key_to_path(item, f"{place}.items[{index}]")

    return check


def _downward(source: Object, place: str) -> Iterator[Cause]:
    yield from _mode(source, place)
    for item in source.get("items") or ():
        yield from downward_file(item, place)


def _projected(source: Object, place: str) -> Iterator[Cause]:
    yield from _mode(source, place)
    yield from projected(source, place)


def _ephemeral(source: Object, place: str) -> Iterator[Cause]:
    if (template := source.get("volumeClaimTemplate")) is None:
        yield required(f"{place}.volumeClaimTemplate")
    else:
        yield from claim_template(template, f"{place}.volumeClaimTemplate")


def _image(source: Object, place: str) -> Iterator[Cause]:
    if not source.get("reference") and place.startswith("spec.volumes["):  # a template may leave it out
        yield required(f"{place}.reference")
    yield from given_one_of(source.get("pullPolicy"), PULL_POLICIES, f"{place}.pullPolicy")


_SOURCES = (
    VolumeSource("hostPath", sources.host_path),
    VolumeSource("gitRepo", sources.git_repo),
    VolumeSource("gcePersistentDisk", sources.disk("pdName"), place="persistentDisk"),
    VolumeSource("awsElasticBlockStore", sources.disk("volumeID")),
    VolumeSource("secret", _files("secretName")),
    VolumeSource("nfs", sources.nfs),
    VolumeSource("iscsi", sources.iscsi),
    VolumeSource("glusterfs", sources.fields("endpoints", "path")),
    VolumeSource("flocker", sources.flocker),
    VolumeSource("persistentVolumeClaim", sources.fields("claimName")),
    VolumeSource("rbd", sources.fields("monitors", "image")),
    VolumeSource("cinder", sources.cinder),
    VolumeSource("cephfs", sources.fields("monitors"), other="cephFS"),
    VolumeSource("quobyte", sources.quobyte),
    VolumeSource("downwardAPI", _downward, other="downwarAPI"),
    VolumeSource("fc", sources.fibre_channel),
    VolumeSource("flexVolume", sources.flex),
    VolumeSource("configMap", _files("name")),
    VolumeSource("azureFile", sources.fields("secretName", "shareName")),
    VolumeSource("vsphereVolume", sources.fields("volumePath")),
    VolumeSource("photonPersistentDisk", sources.fields("pdID")),
    VolumeSource("portworxVolume", sources.fields("volumeID")),
    VolumeSource("azureDisk", sources.azure_disk),
    VolumeSource("storageos", sources.storage_os("name")),
    VolumeSource("projected", _projected),
    VolumeSource("scaleIO", sources.fields("gateway", "system", "volumeName")),
    VolumeSource("csi", sources.csi),
    VolumeSource("ephemeral", _ephemeral),
    VolumeSource("image", _image),
)

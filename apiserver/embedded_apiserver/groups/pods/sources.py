# SPDX-License-Identifier: Apache-2.0
"""Rules of the sources of volumes that pods and persistent volumes have in common."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from apimachinery.names import label_errors, subdomain_errors
from embedded_apiserver.causes import forbidden, invalid, not_supported, required, too_long
from embedded_apiserver.checks.basic import each, in_range, label, needs, one_of, subdomain
from embedded_apiserver.checks.paths import descending, no_backsteps
from embedded_apiserver.objects import Object
from embedded_apiserver.status import Cause

Check = Callable[[Object, str], Iterable[Cause]]

_HOST_PATH_TYPES = ("", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket")
_IQN = re.compile(r"iqn\.\d{4}-\d{2}\.([a-zA-Z0-9-.]+)(:[^,;*&$|\s]+)$")
_INITIATORS = {"iqn": _IQN, "eui": re.compile(r"^eui.[a-zA-Z0-9]{16}$"), "naa": re.compile(r"^naa.[a-zA-Z0-9]{32}$")}
_MANAGED = "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
_BLOB = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"
_PAIRS = "must be a host:port pair or multiple pairs separated by commas"
_LONGEST_PORTAL = 64
PORTAL_TEXT = (
    "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters "
    "if iscsi.initiatorName is specified."
)


class VolumeSource(NamedTuple):
    """A type of volume source, with its validation.

    Attributes:
        name: The name of the field.
        check: The function that returns the validation errors of the source at a path.
        other: The field to name in the error for a second source; empty for `name`.
        place: The last step of the path for `check`; empty for `name`.
        joins: True if a real API server accepts it as a further source, and validates it.
    """

    name: str
    check: Check
    other: str = ""
    place: str = ""
    joins: bool = False


def only_source(part: Object, place: str, sources: Iterable[VolumeSource], count: int = 0) -> Iterator[Cause]:
    """Return the validation errors of a volume's source, and one for each further source: exactly one is allowed."""
    for source in sources:
        if (value := part.get(source.name)) is None:
            continue
        if count and not source.joins:
            yield forbidden(f"{place}.{source.other or source.name}", "may not specify more than 1 volume type")
        else:
            count += 1
            yield from source.check(value, f"{place}.{source.place or source.name}")
    if not count:
        yield required(place, "must specify a volume type")


def fields(*names: str) -> Check:
    """Return a rule that these fields must be set."""
    return lambda source, place: needs(source, place, *names)


def host_path(source: Object, place: str) -> Iterator[Cause]:
    """Return the validation errors of a `hostPath` volume source."""
    if not (path := source.get("path")):
        yield required(f"{place}.path")
        return
    yield from no_backsteps(path, f"{place}.path")
    if (kind := source.get("type")) is not None:
        yield from one_of(kind, _HOST_PATH_TYPES, f"{place}.type")


def git_repo(source: Object, place: str) -> Iterator[Cause]:
    """Return the validation errors of a `gitRepo` volume source."""
    yield from needs(source, place, "repository")
    yield from descending(source.get("directory", ""), f"{place}.directory")


def disk(name: str) -> Check:
    """Return the rule for a cloud provider's disk, which is identified by the field `name`."""

    def check(source: Object, place: str) -> Iterator[Cause]:
        yield from needs(source, place, name)
        if not 0 <= (partition := source.get("partition", 0)) <= 255:
            yield invalid(f"{place}.partition", partition, "must be between 1 and 255, inclusive")

    return check


def nfs(source: Object, place: str) -> Iterator[Cause]:
    """Return the validation errors of an `nfs` volume source."""
    yield from needs(source, place, "server", "path")
    if not (path := source.get("path", "")).startswith("/"):
        yield invalid(f"{place}.path", path, "must be an absolute path")


def iscsi(source: Object, place: str) -> Iterator[Cause]:
    """Return the validation errors of an `iscsi` volume source of a pod."""
    yield from needs(source, place, "targetPortal")
    yield from _iscsi_name(source, place, "must be valid format starting with iqn, eui, or naa")
    yield from _iscsi_initiator(source, place, "must be valid format starting with iqn, eui, or naa")


def is_long_portal(name: str, source: Object) -> bool:
    """Return whether a volume's name and the portal of its iSCSI source with an initiator are together too long."""
    portal = f"{name}:{source.get('targetPortal', '')}"
    return source.get("initiatorName") is not None and len(portal.encode()) > _LONGEST_PORTAL


def persistent_iscsi(name: str) -> Check:
    """Return the rule for the `iscsi` source of the PersistentVolume `name`."""

    def check(source: Object, place: str) -> Iterator[Cause]:
        yield from needs(source, place, "targetPortal")
        if is_long_portal(name, source):
            yield invalid(f"{place}.targetportal", source.get("targetPortal", ""), PORTAL_TEXT)
        yield from _iscsi_name(source, place, "must be valid format")
        if source.get("secretRef") is not None:
            yield from needs(source["secretRef"], f"{place}.secretRef", "name")
        yield from _iscsi_initiator(source, place, "must be valid format")

    return check


def _iscsi_name(source: Object, place: str, unknown: str) -> Iterator[Cause]:
    if not (name := source.get("iqn", "")):
        yield required(f"{place}.iqn")
    elif name[:3] not in _INITIATORS:
        yield invalid(f"{place}.iqn", name, unknown)
    elif not _INITIATORS[name[:3]].search(name):
        yield invalid(f"{place}.iqn", name, "must be valid format")
    yield from in_range(source.get("lun", 0), 0, 255, f"{place}.lun")
    has_login = source.get("chapAuthDiscovery") or source.get("chapAuthSession")
    if has_login and source.get("secretRef") is None:
        yield required(f"{place}.secretRef")


def _iscsi_initiator(source: Object, place: str, unknown: str) -> Iterator[Cause]:
    if (name := source.get("initiatorName")) is None:
        return
    if name[:3] not in _INITIATORS:
        yield invalid(f"{place}.initiatorname", name, unknown)
    elif not _INITIATORS[name[:3]].search(name):
        yield invalid(f"{place}.initiatorname", name, "must be valid format")


def fibre_channel(source: Object, place: str) -> Iterator[Cause]:
    """Return the validation errors of an `fc` (Fibre Channel) volume source."""
    names, ids, lun = source.get("targetWWNs"), source.get("wwids"), source.get("lun")
    if not names and not ids:
        yield required(f"{place}.targetWWNs", "must specify either targetWWNs or wwids, but not both")
    if names and ids:
        yield invalid(f"{place}.targetWWNs", names, "targetWWNs and wwids can not be specified simultaneously")
    if names and lun is None:
        yield required(f"{place}.lun", "lun is required if targetWWNs is specified")
    elif names:
        yield from in_range(lun or 0, 0, 255, f"{place}.lun")


def flocker(source: Object, place: str) -> Iterator[Cause]:
    """Return the validation errors of a `flocker` volume source."""
    name, uid = source.get("datasetName", ""), source.get("datasetUUID")
    if not name and not uid:
        yield required(place, "one of datasetName and datasetUUID is required")
    if name and uid:
        yield invalid(place, "resource", "datasetName and datasetUUID can not be specified simultaneously")
    if "/" in name:
        yield invalid(f"{place}.datasetName", name, "must not contain '/'")


def quobyte(source: Object, place: str) -> Iterator[Cause]:
    """Return the validation errors of a `quobyte` volume source."""
    registry = source.get("registry", "")
    if not registry:
        yield required(f"{place}.registry", _PAIRS)
    elif len(source.get("tenant", "")) >= 65:
        yield required(f"{place}.tenant", "must be a UUID and may not exceed a length of 64 characters")
    else:
        for pair in registry.split(","):
            if not re.fullmatch(r"(?:[^:\[\]]*|\[[^\[\]]*\]):[^:\[\]]*", pair):
                yield invalid(f"{place}.registry", registry, _PAIRS)
    yield from needs(source, place, "volume")


def cinder(source: Object, place: str) -> Iterator[Cause]:
    """Return the validation errors of a `cinder` volume source of a pod."""
    yield from needs(source, place, "volumeID")
    if source.get("secretRef") is not None:
        yield from needs(source["secretRef"], f"{place}.secretRef", "name")


def flex(source: Object, place: str) -> Iterator[Cause]:
    """Return the validation errors of a `flexVolume` volume source."""
    yield from needs(source, place, "driver")
    for key in source.get("options") or ():
        if f".{key.partition('/')[0].lower()}".endswith((".kubernetes.io", ".k8s.io")):
            yield invalid(f"{place}.options[{key}]", key, "kubernetes.io and k8s.io namespaces are reserved")


def azure_disk(source: Object, place: str) -> Iterator[Cause]:
    """Return the validation errors of an `azureDisk` volume source."""
    kind, uri = source.get("kind"), source.get("diskURI", "")
    yield from needs(source, place, "diskName", "diskURI")
    if (mode := source.get("cachingMode")) is not None:
        yield from one_of(mode, ("None", "ReadOnly", "ReadWrite"), f"{place}.cachingMode")
    if kind is None:
        return
    yield from one_of(kind, ("Dedicated", "Managed", "Shared"), f"{place}.kind")
    if kind == "Managed" and not uri.startswith("/subscriptions/"):
        yield not_supported(f"{place}.diskURI", uri, (_MANAGED,))
    if kind != "Managed" and not uri.startswith("https://"):
        yield not_supported(f"{place}.diskURI", uri, (_BLOB,))


def storage_os(*of_secret: str) -> Check:
    """Return the rule for a `storageos` volume source, whose secret reference, if it has one, needs the fields
    `of_secret`.
    """

    def check(source: Object, place: str) -> Iterator[Cause]:
        if not (name := source.get("volumeName", "")):
            yield required(f"{place}.volumeName")
        else:
            yield from label(name, f"{place}.volumeName")
        if namespace := source.get("volumeNamespace"):
            yield from each(label_errors, namespace, f"{place}.volumeNamespace")
        if source.get("secretRef") is not None:
            yield from needs(source["secretRef"], f"{place}.secretRef", *of_secret)

    return check


def driver_name(name: str, field: str) -> Iterator[Cause]:
    """Return the validation errors of a CSI driver's name."""
    if not name:
        yield required(field)
        return
    if len(name) > 63:
        yield too_long(field, 63)
    for text in subdomain_errors(name.lower()):
        yield invalid(field, name, text)


def csi(source: Object, place: str) -> Iterator[Cause]:
    """Return the validation errors of a pod's inline `csi` volume source."""
    yield from driver_name(source.get("driver", ""), f"{place}.driver")
    if (secret := source.get("nodePublishSecretRef")) is not None:
        if name := secret.get("name"):
            yield from subdomain(name, f"{place}.name")
        else:
            yield required(f"{place}.nodePublishSecretRef.name")

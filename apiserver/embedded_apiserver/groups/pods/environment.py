# SPDX-License-Identifier: Apache-2.0
"""Rules of environment variables and of the ports and mounts of a container."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from embedded_apiserver.causes import duplicate, forbidden, invalid, not_found, required
from embedded_apiserver.checks.basic import PROTOCOLS, given_one_of, label, one_of, port_number, subdomain
from embedded_apiserver.checks.paths import descending, no_backsteps
from embedded_apiserver.groups.pods.probes import port_name_errors
from embedded_apiserver.groups.pods.projections import OF_VARIABLES, field_reference, key_reference, resource_reference
from embedded_apiserver.objects import Object
from embedded_apiserver.status import Cause

_NAME_TEXT = "a valid environment variable name must consist only of printable ASCII characters other than '='"
_ONE_OF = (
    "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`",
    "may not be specified when `value` is not empty",
    "may not have more than one field specified at a time",
)


def ports(given: Sequence[Object], place: str) -> Iterator[Cause]:
    """Return the validation errors of the ports of a container."""
    seen = set()
    for index, port in enumerate(given):
        field = f"{place}[{index}]"
        if name := port.get("name"):
            if problems := port_name_errors(name):
                yield from (invalid(f"{field}.name", name, text) for text in problems)
            elif name in seen:
                yield duplicate(f"{field}.name", name)
            else:
                seen.add(name)
        if not (number := port.get("containerPort", 0)):
            yield required(f"{field}.containerPort")
        else:
            yield from port_number(number, f"{field}.containerPort")
        if number := port.get("hostPort", 0):
            yield from port_number(number, f"{field}.hostPort")
        yield from given_one_of(port.get("protocol"), PROTOCOLS, f"{field}.protocol")


def _name_causes(name: str, field: str) -> list[Cause]:
    is_valid = name.isascii() and name.isprintable() and "=" not in name
    return [] if is_valid else [invalid(field, name, _NAME_TEXT)]


def variables(given: Sequence[Object], place: str) -> Iterator[Cause]:
    """Return the validation errors of a container's environment variables."""
    for index, one in enumerate(given):
        field = f"{place}[{index}]"
        if name := one.get("name"):
            yield from _name_causes(name, f"{field}.name")
        else:
            yield required(f"{field}.name")
        if (source := one.get("valueFrom")) is not None:
            yield from _source_causes(source, f"{field}.valueFrom", has_value=bool(one.get("value")))


def _source_causes(source: Object, place: str, *, has_value: bool) -> Iterator[Cause]:
    if (reference := source.get("fieldRef")) is not None:
        yield from field_reference(reference, OF_VARIABLES, f"{place}.fieldRef")
    if (reference := source.get("resourceFieldRef")) is not None:
        yield from resource_reference(reference, f"{place}.resourceFieldRef")
    for name in ("configMapKeyRef", "secretKeyRef"):
        if (reference := source.get(name)) is not None:
            yield from key_reference(reference, f"{place}.{name}")
    if (reference := source.get("fileKeyRef")) is not None:
        yield from _file_key(reference, f"{place}.fileKeyRef")
    count = sum(value is not None for value in source.values())
    if not count:
        yield invalid(place, "", _ONE_OF[0])
    elif has_value:
        yield invalid(place, "", _ONE_OF[1])
    elif count > 1:
        yield invalid(place, "", _ONE_OF[2])


def _file_key(reference: Object, place: str) -> Iterator[Cause]:
    if key := reference.get("key"):
        yield from _name_causes(key, f"{place}.key")
    else:
        yield required(f"{place}.key")
    if volume := reference.get("volumeName"):
        yield from label(volume, f"{place}.volumeName")
    else:
        yield required(f"{place}.volumeName")
    if path := reference.get("path"):
        yield from no_backsteps(path, f"{place}.path")
    else:
        yield required(f"{place}.path")


def variable_sources(given: Sequence[Object], place: str) -> Iterator[Cause]:
    """Return the validation errors of `envFrom`: objects whose keys become environment variables."""
    for index, one in enumerate(given):
        field = f"{place}[{index}]"
        if prefix := one.get("prefix"):
            yield from _name_causes(prefix, f"{field}.prefix")
        count = 0
        for name in ("configMapRef", "secretRef"):
            if (reference := one.get(name)) is None:
                continue
            count += 1
            if of := reference.get("name"):
                yield from subdomain(of.removesuffix("-") or of, f"{field}.{name}.name")
            else:
                yield required(f"{field}.{name}.name")
        if not count:
            yield invalid(place, "", "must specify one of: `configMapRef` or `secretRef`")
        elif count > 1:
            yield invalid(place, "", _ONE_OF[2])


def mounts(container: Object, volumes: Mapping[str, Object], place: str) -> Iterator[Cause]:
    """Return the validation errors of the volume mounts of a container; `place` is the path of the container."""
    devices = {one.get("name", ""): one.get("devicePath", "") for one in container.get("volumeDevices") or ()}
    paths_of_devices, seen, whole = set(devices.values()), set(), f"{place}.volumeMounts"
    for index, mount in enumerate(container.get("volumeMounts") or ()):
        field, name, path = f"{whole}[{index}]", mount.get("name", ""), mount.get("mountPath", "")
        if not name:
            yield required(f"{field}.name")
        if name not in volumes:
            yield not_found(f"{field}.name", name)
        if not path:
            yield required(f"{field}.mountPath")
        if path in seen:
            yield invalid(f"{field}.mountPath", path, "must be unique")
        seen.add(path)
        if name in devices:
            yield invalid(f"{field}.name", name, "must not already exist in volumeDevices")
        if path in paths_of_devices:
            yield invalid(f"{field}.mountPath", path, "must not already exist as a path in volumeDevices")
        if len(mount) > 2:
            yield from _mount_options(mount, container, field, whole)


def _mount_options(mount: Object, container: Object, field: str, whole: str) -> Iterator[Cause]:
    path, expression = mount.get("subPath", ""), mount.get("subPathExpr", "")
    if path:
        yield from descending(path, f"{whole}.subPath")
    if expression:
        if path:
            text = "subPathExpr and subPath are mutually exclusive"
            yield invalid(f"{field}.subPathExpr", expression, text)
        yield from descending(expression, f"{whole}.subPathExpr")
    propagation, recursive = mount.get("mountPropagation"), mount.get("recursiveReadOnly")
    if propagation is not None:
        yield from one_of(propagation, ("Bidirectional", "HostToContainer", "None"), f"{whole}.mountPropagation")
        is_privileged = (container.get("securityContext") or {}).get("privileged")
        if propagation == "Bidirectional" and not is_privileged:
            text = "Bidirectional mount propagation is available only to privileged containers"
            yield forbidden(f"{whole}.mountPropagation", text)
    if recursive in ("Enabled", "IfPossible"):
        if not mount.get("readOnly"):
            yield forbidden(f"{whole}.recursiveReadOnly", "may only be specified when readOnly is true")
        if propagation not in (None, "None"):
            text = "may only be specified when mountPropagation is None or not specified"
            yield forbidden(f"{whole}.recursiveReadOnly", text)
    elif recursive is not None:
        yield from one_of(recursive, ("Disabled", "Enabled", "IfPossible"), f"{whole}.recursiveReadOnly")


def devices(container: Object, volumes: Mapping[str, Object], place: str) -> Iterator[Cause]:
    """Return the validation errors of the block devices of a container; `place` is the path of the container."""
    mounted = {one.get("name", ""): one.get("mountPath", "") for one in container.get("volumeMounts") or ()}
    paths_of_mounts = set(mounted.values())
    paths: set[str] = set()
    names: set[str] = set()
    for index, device in enumerate(container.get("volumeDevices") or ()):
        field, name, path = f"{place}.volumeDevices[{index}]", device.get("name", ""), device.get("devicePath", "")
        volume = volumes.get(name)
        if not name:
            yield required(f"{field}.name")
        if name in names:
            yield invalid(f"{field}.name", name, "must be unique")
        if volume is None:
            yield not_found(f"{field}.name", name)
        elif volume.get("persistentVolumeClaim") is None and volume.get("ephemeral") is None:
            text = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
            yield invalid(f"{field}.name", name, text)
        if not path:
            yield required(f"{field}.devicePath")
        if path in paths:
            yield invalid(f"{field}.devicePath", path, "must be unique")
        if no_backsteps(path, ""):
            yield invalid(f"{field}.devicePath", path, "can not contain backsteps ('..')")
        else:
            paths.add(path)
        if name in mounted:
            yield invalid(f"{field}.name", name, "must not already exist in volumeMounts")
        if path in paths_of_mounts:
            yield invalid(f"{field}.devicePath", path, "must not already exist as a path in volumeMounts")
        names |= {name} if name else set()

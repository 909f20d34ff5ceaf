# SPDX-License-Identifier: Apache-2.0
"""Rules of the devices of a slice: their attributes, their capacities and their taints."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from apimachinery.names import label_value_errors, qualified_name_errors
from embedded_apiserver.causes import forbidden, invalid, not_supported, required, too_long
from embedded_apiserver.checks.basic import each
from embedded_apiserver.groups.devices.device_names import device_name, each_of, qualified_name
from embedded_apiserver.objects import Object, part
from embedded_apiserver.status import Cause

_MOST_DEVICES, _MOST_ADVANCED, _MOST_TAINTS, _MOST_NAMED, _LONGEST_VALUE = 128, 64, 16, 32, 64
_MOST_CONDITIONS = 4
_CONDITIONS = ("bindingConditions", "bindingFailureConditions")
EFFECTS = ("NoExecute", "NoSchedule", "None")
_VALUES = ("bool", "int", "string", "version")
_LISTS = ("ints", "bools", "strings", "versions")  # which are only there behind a feature gate
_IN_GO = {
    **{f"{name.capitalize()}Value": name for name in ("int", "bool", "string", "version")},
    **{f"{name[:-1].capitalize()}Values": name for name in _LISTS},
}
"""The fields of an attribute in the order and by the names of a real API server, which shows them in a refusal."""
_ONE_VALUE = "exactly one value must be specified"
_NO_VERSION = "must be a string compatible with semver.org spec 2.0.0"
_NUMBER = r"(0|[1-9]\d*)"
_PART = r"(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)"
_VERSION = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(-{_PART}(\.{_PART})*)?(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?", re.ASCII
)


def devices_of_slice(spec: Object, before: Object | None) -> Iterator[Cause]:
    """Return the validation errors of the devices in a ResourceSlice's spec; the taints of a device are not checked
    again if they are those that it has in `before`.
    """
    devices = spec.get("devices") or ()
    olds = {one.get("name", ""): one for one in (before or {}).get("devices") or ()}
    is_advanced = any(one.get("taints") or one.get("consumesCounters") for one in devices)
    most = _MOST_ADVANCED if is_advanced else _MOST_DEVICES
    yield from each_of(devices, most, partial(_device, olds), "spec.devices", "name")


def _device(olds: dict[str, Object], device: Object, place: str) -> Iterator[Cause]:
    yield from device_name(device.get("name", ""), f"{place}.name")
    attributes, capacity = part(device, "attributes"), part(device, "capacity")
    if (count := len(attributes) + len(capacity)) > _MOST_NAMED:
        yield invalid(place, count, f"the total number of attributes and capacities must not exceed {_MOST_NAMED}")
    for name, value in attributes.items():
        yield from qualified_name(name, f"{place}.attributes")
        yield from _attribute(value or {}, f"{place}.attributes[{name}]")
    for name, value in capacity.items():
        yield from qualified_name(name, f"{place}.capacity")
        if not device.get("allowMultipleAllocations") and (value or {}).get("requestPolicy") is not None:
            yield forbidden(f"{place}.capacity[{name}].requestPolicy", "allowMultipleAllocations must be true")
    taints, old = device.get("taints") or (), olds.get(device.get("name", ""))
    if old is None or (old.get("taints") or ()) != taints:
        yield from each_of(taints, _MOST_TAINTS, _taint, f"{place}.taints")
    for index, one in enumerate(device.get("consumesCounters") or ()):
        yield from _consumption(one, f"{place}.consumesCounters[{index}]")
    yield from _binding(device, place)


def _consumption(consumed: Object, place: str) -> Iterator[Cause]:
    if name := consumed.get("counterSet"):
        yield from device_name(name, f"{place}.counterSet")
    else:
        yield required(f"{place}.counterSet")
    if not consumed.get("counters"):
        yield required(f"{place}.counters")
    for name in consumed.get("counters") or ():
        yield from device_name(name, f"{place}.counters")


def _binding(device: Object, place: str) -> Iterator[Cause]:
    """Return the validation errors of the conditions under which a device is bound: both kinds, or none."""
    wanted, failed = (device.get(name) or () for name in _CONDITIONS)
    for name, given in zip(_CONDITIONS, (wanted, failed), strict=True):
        yield from each_of(given, _MOST_CONDITIONS, partial(each, qualified_name_errors), f"{place}.{name}", "")
        for index, one in enumerate(given if name == _CONDITIONS[1] else ()):
            if one in wanted:
                text = "bindingFailureConditions must not overlap with bindingConditions"
                yield invalid(f"{place}.{name}[{index}]", one, text)
    first, second = _CONDITIONS
    for name, given, other, others in ((first, wanted, second, failed), (second, failed, first, wanted)):
        if others and not given:
            yield invalid(f"{place}.{name}", None, f"{name} are required to use {other}")


def _attribute(value: Object, place: str) -> Iterator[Cause]:
    if (version := value.get("version")) is not None and not _VERSION.fullmatch(version):
        yield invalid(f"{place}.version", version, _NO_VERSION)
    for name in ("string", "version"):
        if len((value.get(name) or "").encode()) > _LONGEST_VALUE:
            yield too_long(f"{place}.{name}", _LONGEST_VALUE)
    given = [name for name in _VALUES if value.get(name) is not None]
    if not given:
        yield invalid(place, "", _ONE_VALUE)
    elif len(given) > 1:
        yield invalid(place, {field: value.get(name) for field, name in _IN_GO.items()}, _ONE_VALUE)


def _taint(taint: Object, place: str) -> Iterator[Cause]:
    yield from each(qualified_name_errors, taint.get("key", ""), f"{place}.key")
    if value := taint.get("value"):
        yield from each(label_value_errors, value, f"{place}.value")
    if not (effect := taint.get("effect", "")):
        yield required(f"{place}.effect")
    elif effect not in EFFECTS:
        yield not_supported(f"{place}.effect", effect, EFFECTS)

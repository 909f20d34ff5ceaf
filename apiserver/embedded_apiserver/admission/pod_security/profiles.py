# SPDX-License-Identifier: Apache-2.0
"""The checks of the profiles of AppArmor, and of the options of SELinux."""

from __future__ import annotations

from embedded_apiserver.admission.pod_security.violations import (
    CheckPod,
    Violation,
    contexts,
    in_quotes,
    named,
    setters,
    several,
)
from embedded_apiserver.groups.pods.profile_annotations import APP_ARMOR_OF
from embedded_apiserver.objects import Object, part
from embedded_apiserver.quoting import quoted

_ARMORED = ("RuntimeDefault", "Localhost")


def app_armor(metadata: Object, spec: Object) -> Violation | None:
    """Return a violation if a field or annotation has an AppArmor profile other than `RuntimeDefault` and
    `Localhost`.
    """
    who = setters(spec, _is_unarmored)
    values = sorted({_armor(one) or "" for one in contexts(spec) if _is_unarmored(one)})
    annotations = part(metadata, "annotations").items()
    bad = sorted([f"{key}={quoted(value)}" for key, value in annotations if _is_bad_annotation(key, value)])
    if bad:
        who, values = [*who, several("annotation", bad)], [*values, *bad]
    if not who:
        return None
    must = f"must not set AppArmor profile type to {in_quotes(values)}"
    return Violation(several("forbidden AppArmor profile", values), f"{' and '.join(who)} {must}")


def _armor(security: Object) -> str | None:
    profile = security.get("appArmorProfile")
    return None if profile is None else profile.get("type", "")


def _is_unarmored(security: Object) -> bool:
    return (kind := _armor(security)) is not None and kind not in _ARMORED


def _is_bad_annotation(key: str, value: str) -> bool:
    is_allowed = value in ("", "runtime/default") or value.startswith("localhost/")
    return key.startswith(APP_ARMOR_OF) and not is_allowed


def se_linux(*allowed: str) -> CheckPod:
    """Return a check for SELinux options: it finds a violation if the pod sets `user`, `role`, or a type not in
    `allowed`.
    """

    def is_bad_type(options: Object) -> bool:
        return options.get("type", "") not in ("", *allowed)

    def is_bad(security: Object) -> bool:
        options = part(security, "seLinuxOptions")
        return bool(options.get("user") or options.get("role") or is_bad_type(options))

    def check(_: Object, spec: Object) -> Violation | None:
        if not (who := setters(spec, is_bad)):
            return None
        options = [part(one, "seLinuxOptions") for one in contexts(spec)]
        types = sorted({one["type"] for one in options if is_bad_type(one)})
        faults = [named("type", types)] if types else []
        faults += [f"{name} may not be set" for name in ("user", "role") if any(one.get(name) for one in options)]
        detail = f"{' and '.join(who)} set forbidden securityContext.seLinuxOptions: {'; '.join(faults)}"
        return Violation("seLinuxOptions", detail)

    return check

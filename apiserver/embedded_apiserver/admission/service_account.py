# SPDX-License-Identifier: Apache-2.0
"""`ServiceAccount`: each pod runs under an account, whose token is mounted into its containers.

The step is off by default, because the account has to exist: on a cluster a controller creates `default` in each
namespace.
"""

from __future__ import annotations

from typing import Any

from embedded_apiserver.admission.step import Attributes, Operation, Step
from embedded_apiserver.groups.core.kinds import SERVICE_ACCOUNT
from embedded_apiserver.groups.pods.kinds import POD
from embedded_apiserver.objects import Object, part
from embedded_apiserver.storage.stored import key_of

_DEFAULT = "default"
_MOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
_MIRROR = "kubernetes.io/config.mirror"
_VOLUME = "kube-api-access"
_LASTS = 3607  # seconds; more than an hour, so that a real server can tell these tokens from others
_MODE = 0o644


class ServiceAccount(Step):
    """Sets the service account `default` in pods that name none, and mounts a token of the account, which must
    exist.
    """

    name = "ServiceAccount"
    kinds = (POD,)
    operations = (Operation.CREATE,)

    def admit(self, attributes: Attributes) -> Object:
        obj, spec = attributes.obj, part(attributes.obj, "spec")
        if _MIRROR in (obj.get("metadata", {}).get("annotations") or {}):
            return obj
        name = spec.get("serviceAccountName") or _DEFAULT
        found = self._storage.get(SERVICE_ACCOUNT.resource, key_of(attributes.namespace, name))
        if found is None:
            where = f"{attributes.namespace}/{name}"
            raise attributes.refused(f'error looking up service account {where}: serviceaccount "{name}" not found')
        account = found.decode()
        made = {**spec, "serviceAccountName": name, "serviceAccount": name}
        if "imagePullSecrets" in account and not spec.get("imagePullSecrets"):
            made["imagePullSecrets"] = account["imagePullSecrets"]
        mounts = spec.get("automountServiceAccountToken", account.get("automountServiceAccountToken", True))
        return {**obj, "spec": _with_token(made) if mounts else made}


def _with_token(spec: dict[str, Any]) -> dict[str, Any]:
    """Return the spec of a pod with a volume of the account's token, mounted where nothing else is."""
    made, is_mounted = dict(spec), False
    for group in ("initContainers", "containers"):
        if group not in spec:
            continue
        made[group] = []
        for container in spec[group]:
            mounts = container.get("volumeMounts") or []
            if not any(mount.get("mountPath") == _MOUNT for mount in mounts):
                mount = {"name": _VOLUME, "readOnly": True, "mountPath": _MOUNT}
                container, is_mounted = {**container, "volumeMounts": [*mounts, mount]}, True
            made[group].append(container)
    if is_mounted:
        made["volumes"] = [*(spec.get("volumes") or ()), _volume()]
    return made


def _volume() -> dict[str, Any]:
    root = {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}
    namespace = {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
    sources = [
        {"serviceAccountToken": {"expirationSeconds": _LASTS, "path": "token"}},
        {"configMap": root},
        {"downwardAPI": {"items": [namespace]}},
    ]
    return {"name": _VOLUME, "projected": {"sources": sources, "defaultMode": _MODE}}

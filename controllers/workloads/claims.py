# SPDX-License-Identifier: Apache-2.0
"""The persistent volume claims of a StatefulSet's pods, and a binder that gives each claim a volume."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterable, Sequence
from typing import Any

import attrs
import msgspec

from apimachinery.errors import AlreadyExists, NotFound
from apimachinery.objects import ObjectKey, ObjectMeta
from controller_runtime.api.builtin_resources import PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, STATEFUL_SETS
from controller_runtime.api.codec import decoder_for
from controller_runtime.api.references import set_controller
from controller_runtime.api.resources import PODS
from controller_runtime.cache.lister import Lister
from controller_runtime.cache.store import Delta
from controller_runtime.client.client import Client
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.manager.manager import Manager
from controllers.workloads.pods import Pod
from controllers.workloads.stateful_set_plan import StatefulSet, ordinal_of

BINDER = "persistentvolume-binder"
_RETAIN = "Retain"
_PROTECTION = "kubernetes.io/pv-protection"
_HOLLOW = "/hollow/"
"""The folder of the volumes that were made here."""


class Claim(msgspec.Struct, gc=False):
    """A persistent volume claim."""

    metadata: ObjectMeta
    spec: dict[str, Any] = msgspec.field(default_factory=dict)
    status: dict[str, Any] = msgspec.field(default_factory=dict)


class VolumeSpec(msgspec.Struct, gc=False, rename="camel"):
    """The fields of a volume's spec that the binder reads."""

    claim_ref: dict[str, str] = msgspec.field(default_factory=dict)
    host_path: dict[str, str] = msgspec.field(default_factory=dict)
    reclaim_policy: str = msgspec.field(default="", name="persistentVolumeReclaimPolicy")


class Volume(msgspec.Struct, gc=False):
    """A persistent volume."""

    metadata: ObjectMeta
    spec: VolumeSpec = msgspec.field(default_factory=VolumeSpec)


_read = decoder_for(Volume, PERSISTENT_VOLUMES)


def claim_name(stateful_set: StatefulSet, template: dict[str, Any], ordinal: int) -> str:
    """Return the name of the volume claim that a template gives to the pod with this ordinal."""
    return f"{template['metadata']['name']}-{stateful_set.metadata.name}-{ordinal}"


def volumes_for(stateful_set: StatefulSet, ordinal: int) -> list[dict[str, Any]]:
    """Return the volumes of the pod with this ordinal that refer to its volume claims."""
    return [
        {
            "name": template["metadata"]["name"],
            "persistentVolumeClaim": {"claimName": claim_name(stateful_set, template, ordinal)},
        }
        for template in stateful_set.spec.volume_claim_templates or ()
    ]


class Claims:
    """Creates the claims of a StatefulSet's pods, and sets their owners, which decide when they are deleted.

    Args:
        manager: The manager, whose client and cache of claims are used.

    Threads: any.
    """

    def __init__(self, manager: Manager) -> None:
        self._client = manager.client
        self._lister = manager.lister(PERSISTENT_VOLUME_CLAIMS, Claim)

    def create_missing(self, stateful_set: StatefulSet, ordinal: int) -> Iterable[str]:
        """Create the volume claims that the pod with this ordinal lacks, and return the names of the created ones."""
        made = []
        for template in stateful_set.spec.volume_claim_templates or ():
            name = claim_name(stateful_set, template, ordinal)
            if self._lister.get(ObjectKey(name, stateful_set.metadata.namespace)) is not None:
                continue
            metadata = copy.deepcopy(template["metadata"])
            labels = {**(metadata.get("labels") or {}), **(stateful_set.spec.selector.get("matchLabels") or {})}
            owners = _owners(stateful_set, None)
            body = {
                "metadata": {
                    **metadata,
                    "name": name,
                    "namespace": stateful_set.metadata.namespace,
                    "labels": labels,
                    **({"ownerReferences": owners} if owners else {}),
                },
                "spec": copy.deepcopy(template.get("spec") or {}),
            }
            with contextlib.suppress(AlreadyExists):
                self._client.create(PERSISTENT_VOLUME_CLAIMS, body)
                made.append(name)
        return made

    def keep_owners(self, stateful_set: StatefulSet, pods: Sequence[Pod]) -> None:
        """Set the owners of each claim as the retention policy requires.

        The owner is the StatefulSet if claims are deleted with it; or the pod, if claims are deleted on scale-down and
        this pod will be removed.
        """
        for pod in pods:
            ordinal = ordinal_of(stateful_set, pod)
            if ordinal is None:
                continue
            owners = _owners(stateful_set, None if ordinal in stateful_set.ordinals else pod)
            for template in stateful_set.spec.volume_claim_templates or ():
                key = ObjectKey(claim_name(stateful_set, template, ordinal), stateful_set.metadata.namespace)
                self._set_owners(stateful_set, key, pod, owners)

    def _set_owners(
        self, stateful_set: StatefulSet, key: ObjectKey, pod: Pod, owners: Sequence[dict[str, Any]]
    ) -> None:
        claim = self._lister.get(key)
        if claim is None:
            return
        ours = {stateful_set.metadata.uid, pod.metadata.uid}
        present = claim.metadata.owner_references or []
        # References to earlier pods of the same name go: those pods no longer own the claim.
        others = [each for each in present if each.uid not in ours and (each.kind, each.name) != ("Pod", pod.name)]
        if {each.uid for each in present} == {*(each.uid for each in others), *(each["uid"] for each in owners)}:
            return
        references = [*msgspec.to_builtins(others), *owners]
        patch = {"metadata": {"uid": claim.metadata.uid, "ownerReferences": references or None}}
        with contextlib.suppress(NotFound):
            self._client.patch(PERSISTENT_VOLUME_CLAIMS, key, patch)


def _owners(stateful_set: StatefulSet, condemned: Pod | None) -> list[dict[str, Any]]:
    """Return the owner of a claim: the pod that goes, or the StatefulSet, if the claim is to go with it."""
    policy = stateful_set.spec.persistent_volume_claim_retention_policy
    body: dict[str, Any] = {"metadata": {"namespace": stateful_set.metadata.namespace}}
    if condemned is not None and policy.when_scaled != _RETAIN:
        set_controller(body, condemned, PODS)
    elif policy.when_deleted != _RETAIN:
        set_controller(body, stateful_set, STATEFUL_SETS)
    owners: list[dict[str, Any]] = body["metadata"].get("ownerReferences", [])
    return owners


@attrs.frozen
class ClaimBinder(Reconciler):
    """Binds each claim to a separate, empty volume made for it, so that the claim becomes `Bound`."""

    claims: Lister[Claim]
    volumes: Lister[Volume]
    client: Client

    def reconcile(self, request: Request) -> Result:
        """Create the volume of a volume claim and bind the two; delete the volume of a claim that is gone."""
        claim = self.claims.get(request)
        self._delete_volumes(request, "" if claim is None else claim.metadata.uid)
        if claim is None or claim.metadata.deletion_timestamp is not None or claim.status.get("phase") == "Bound":
            return Result()
        name = claim.spec.get("volumeName") or f"pvc-{claim.metadata.uid}"
        amount = {"storage": ((claim.spec.get("resources") or {}).get("requests") or {}).get("storage", "1Gi")}
        modes = claim.spec.get("accessModes") or ["ReadWriteOnce"]
        reference = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "name": request.name,
            "namespace": request.namespace,
            "uid": claim.metadata.uid,
        }
        volume = {
            "metadata": {"name": name},
            "spec": {
                "capacity": amount,
                "accessModes": modes,
                "claimRef": reference,
                "persistentVolumeReclaimPolicy": "Delete",
                "hostPath": {"path": f"{_HOLLOW}{name}"},
                **({"storageClassName": each} if (each := claim.spec.get("storageClassName")) else {}),
            },
        }
        with contextlib.suppress(AlreadyExists):
            self.client.create(PERSISTENT_VOLUMES, volume)
        own = {"uid": claim.metadata.uid}
        with contextlib.suppress(NotFound):
            self.client.patch(PERSISTENT_VOLUMES, ObjectKey(name), {"status": {"phase": "Bound"}}, subresource="status")
            self.client.patch(PERSISTENT_VOLUME_CLAIMS, request, {"metadata": own, "spec": {"volumeName": name}})
            status = {"phase": "Bound", "capacity": amount, "accessModes": modes}
            self.client.patch(
                PERSISTENT_VOLUME_CLAIMS, request, {"metadata": own, "status": status}, subresource="status"
            )
        return Result()

    def _delete_volumes(self, request: Request, present: str) -> None:
        """Delete the volumes that were made for earlier claims of this name, as they ask for."""
        for volume in self.volumes.list():
            is_earlier = _claim_of(volume) == request and volume.spec.claim_ref["uid"] != present
            if is_earlier and volume.spec.reclaim_policy == "Delete" and self._is_gone(request, volume):
                key, uid = ObjectKey(volume.metadata.name), volume.metadata.uid
                finalizers = [each for each in volume.metadata.finalizers or () if each != _PROTECTION]
                with contextlib.suppress(NotFound):
                    self.client.delete(PERSISTENT_VOLUMES, key, uid=uid)
                    self.client.patch(
                        PERSISTENT_VOLUMES, key, {"metadata": {"uid": uid, "finalizers": finalizers or None}}
                    )

    def _is_gone(self, claim: ObjectKey, volume: Volume) -> bool:
        """Ask the server: the cache of claims may be older than that of volumes."""
        try:
            return self.client.get(PERSISTENT_VOLUME_CLAIMS, claim, Claim).metadata.uid != volume.spec.claim_ref["uid"]
        except NotFound:
            return True


def _claim_of(volume: Volume) -> ObjectKey | None:
    """Return the claim that a volume was made for here; None for a volume of another maker."""
    reference = volume.spec.claim_ref
    is_ours = volume.spec.host_path.get("path", "").startswith(_HOLLOW)
    return ObjectKey(reference["name"], reference["namespace"]) if is_ours and reference else None


def _claims_of(delta: Delta) -> Iterable[ObjectKey]:
    """Return the claim of a new volume: it may be gone by now."""
    volume = delta.new and _read(delta.new.raw)
    claim = _claim_of(volume) if volume else None
    return [claim] if claim is not None else []


def claim_binder(manager: Manager) -> Controller:
    """Return the controller that gives each claim a volume, ready to be added to `manager`."""
    listers = manager.lister(PERSISTENT_VOLUME_CLAIMS, Claim), manager.lister(PERSISTENT_VOLUMES, Volume)
    controller = Controller(BINDER, ClaimBinder(*listers, manager.client)).watch(PERSISTENT_VOLUME_CLAIMS)
    return controller.watch(PERSISTENT_VOLUMES, map=_claims_of)

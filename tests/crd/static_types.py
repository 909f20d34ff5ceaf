# SPDX-License-Identifier: Apache-2.0
"""Declared classes as a type checker sees them. `tox -e types` checks this module; nothing runs it."""

from __future__ import annotations

from typing import Any, assert_type

from kubernetes.client import V1Node

from controller_runtime import (
    Cached,
    Client,
    Controller,
    Finalizers,
    Lister,
    Manager,
    ObjectKey,
    ObjectMeta,
    Reconciler,
    enqueue_owner,
    set_controller,
)
from controller_runtime.crd import CustomResource, Struct, changes, custom_resource, resource_of
from controller_runtime.resources import NODES, Resource


class HutSpec(Struct):
    beds: int
    heating: str = "wood"


@custom_resource("example.com/v1")
class Hut(CustomResource):
    spec: HutSpec


class View(Struct):
    spec: HutSpec


KEY = ObjectKey("hut", "default")


def reads(client: Client, manager: Manager) -> None:
    assert_type(client.get(Hut, KEY), Hut)
    assert_type(client.get(NODES, KEY), V1Node)
    assert_type(client.get(Hut, KEY, dict), dict[Any, Any])
    assert_type(client.get(Hut, KEY, View), View)
    assert_type(client.list(Hut), list[Hut])
    assert_type(manager.lister(Hut), Lister[Hut])
    assert_type(manager.lister(Hut, View), Lister[View])
    assert_type(manager.lister(Hut).get(KEY), Hut | None)
    assert_type(resource_of(Hut), Resource[Hut])


def writes(client: Client, hut: Hut) -> None:
    assert_type(client.create(hut), Cached)
    assert_type(client.create(Hut, {"spec": {"beds": 2}}, "default"), Cached)
    assert_type(client.apply(hut, field_manager="me"), Cached)
    assert_type(client.patch(Hut, KEY, changes(hut, hut)), Cached)
    client.delete(Hut, KEY)
    Hut(HutSpec(beds=2), metadata=ObjectMeta(name="hut"))
    Hut(HutSpec(beds="2"), metadata=ObjectMeta())  # type: ignore[arg-type]
    Hut(HutSpec(bets=2), metadata=ObjectMeta())  # type: ignore[call-arg]
    hut.spec.bets  # type: ignore[attr-defined]  # noqa: B018


def watches(manager: Manager, reconciler: Reconciler, hut: Hut) -> None:
    def finalize(gone: Hut) -> None:
        assert_type(gone.spec.heating, str)

    Controller("huts", reconciler).watch(Hut).watch(NODES, map=enqueue_owner(Hut)).follow(Hut, lambda delta: ())
    set_controller({}, hut)
    Finalizers[Hut](manager.client, Hut).register("example.com/hut", finalize)
    manager.recorder("huts").event(hut, "Normal", "Built", "the hut is built")

# SPDX-License-Identifier: Apache-2.0
"""A story in a file: the objects that exist before the operator starts, and the actions of the user after that."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import yaml

from apimachinery.errors import ControllerRuntimeError, NotFound, UsageError
from apimachinery.objects import ObjectKey
from controller_runtime.api.resources import Resource
from controller_runtime.client.client import Client
from controller_runtime.testing.perturbation.others.outsides import Service
from controller_runtime.testing.perturbation.others.properties import WORDS, Claim
from controller_runtime.testing.perturbation.others.properties import read as read_claims
from controller_runtime.testing.perturbation.others.until import Until
from controller_runtime.testing.perturbation.unseen import Order

MANAGER = "story"
"""The field manager of the user."""
_EXAMPLE = "such as `- apply: {…}`, `- file: cabin.yaml`, `- patch: {…}`, `- delete: {…}` or `- wait: 5`"
_TRIES, _PAUSE = 10, 0.5  # discovery is read again every two seconds
_FIRST = (
    "CustomResourceDefinition", "Namespace", "ServiceAccount",
    "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding",
)  # fmt: skip
"""The kinds that are created before the operator starts, if a story consists of manifests."""
_FIELDS = ("before", "outsides", "ready", "steps", *WORDS)
_ACTS = ("apply", "file", "patch", "delete", "wait")


class ActFailed(UsageError):
    """The server refused an action of the user."""


@attrs.frozen
class Ready:
    """The condition by which an operator counts as started.

    Attributes:
        log: A text that the operator prints when it is ready; empty for none.
        until: A condition of an object; None for none.
    """

    log: str
    until: Until | None

    @classmethod
    def read(cls, where: str, given: Any) -> Ready:
        """Read the condition from the file of the user's actions.

        Args:
            where: The place in the file, for messages.
            given: The decoded YAML.

        Raises:
            UsageError: `given` is neither a text of the log nor a condition.
        """
        if isinstance(given, dict) and set(given) == {"log"} and isinstance(given["log"], str) and given["log"]:
            return cls(given["log"], None)
        if isinstance(given, dict) and set(given) == {"until"}:
            return cls("", Until.read(where, given["until"]))
        raise UsageError(f"{where}: it takes `log: TEXT`, which the operator prints, or `until: {{…}}`")

    def __str__(self) -> str:
        return f"`{self.log}` in its log" if self.until is None else str(self.until)


@attrs.frozen
class Act:
    """One action of the user.

    Attributes:
        verb: `apply`, `patch`, `delete` or `wait`.
        body: The object; for a patch its kind, its name and the patch; for a deletion its kind and name; for a wait
            `seconds`.
        until: The condition to wait for afterwards; None to wait only until nothing changes.
        is_drawn: True if the action is one of a sequence, whose states are drawn from a schema alone, so that the
            server may refuse it.
        is_passing: True if operator and cluster need not come to rest afterwards.
    """

    verb: str
    body: Mapping[str, Any]
    until: Until | None = None
    is_drawn: bool = False
    is_passing: bool = False

    def __str__(self) -> str:
        if self.verb == "wait":
            return f"wait {self.body['seconds']:g} s"
        metadata = self.body.get("metadata") or self.body
        name = "/".join(filter(None, (metadata.get("namespace"), metadata.get("name"))))
        return f"{self.verb} {self.body.get('kind', '')} {name}".strip()


_NOTHING = Act("wait", {"seconds": 0.0})


@attrs.frozen
class Story:
    """The actions of the user, read from a file.

    Attributes:
        before: The actions before the operator starts, such as the definitions of its kinds.
        steps: The actions after that; each is followed by a wait until nothing changes.
        ready: The condition by which the operator counts as started; None for its first watch, or for repeated lists.
        claims: The properties that have to hold.
        outsides: The services outside of the cluster.
    """

    before: Sequence[Act]
    steps: Sequence[Act]
    ready: Ready | None = None
    claims: Sequence[Claim] = ()
    outsides: Sequence[Service] = ()

    @classmethod
    def read(cls, path: Path) -> Story:
        """Read a story from a YAML file with `before` and `steps`; `file` names manifests next to it, or a folder of
        them.

        Manifests are a story as well, in a file, such as the output of `helm template`, or in a folder: definitions,
        namespaces and RBAC objects are created before the operator starts, and each other object is a step.

        Raises:
            UsageError: A file cannot be read or is not a story; the message says where.
        """
        found = _yaml(path)
        if found and all(isinstance(each, dict) and "kind" in each for each in found):
            return _of_manifests(path, found)
        if len(found) != 1 or not isinstance(found[0], dict):
            raise UsageError(f"{path}: a story has the fields `steps` and `before`")
        story = found[0]
        if unknown := set(story) - {*_FIELDS}:
            there = f"there are {', '.join(_FIELDS)}"
            raise UsageError(f"{path}: {sorted(unknown)[0]!r} is not a field of a story: {there}")
        ready = Ready.read(f"{path}: ready", story["ready"]) if "ready" in story else None
        made = cls(
            _acts(path, story, "before"),
            _acts(path, story, "steps"),
            ready,
            read_claims(str(path), story),
            _services(path, story),
        )
        if not made.steps:
            raise UsageError(f"{path}: a story needs `steps`, {_EXAMPLE}")
        return made

    @property
    def acts(self) -> Sequence[Act]:
        """The steps, without those that only wait."""
        return [each for each in self.steps if each.verb != "wait"]

    def in_order(self, order: Order) -> Story:
        """Return a copy with the actions in another order; a left-out action is replaced by a wait of 0 s.

        Args:
            order: The numbers of the actions, from 1; 0 for a left-out one.
        """
        acts = self.acts
        told = iter([acts[number - 1] if number else _NOTHING for number in order])
        return attrs.evolve(self, steps=[each if each.verb == "wait" else next(told) for each in self.steps])


def _services(path: Path, story: Mapping[str, Any]) -> list[Service]:
    given = story.get("outsides") or ()
    if not isinstance(given, list | tuple):
        raise UsageError(f"{path}: `outsides` is a list of services")
    found = [Service.read(f"{path}: outsides {number}", each) for number, each in enumerate(given, 1)]
    if len({each.name for each in found}) != len(found):
        raise UsageError(f"{path}: two of its outsides have one name")
    return found


def _of_manifests(path: Path, found: Sequence[Any]) -> Story:
    acts = [_act(f"{path}: object {number}", "apply", each) for number, each in enumerate(found, 1)]
    steps = [each for each in acts if each.body["kind"] not in _FIRST]
    if not steps:
        raise UsageError(f"{path}: all of its objects are there before the operator starts: a story needs another one")
    return Story([each for each in acts if each.body["kind"] in _FIRST], steps)


def _yaml(path: Path) -> list[Any]:
    if path.is_dir():
        files = sorted(each for each in path.iterdir() if each.suffix in (".yaml", ".yml", ".json"))
        if not files:
            raise UsageError(f"{path}: no file ends with .yaml, .yml or .json in this folder")
        return [each for file in files for each in _yaml(file)]
    try:
        return [each for each in yaml.safe_load_all(path.read_text(encoding="utf-8")) if each is not None]
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: no YAML: {' '.join(str(error).split())}") from None


def _acts(path: Path, story: Mapping[str, Any], field: str) -> list[Act]:
    made: list[Act] = []
    for number, entry in enumerate(story.get(field) or (), 1):
        where = f"{path}: {field} {number}"
        acts = [name for name in entry if name != "until"] if isinstance(entry, dict) else []
        if len(acts) != 1 or acts[0] not in _ACTS:
            raise UsageError(f"{where}: an act has one of {', '.join(_ACTS)}, {_EXAMPLE}")
        verb, value = acts[0], entry[acts[0]]
        if verb == "file":
            made += [_act(f"{where}: {value}", "apply", each) for each in _yaml(path.parent / str(value))]
        else:
            made.append(_act(where, verb, value))
        if "until" in entry:
            made[-1] = attrs.evolve(made[-1], until=Until.read(where, entry["until"]))
    return made


def _act(where: str, verb: str, value: Any) -> Act:
    if verb == "wait":
        if not isinstance(value, int | float) or isinstance(value, bool) or value < 0:
            raise UsageError(f"{where}: `wait` takes seconds, not {value!r}")
        return Act("wait", {"seconds": float(value)})
    metadata = value.get("metadata", value) if isinstance(value, dict) else None
    if not isinstance(metadata, dict) or not value.get("kind") or not metadata.get("name"):
        raise UsageError(f"{where}: `{verb}` needs `apiVersion`, `kind` and a name")
    if verb == "patch" and not isinstance(value.get("patch"), dict):
        raise UsageError(f"{where}: `patch` needs the field `patch`, a merge patch")
    return Act(verb, value)


def act(client: Client, what: Act, wait: Callable[[float], object]) -> None:
    """Carry out an action of the user; a `wait` action returns at once.

    Args:
        client: The client of the user.
        what: The action.
        wait: Waits for the given seconds; needed because a new kind is served only a moment after its definition.

    Raises:
        ActFailed: The server refused the action; the message names it.
    """
    if what.verb == "wait":
        return
    body: dict[str, Any] = copy.deepcopy(dict(what.body))
    try:
        resource = _resource(client, str(body["kind"]), str(body.get("apiVersion") or ""), wait)
        metadata = body.get("metadata") or body
        namespace = metadata.get("namespace") or ("default" if resource.namespaced else "")
        key = ObjectKey(str(metadata["name"]), namespace if resource.namespaced else "")
        if what.verb == "apply":
            body["metadata"] = {**metadata, **({"namespace": namespace} if resource.namespaced else {})}
            client.apply(resource, body, field_manager=MANAGER, force=True)
        elif what.verb == "patch":
            client.patch(resource, key, body["patch"])
        else:
            client.delete(resource, key)
    except ControllerRuntimeError as error:
        raise ActFailed(f"the story's act `{what}` failed: {error}") from error


def _resource(client: Client, kind: str, api_version: str, wait: Callable[[float], object]) -> Resource[Any]:
    for _ in range(_TRIES):
        try:
            return client.resource(kind, api_version)
        except NotFound:
            wait(_PAUSE)
    return client.resource(kind, api_version)

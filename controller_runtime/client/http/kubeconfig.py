# SPDX-License-Identifier: Apache-2.0
"""Reads kubeconfigs as kubectl does: several files are merged, and paths are relative to the file that has them."""

from __future__ import annotations

import base64
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import attrs
import msgspec
import yaml

from apimachinery.decoding import converter_of
from apimachinery.errors import UsageError

_EXTENSION = "client.authentication.k8s.io/exec"
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # PyYAML may have been built without the parser in C


class _Kebab(msgspec.Struct, rename="kebab"):
    pass


class KubeconfigCluster(_Kebab):
    """The fields of a cluster in a kubeconfig."""

    server: str | None = None
    tls_server_name: str | None = None
    insecure_skip_tls_verify: bool | None = None
    certificate_authority: str | None = None
    certificate_authority_data: str | None = None
    proxy_url: str | None = None
    extensions: list[Any] | None = None


class Variable(msgspec.Struct):
    """An environment variable of a credential plugin."""

    name: str
    value: str


class Exec(msgspec.Struct, rename="camel"):
    """The fields of a credential plugin in a kubeconfig."""

    command: str | None = None
    api_version: str | None = None
    args: list[str] | None = None
    env: list[Variable] | None = None
    install_hint: str | None = None
    provide_cluster_info: bool | None = None
    interactive_mode: str | None = None


class Provider(msgspec.Struct):
    """An auth provider in a kubeconfig; plugins have replaced them."""

    name: str | None = None


class KubeconfigUser(_Kebab):
    """The fields of a user in a kubeconfig."""

    token: str | None = None
    token_file: str | None = msgspec.field(default=None, name="tokenFile")
    client_certificate: str | None = None
    client_certificate_data: str | None = None
    client_key: str | None = None
    client_key_data: str | None = None
    username: str | None = None
    password: str | None = None
    exec: Exec | None = None
    auth_provider: Provider | None = None


class Context(msgspec.Struct):
    """A context in a kubeconfig: the names of a cluster and a user."""

    cluster: str | None = None
    user: str | None = None


class _NamedCluster(msgspec.Struct):
    name: str
    cluster: KubeconfigCluster


class _NamedUser(msgspec.Struct):
    name: str
    user: KubeconfigUser | None = None


class _NamedContext(msgspec.Struct):
    name: str
    context: Context


class _File(_Kebab):
    clusters: list[_NamedCluster] | None = None
    users: list[_NamedUser] | None = None
    contexts: list[_NamedContext] | None = None
    current_context: str | None = None


_as_file: Callable[[Any], _File] = converter_of(_File)

T = TypeVar("T")


@attrs.frozen
class Placed:
    """The directory of a kubeconfig, against which its relative paths are resolved.

    Attributes:
        folder: The absolute path of the directory.
    """

    folder: Path

    def path(self, name: str | None) -> str | None:
        """Return the absolute path of a file that the kubeconfig names; None if `name` is empty.

        Raises:
            UsageError: There is no such file.
        """
        if not name:
            return None
        path = os.path.normpath(self.folder / name)
        if not os.path.isfile(path):
            raise UsageError(f"it names the file {path}, which does not exist")
        return path


@attrs.frozen
class ChosenContext:
    """The cluster and the user of one context.

    Attributes:
        cluster: The cluster.
        cluster_place: The directory of the kubeconfig that defines the cluster.
        user: The user; None if the context has none.
        user_place: The directory of the kubeconfig that defines the user.
    """

    cluster: KubeconfigCluster
    cluster_place: Placed
    user: KubeconfigUser | None
    user_place: Placed

    def cluster_info(self) -> Mapping[str, Any]:
        """Return the description of the cluster that is passed to a credential plugin.

        Raises:
            UsageError: A file that the cluster names does not exist.
        """
        found: dict[str, Any] = msgspec.to_builtins(self.cluster)
        file = self.cluster_place.path(found.pop("certificate-authority"))
        extensions = found.pop("extensions") or ()
        info = {name: value for name, value in found.items() if value is not None}
        if file:
            info.setdefault("certificate-authority-data", base64.b64encode(Path(file).read_bytes()).decode())
        for extension in extensions:
            if extension["name"] == _EXTENSION:
                info["config"] = extension["extension"]
        return info


def read(name: str, context: str | None) -> ChosenContext:
    """Return the cluster and the user of a context of one or more kubeconfigs.

    If several files have an entry of the same name, the first one is used; so is the first current context. kubectl
    does the same.

    Args:
        name: The files, separated like the directories of PATH; those that do not exist are left out.
        context: The context; None for the current one.

    Raises:
        UsageError: A file is empty, or the context, or a cluster or user that it names, does not exist.
        OSError: A file cannot be read.
        ValueError: A file is not a kubeconfig.
    """
    paths = [Path(part).expanduser() for part in name.split(os.pathsep) if part]
    files = [(_file(path), Placed(Path(os.path.abspath(path)).parent)) for path in paths if path.exists()]
    contexts = _by_name((each.name, each.context, place) for file, place in files for each in file.contexts or ())
    chosen = context or next((file.current_context for file, _ in files if file.current_context), None)
    if not chosen:
        raise UsageError(f"it has no current context; choose one of: {', '.join(contexts)}")
    if chosen not in contexts:
        raise UsageError(f"it has no context {chosen!r}; choose one of: {', '.join(contexts)}")
    named, place = contexts[chosen]
    clusters = _by_name((each.name, each.cluster, place) for file, place in files for each in file.clusters or ())
    users = _by_name((each.name, each.user, place) for file, place in files for each in file.users or ())
    if named.cluster is None or named.cluster not in clusters:
        raise UsageError(f"it has no cluster {named.cluster!r}, which the context {chosen!r} names")
    if named.user and named.user not in users:
        raise UsageError(f"it has no user {named.user!r}, which the context {chosen!r} names")
    user, user_place = users[named.user] if named.user else (None, place)
    return ChosenContext(*clusters[named.cluster], user, user_place)


def decoded(data: str | None, name: str) -> str | None:
    """Return the text that a base64 field of a kubeconfig contains; None if the field is empty.

    `name` is for the message.

    Raises:
        ValueError: `data` is not the base64 of a text.
    """
    if not data:
        return None
    try:
        return base64.b64decode("".join(data.split()), validate=True).decode()
    except ValueError:
        raise ValueError(f"{name} is not the base64 of a text") from None


def _file(path: Path) -> _File:
    try:
        content = yaml.load(path.read_bytes(), Loader=_LOADER)  # either loader makes plain values only
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error
    if content is None:
        raise UsageError(f"the file is empty: {path}")
    return _as_file(content)


def _by_name(entries: Iterable[tuple[str, T, Placed]]) -> dict[str, tuple[T, Placed]]:
    found: dict[str, tuple[T, Placed]] = {}
    for name, entry, place in entries:
        found.setdefault(name, (entry, place))
    return found

# SPDX-License-Identifier: Apache-2.0
"""The definitions of a manager's declared classes: installed on request, and compared before caches start.

The parts of `crd` that build and compare schemas are imported by the first declared class, since a manager without one
would pay a tenth of its start for them.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Mapping
from typing import Any

import attrs

from apimachinery.errors import (
    AlreadyExists,
    APIError,
    Conflict,
    ConnectionLost,
    Forbidden,
    NotFound,
    UsageError,
)
from apimachinery.host import Host
from apimachinery.log import get_logger
from apimachinery.objects import ObjectKey
from apimachinery.stop import Stop
from controller_runtime.api.resources import Resource, resource_of
from controller_runtime.client.client import Client
from controller_runtime.crd.types import CustomResource

log = get_logger(__name__)

FIELD_MANAGER = "controller-runtime-definitions"
"""The field manager by which definitions are installed."""

_RETRY = 1.0  # seconds between two tries to reach the server
_POLL = 0.2  # seconds between two looks at a definition that is not established yet
_READ_TIMEOUT = (
    10.0  # seconds for the definition that a class is compared with; without it the caches start all the same
)


@attrs.define(eq=False)
class Definitions:
    """Installs the custom resource definitions of a manager, and compares them with its classes.

    Args:
        host: The source of the time.
        client: Reads and applies definitions.
        complete: Adds the address of its conversion webhook to a definition before it is installed.

    Attributes:
        are_installed: Whether `install` writes. The function `run` sets it to False on a cluster without
            `--install-crds`, so that a program changes definitions only if asked to.
        allows_breaking: Whether `install` also makes changes that break stored objects or clients. The function `run`
            sets it to False on a cluster without `--allow-breaking`: such a definition is then not changed, so that an
            older release of the program still starts.

    Threads: `add` and `see` from any; `install` and `check` from one.
    """

    host: Host
    client: Client
    complete: Callable[[Mapping[str, Any]], Mapping[str, Any]] = lambda body: body
    are_installed: bool = attrs.field(default=True, init=False)
    allows_breaking: bool = attrs.field(default=True, init=False)
    _left: set[str] = attrs.field(factory=set, init=False)
    _bodies: dict[str, Mapping[str, Any]] = attrs.field(factory=dict, init=False)
    _installs_all: bool = attrs.field(default=False, init=False)
    # A dict keeps the order, and one operation on it needs no lock, nor does a copy by `[*…]`. To iterate over it does.
    _cached: dict[type[CustomResource], None] = attrs.field(factory=dict, init=False)
    _compared: set[type[CustomResource]] = attrs.field(factory=set, init=False)

    @property
    def names(self) -> frozenset[str]:
        """The names of the definitions that are installed or compared: `plural.group`."""
        resources = [resource_of(cls) for cls in [*self._cached]]
        return frozenset([*self._bodies, *(f"{resource.plural}.{resource.group}" for resource in resources)])

    def add(self, classes: tuple[type[CustomResource], ...], storage: type[CustomResource] | None) -> None:
        """Register the definition of these classes for installation when the manager starts; see `Manager.install`."""
        if not classes:
            self._installs_all = True
            return
        from controller_runtime.crd.definitions import definition

        body = definition(*classes, storage=storage)
        self._bodies[body["metadata"]["name"]] = body

    @property
    def wanted(self) -> list[Mapping[str, Any]]:
        """The definitions that `install` writes; those of cached classes come last."""
        found = {**self._bodies}
        for body in self._created():
            found[body["metadata"]["name"]] = body
        return [*found.values()]

    def see(self, *resources: Resource[Any]) -> None:
        """Record that the manager caches these resources."""
        for resource in resources:
            if isinstance(resource.model, type) and issubclass(resource.model, CustomResource):
                self._cached.setdefault(resource.model)

    def install(self, stop: Stop, deadline: float, *, client: Client | None = None) -> None:
        """Write the definitions, and wait until the server serves their kinds or `stop` is set.

        Nothing is written unless `are_installed`. Breaking changes are logged in one line for each definition, and made
        only if `allows_breaking`.

        Args:
            stop: Ends the waits.
            deadline: The end of the waits, in absolute monotonic seconds.
            client: A client to use instead of the manager's, for tests.

        Raises:
            APIError: The server refuses a definition.
            ConnectionLost: The server could not be reached before `deadline`, or before `stop` was set.
            UsageError: Another field manager owns the definition, or it is not established by `deadline`; the message
                has the server's reason.
        """
        if not self.are_installed:
            if names := [body["metadata"]["name"] for body in self.wanted]:
                log.info("definitions are left as they are; --install-crds installs them", definitions=",".join(names))
            return
        writer = client or self.client
        for body in map(self.complete, [*self._bodies.values()]):
            self._until_reached(functools.partial(self._apply, writer, body), stop, deadline)
        for body in map(self.complete, self._created()):
            self._until_reached(functools.partial(_create, writer, body), stop, deadline)
        for name in [body["metadata"]["name"] for body in self.wanted]:
            while (reason := _unestablished(writer, name)) and not stop.wait(_POLL):
                if self.host.monotonic() >= deadline:
                    raise UsageError(f"the definition {name} is not established: {reason}")

    def _apply(self, client: Client, body: Mapping[str, Any]) -> None:
        from controller_runtime.manager.breaking_definitions import breaking_on_server

        name = body["metadata"]["name"]
        if changes := "; ".join(breaking_on_server(client, body)):
            if not self.allows_breaking:
                self._left.add(name)
                text = "definition left as it is: its new form breaks what is stored; --allow-breaking installs it"
                log.warning(text, definition=name, changes=changes)
                return
            log.warning("definition changes, and breaks what is stored", definition=name, changes=changes)
        _apply(client, body)

    def _created(self) -> list[Mapping[str, Any]]:
        """Return the definitions that are only created: those of cached classes, if all are to be installed."""
        if not (self._installs_all and self._cached):
            return []
        from controller_runtime.crd.definitions import definition

        made = [definition(cls) for cls in [*self._cached]]
        return [body for body in made if body["metadata"]["name"] not in self._bodies]

    def _until_reached(self, write: Callable[[], None], stop: Stop, deadline: float) -> None:
        """Write, again and again while the server cannot be reached, because caches wait for it, too."""
        while True:
            try:
                write()
            except ConnectionLost:
                if self.host.monotonic() >= deadline or stop.wait(_RETRY):
                    raise
            else:
                return

    def check(self) -> None:
        """Compare each cached class, once, with its definition on the server.

        Differences that make only some objects unreadable are logged. A definition that cannot be read is skipped.

        Raises:
            UsageError: A class cannot read the objects of its definition; the message has all such differences.
        """
        for cls in [*self._cached]:
            if cls not in self._compared:
                self._compared.add(cls)
                self._check(cls)

    def _check(self, cls: type[CustomResource]) -> None:
        from controller_runtime.crd.comparison import VERSIONS, compare
        from controller_runtime.crd.definitions import DEFINITIONS

        resource = resource_of(cls)
        name = f"{resource.plural}.{resource.group}"
        try:
            found = self.client.within(_READ_TIMEOUT).get(DEFINITIONS, ObjectKey(name))
        except NotFound:
            log.warning("definition not found: its cache waits until it is installed", definition=name)
            return
        except Forbidden:
            log.debug("class not compared with its definition: no right to read it", definition=name)
            return
        except (APIError, ConnectionLost) as error:
            log.debug("class not compared with its definition", definition=name, error=error)
            return
        differences = compare(cls, found)
        # Beside a definition that was left as it is, only a version that is not served ends the program.
        fatal = [one for one in differences if one.is_error and (name not in self._left or one.path == VERSIONS)]
        for difference in differences:
            if difference not in fatal:
                log.warning(f"{cls.__name__} differs from its definition", field=difference.path, why=difference.text)
        if errors := [str(difference) for difference in fatal]:
            raise UsageError(
                f"{cls.__name__} cannot read the objects of {name}: {'; '.join(errors)}; install the definition of the "
                "class, or change the class"
            )


def _apply(client: Client, body: Mapping[str, Any]) -> None:
    from controller_runtime.crd.definitions import DEFINITIONS

    name = body["metadata"]["name"]
    try:
        client.apply(DEFINITIONS, body, field_manager=FIELD_MANAGER)
    except Conflict as error:
        # To take it over could remove fields of objects: a class may know fewer than the definition that is there.
        raise UsageError(
            f"the definition {name} is not ours to install: {error}; apply it as its owner does"
        ) from error
    log.info("definition installed", definition=name)


def _create(client: Client, body: Mapping[str, Any]) -> None:
    from controller_runtime.crd.definitions import DEFINITIONS

    with contextlib.suppress(AlreadyExists):
        client.create(DEFINITIONS, body)
        log.info("definition created", definition=body["metadata"]["name"])


def _unestablished(client: Client, name: str) -> str:
    """Return why the server does not serve a definition's kind yet; empty if it does."""
    from controller_runtime.crd.definitions import DEFINITIONS

    status = client.get(DEFINITIONS, ObjectKey(name)).get("status") or {}
    conditions = {one["type"]: one for one in status.get("conditions") or ()}
    if conditions.get("Established", {}).get("status") == "True":
        return ""
    return str(conditions.get("NamesAccepted", {}).get("message") or "the server has not looked at it yet")

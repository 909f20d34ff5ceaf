# SPDX-License-Identifier: Apache-2.0
"""The parts of small operators of a thing outside of the cluster: services, short words for calls, and bugs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import attrs

from controller_runtime import Manager
from controller_runtime.errors import TemporaryError
from controller_runtime.testing import EmbeddedCluster, Simulation
from controller_runtime.testing.outside import outside, reads
from controller_runtime.testing.outside.things import NamedThings
from kit.perturbation.miniatures import Body, Operator, World, is_going


@outside(eventually_consistent=True)
class LateThings(NamedThings):
    """Named things of which a read may be old."""


class Numbered(NamedThings):
    """Things to which the service gives their names."""

    def add(self, **properties: Any) -> str:
        """Create a thing, and return its name."""
        name = f"id-{len(self.state) + 1}"
        self.create(name, **properties)
        return name

    @reads
    def of(self, owner: str) -> list[str]:
        """Return the names of the things of an owner."""
        return sorted(name for name, thing in self.state.items() if thing.get("owner") == owner)


@outside(eventually_consistent=True)
class LateNumbered(Numbered):
    """Numbered things of which a read by owner may be old."""

    def all_of(self, owner: str) -> list[str]:
        """Return the names of the things of an owner by a read that is never old."""
        return super().of(owner)


class Denied(Exception):
    """The password is not accepted."""


class Accounts(NamedThings):
    """Accounts, each of which accepts some passwords."""

    def found(self, name: str, password: str) -> None:
        """Create an account with a password, unless it exists."""
        self.state.setdefault(name, {"accepted": [password]})

    @reads
    def accepted(self, name: str, password: str) -> list[str]:
        """Return the passwords of an account, if the given one is among them."""
        if password not in self.state[name]["accepted"]:
            raise Denied(name)
        return [*self.state[name]["accepted"]]

    def accept(self, name: str, password: str, passwords: list[str]) -> None:
        """Give an account, whose present password is known, these passwords and no others."""
        self.accepted(name, password)
        self.state[name] = {"accepted": passwords}


class Manages(Operator):
    """Keeps a thing outside for each database.

    Args:
        manager: The manager.
        things: The outside.
    """

    def __init__(self, manager: Manager, things: Any) -> None:
        super().__init__(manager)
        self.things = things

    def run(self, database: Body) -> None:
        """Bring the thing of a database about, or take it away; errors of connections are temporary."""
        latest = self.latest(database)
        if latest is not None:
            self.manage(latest)

    def manage(self, database: Body) -> None:
        """Do so for the present state of the database."""
        with retried():
            if not is_going(database):
                self.hold(database)
                self.bring_about(database)
            elif database["metadata"].get("finalizers"):
                self.take_away(database)
                self.release(database)

    def bring_about(self, database: Body) -> None:
        """Bring the thing of a database about."""

    def take_away(self, database: Body) -> None:
        """Take the thing of a database away."""


@contextmanager
def retried(*kinds: type[Exception]) -> Iterator[None]:
    """Turn the errors of a connection, and others, into temporary ones."""
    try:
        yield
    except (ConnectionError, TimeoutError, *kinds) as error:
        raise TemporaryError(f"{type(error).__name__}: {error}") from error


@attrs.frozen
class OutsideBug:
    """A bug of an operator's dealing with an outside.

    Attributes:
        source: The project's issue.
        fault: The begin of the text of the plan that finds it.
        outside: Makes the service.
        buggy: The operator with the bug.
        mended: The operator without it.
        story: The acts of users.
    """

    source: str
    fault: str
    outside: Callable[[], Any]
    buggy: Callable[[Manager, Any], Operator]
    mended: Callable[[Manager, Any], Operator]
    story: Callable[[World], None]

    def tell(self, cluster: EmbeddedCluster, simulation: Simulation) -> None:
        self.story(World(cluster, simulation))


def declare_and_delete(world: World) -> None:
    world.declare()
    world.delete()


def declare(world: World) -> None:
    world.declare()

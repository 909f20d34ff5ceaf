# SPDX-License-Identifier: Apache-2.0
"""One run of a sequence: states are applied one after another in a fresh cluster on a fresh simulation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import attrs
import msgspec

from apimachinery.http import HTTPRequest, HTTPResponse
from controller_runtime.manager.manager import Setup
from controller_runtime.testing.cluster import EmbeddedCluster
from controller_runtime.testing.outside.line import Line
from controller_runtime.testing.perturbation import ambient
from controller_runtime.testing.perturbation.recorder import state_of
from controller_runtime.testing.perturbation.sequence_story import Content, Primary
from controller_runtime.testing.perturbation.world import LEFT_OUT, Difference, State, differences, simplified
from controller_runtime.testing.simulation import Simulation
from embedded_apiserver import APIServer
from embedded_apiserver.perturbation import Name
from embedded_apiserver.programs import Program

Options = Mapping[str, Any]
"""Arguments of `EmbeddedCluster`, except its host."""

_FIRST = 10.0
_IDLE = 60.0
# Virtual seconds: until errors are counted, and for which they are. A delay that is doubled by each failure, from 5 ms,
# ends at least twice in that time.
_TRIES = 10
_DEFINITIONS = "/customresourcedefinitions"
_APPLY = "application/apply-patch+yaml"


@attrs.frozen
class Rest:
    """The cluster after a declared state, when program and cluster have nothing more to do.

    Attributes:
        declared: The number of the state in the sequence, from 0; -1 if nothing is declared.
        state: The objects.
        requests: The number of requests that the manager sent in the last virtual minute.
        problems: The faults that the objects do not show: controllers with errors, changes that do not end.
        is_restless: True if objects went on changing.
    """

    declared: int
    state: State
    requests: int = 0
    problems: Sequence[str] = ()
    is_restless: bool = False


@attrs.frozen
class Ended:
    """The result of a run.

    Attributes:
        rests: One for each state that the server accepted; one if there are no states.
        problem: The error that ended the run early; empty if none did.
    """

    rests: Sequence[Rest]
    problem: str = ""


@attrs.frozen(eq=False)
class Stage:
    """A program and the cluster that it runs on.

    Attributes:
        setup: Sets the manager up.
        options: The options of the cluster.
        seed: The seed of the simulations.
        lines: The connections to fakes of outside services, which have their initial states in each run.
        programs: The programs of containers in the cluster, as `EmbeddedCluster.programs`.
    """

    setup: Setup
    options: Options = attrs.field(factory=dict)
    seed: int = 0
    lines: Sequence[Line] = ()
    programs: Mapping[str, Program] = attrs.field(factory=dict)

    def run(self, primary: Primary, states: Sequence[Content | None]) -> Ended:
        """Declare states of one object, each once nothing changes after the one before.

        A state that the server refuses is skipped. Without states, the only rest is the one before the object exists.

        Args:
            primary: The object.
            states: The states; None deletes the object.
        """
        rests: list[Rest] = []
        try:
            with _on_its_own(), Simulation(self.seed) as simulation:
                options = {**self.options, "garbage_collection": True, "allow_panics": True}
                with (
                    EmbeddedCluster(simulation.host("cluster"), **options) as cluster,
                    cluster.outside.borrowed(self.lines),
                ):
                    cluster.programs.update(self.programs)
                    definitions = [each for each in primary.others if _DEFINITIONS in each.path]
                    for request in definitions:
                        cluster.server.handle(request)
                    cluster.run(self.setup)
                    simulation.settle()
                    for request in primary.others:
                        if request not in definitions:
                            cluster.server.handle(request)
                            simulation.settle()
                    world = _World(cluster.server, self.lines)
                    if not states:
                        rests.append(_come_to_rest(simulation, cluster, world, -1))
                    for number, state in enumerate(states):
                        if _declare(cluster, primary, state):
                            rests.append(_come_to_rest(simulation, cluster, world, number))
        except Exception as error:  # noqa: BLE001  a run ends here: what ended it is its result
            return Ended(rests, f"the run ended with {type(error).__name__}: {error}".partition("\n")[0])
        return Ended(rests)


@contextmanager
def _on_its_own() -> Iterator[None]:
    """Keep clusters from joining the run of the test around this one."""
    session, ambient.session = ambient.session, None
    try:
        yield
    finally:
        ambient.session = session


def _declare(cluster: EmbeddedCluster, primary: Primary, state: Content | None) -> bool:
    """Apply a state as its only owner, so that what other writers set stays; return whether the server accepts it."""
    if state is None:
        request = HTTPRequest("DELETE", primary.path, (("propagationPolicy", "Background"),))
    else:
        metadata = {"name": primary.name, **({"namespace": primary.namespace} if primary.namespace else {})}
        body = {
            "apiVersion": primary.kind.api_version,
            "kind": primary.kind.kind,
            "metadata": {**metadata, **primary.metadata},
            **state,
        }
        query = (("fieldManager", "story"), ("force", "true"), ("fieldValidation", "Ignore"))
        request = HTTPRequest("PATCH", primary.path, query, {"content-type": _APPLY}, msgspec.json.encode(body))
    answer = cluster.server.handle(request)
    return isinstance(answer, HTTPResponse) and answer.status < 400


class _World:
    """The objects of a server that have changed since `first`; the others are the same in every run.

    Args:
        server: The server.
        lines: The outsides, whose states belong to the world.
    """

    def __init__(self, server: APIServer, lines: Sequence[Line]) -> None:
        self._server, self.lines = server, lines
        self._first = server.storage.version
        self._there = frozenset(self._keys())

    def state(self) -> State:
        """Return the changed objects; one that was there at first and is gone shows as such."""
        storage = self._server.storage
        found = {
            resource: [item.decode() for item in storage.read(resource).items if item.version > self._first]
            for resource in self._resources()
        }
        gone = {Name(*key): [{"deleted": True}] for key in self._there.difference(self._keys())}
        return {**simplified(found), **gone, **state_of(self.lines)}

    def _keys(self) -> Iterator[tuple[str, str]]:
        for resource in self._resources():
            yield from ((resource, item.key) for item in self._server.storage.read(resource).items)

    def _resources(self) -> list[str]:
        return [kind.resource for kind in self._server.kinds.stored if kind.plural not in LEFT_OUT]


def _come_to_rest(simulation: Simulation, cluster: EmbeddedCluster, world: _World, number: int) -> Rest:
    simulation.settle()
    simulation.advance(_FIRST)
    state, changed, storage = world.state(), list[Difference](), cluster.server.storage
    for _ in range(_TRIES):
        before, version = state, storage.version
        errors, sent = _errors(cluster), len(cluster.transport.requests)
        simulation.advance(_IDLE)
        state = state if storage.version == version and not world.lines else world.state()
        changed = differences(before, state)
        if not changed:
            break
    failing = [name for name, count in _errors(cluster).items() if count > errors.get(name, 0)]
    problems = [f"the controller {name} still has errors at rest" for name in failing]
    problems += [f"{each.name} {each.path} still changes after ten minutes" for each in changed[:1]]
    return Rest(number, state, len(cluster.transport.requests) - sent, problems, bool(changed))


def _errors(cluster: EmbeddedCluster) -> dict[str, int]:
    return {controller.name: controller.errors for controller in cluster._manager.controllers}

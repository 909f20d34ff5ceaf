# SPDX-License-Identifier: Apache-2.0
"""Two replicas of a program that deletes all that it can, under faults and crashes drawn from a seed.

`PYTHONPATH=tests python -m kit.simulation.mass_deletions 1000` runs a thousand seeds and tells what each kind of
mistake deleted.
"""

from __future__ import annotations

import json
import logging
import random
import sys
from collections import Counter
from collections.abc import Callable
from datetime import timedelta

import attrs

from apimachinery.http import HTTPRequest
from apimachinery.objects import ObjectKey
from controller_runtime.api.builtin_resources import CONFIG_MAPS, SECRETS
from controller_runtime.client.client import Client
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.deletions import DeletionBudget
from controller_runtime.election.config import LeaderElectionConfig
from controller_runtime.manager.manager import Manager
from controller_runtime.testing import EmbeddedCluster, Simulation
from controller_runtime.testing.faults import CutReply, Delayed, Fault, LostReply, LostRequest, Refused

RECORD = ObjectKey("trial-deletions", "default")
OBJECTS = 40
MOST = 4
PER = 120.0
LASTS = 400.0


def empty_list(client: Client, chance: random.Random) -> None:
    """Delete each object that is not wanted, when the list of what is wanted came back empty."""
    wanted: set[str] = set()
    found = client.list(SECRETS, "default", view=dict)
    chance.shuffle(found)
    for each in found:
        if each["metadata"]["name"] not in wanted:
            client.delete(SECRETS, ObjectKey(each["metadata"]["name"], "default"))


def wrong_selector(client: Client, chance: random.Random) -> None:
    """Delete a collection by a selector that selects more than was meant."""
    size = chance.choice(("tiny", "tiny", "small", "large"))
    client.delete_collection(SECRETS, "default", label_selector=f"size={size}" if chance.random() < 0.8 else "")


def stale_owner(client: Client, chance: random.Random) -> None:
    """Delete what belongs to an owner that is taken for gone, and take its finalizer off."""
    found = client.list(SECRETS, "default", view=dict)
    chance.shuffle(found)
    for each in found:
        key = ObjectKey(each["metadata"]["name"], "default")
        if "deletionTimestamp" not in each["metadata"]:
            client.delete(SECRETS, key, uid=each["metadata"]["uid"], propagation_policy="Background")
        elif each["metadata"].get("finalizers"):
            client.patch(SECRETS, key, {"metadata": {"finalizers": []}})


MISTAKES: tuple[Callable[[Client, random.Random], None], ...] = (empty_list, wrong_selector, stale_owner)


@attrs.frozen
class Sent:
    """A request that deletes: when it was sent, and the object by its uid, or how many."""

    at: float
    uid: str
    number: int


@attrs.define
class Run:
    """The requests and the end of one seed.

    Attributes:
        mistake: The name of the mistake.
        sent: The requests that were sent, in order.
        left: The objects that were left.
        crashes: How often a replica crashed.
    """

    mistake: str
    sent: list[Sent] = attrs.field(factory=list)
    left: int = OBJECTS
    crashes: int = 0

    @property
    def most(self) -> int:
        """The most deletions that were sent within the time of the budget, each object counted once."""
        most = 0
        for last in self.sent:
            inside = [each for each in self.sent if last.at - PER < each.at <= last.at]
            uids = {each.uid for each in inside if each.uid}
            most = max(most, len(uids) + sum(each.number for each in inside if not each.uid))
        return most


@attrs.frozen
class Deleting(Reconciler):
    client: Client
    mistake: Callable[[Client, random.Random], None]
    chance: random.Random

    def reconcile(self, request: Request) -> Result:
        self.mistake(self.client, self.chance)
        return Result(requeue_after=5.0)


def run(seed: int, *, elected: bool | None = None, most: int = MOST) -> Run:
    """Run two replicas for a while, and return what they sent."""
    chance = random.Random(f"mass deletion {seed}")
    mistake = MISTAKES[seed % len(MISTAKES)]
    told = Run(mistake.__name__)
    elected = chance.random() < 0.5 if elected is None else elected
    rate = chance.choice((0.0, 0.05, 0.2))
    with Simulation(seed) as simulation:
        first = _replica(simulation, "a", None, told, chance, rate, elected)
        user = first.user
        for number in range(OBJECTS):
            size = "tiny" if number < 3 else "small" if number < 10 else "large"
            finalizers = ["example.com/a"] if mistake is stale_owner and number % 2 else []
            metadata = {"name": f"s{number}", "labels": {"size": size}, "finalizers": finalizers}
            user.create(SECRETS, {"metadata": metadata}, "default")
        user.create(CONFIG_MAPS, {"metadata": {"name": "go"}}, "default")
        second = _replica(simulation, "b", first, told, chance, rate, elected)
        replicas = [first, second]

        def setup(manager: Manager) -> None:
            manager.deletions.limit(DeletionBudget(SECRETS, most=most, per=timedelta(seconds=PER)), record=RECORD)
            deleting = Deleting(manager.client, mistake, chance)
            manager.add(Controller("deleting", deleting).watch(CONFIG_MAPS, field_selector="metadata.name=go"))

        for each in replicas:
            each.run(setup)
        while simulation.time < LASTS:
            simulation.advance(chance.uniform(1.0, 20.0))
            if chance.random() < 0.4:
                chance.choice(replicas).restart()
                told.crashes += 1
        told.left = len(user.list(SECRETS, view=dict))
        for each in replicas:
            each.kill()
    return told


def _replica(
    simulation: Simulation,
    name: str,
    beside: EmbeddedCluster | None,
    told: Run,
    chance: random.Random,
    rate: float,
    elected: bool,
) -> EmbeddedCluster:
    host = simulation.host(name)

    def fault_of(number: int, request: HTTPRequest) -> Fault | None:
        if _sent(request, simulation.time) and chance.random() < rate / 2:  # reserved, and not sent
            told.crashes += 1
            simulation.crash(cluster.host)
        fault = _drawn(chance) if request.method != "GET" and chance.random() < rate else None
        if not isinstance(fault, LostRequest | Refused):
            told.sent += _sent(request, simulation.time)
        return fault

    election = LeaderElectionConfig(name="trial", namespace="default") if elected else None
    cluster = EmbeddedCluster(
        host,
        server=None if beside is None else beside.server,
        faults=fault_of,
        leader_election=election,
        allow_panics=True,
    )
    return cluster


def _drawn(chance: random.Random) -> Fault:
    return chance.choice((CutReply(), LostReply(), LostRequest(), Refused(), Delayed(chance.uniform(0.1, 25.0))))


def _sent(request: HTTPRequest, at: float) -> list[Sent]:
    """Return what a request deletes, as the server will read it."""
    if "/secrets" not in request.path:
        return []
    if request.method == "DELETE" and request.path.endswith("/secrets"):
        return [Sent(at, "", int(dict(request.query).get("limit", OBJECTS)))]
    if request.method == "DELETE":
        uid = json.loads(request.body or b"{}").get("preconditions", {}).get("uid", "")
        return [Sent(at, uid, 1)]
    return []


def main(seeds: int) -> int:
    """Run seeds from 0 on, and return 1 if one sent more than its budget."""
    logging.disable(logging.CRITICAL)
    most: Counter[str] = Counter()
    runs: Counter[str] = Counter()
    crashes = sent = 0
    for seed in range(seeds):
        found = run(seed)
        runs[found.mistake] += 1
        crashes, sent = crashes + found.crashes, sent + sum(each.number for each in found.sent)
        most[found.mistake] = max(most[found.mistake], found.most)
        if found.most > MOST:
            sys.stdout.write(f"seed {seed}: {found.mistake} sent {found.most}, and may send {MOST}\n")
    for mistake, number in runs.items():
        sys.stdout.write(f"{mistake}: {number} seeds, at most {most[mistake]} of {MOST} within {PER:g} s\n")
    sys.stdout.write(f"{crashes} crashes, {sent} deletions sent\n")
    return int(max(most.values()) > MOST)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))

# SPDX-License-Identifier: Apache-2.0
"""Replicas that keep the certificates of webhooks, in a simulation, and a look at what they present."""

from __future__ import annotations

import base64
import contextlib
from collections.abc import Iterator
from typing import Any

import attrs
from cryptography import x509
from cryptography.exceptions import InvalidSignature

from apimachinery.stop import Stop, spawn
from controller_runtime import Client, ObjectKey
from controller_runtime.client.impersonating import ImpersonatingTransport
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.crd import DEFINITIONS, definition
from controller_runtime.errors import NotFound
from controller_runtime.testing import Simulation
from controller_runtime.testing.simulation.simulation import SimulatedHost
from controller_runtime.webhooks.certificates import SECRETS, CertificateKeeper
from controller_runtime.webhooks.configurations import WebhookPlace, conversion_of
from controller_runtime.webhooks.injecting import Target
from embedded_apiserver.server import APIServer
from kit.crd.cabins import Cabin, CabinV1Alpha1

PLACE = WebhookPlace(name="hooks", namespace="default")
NAME = "cabins.example.com"
SECRET = ObjectKey("hooks-certificates", "default")
DAY = 86400.0


@attrs.define(eq=False)
class Replica:
    """A replica that keeps certificates.

    Attributes:
        host: Its machine.
        keeper: Keeps them.
        presented: The certificates that it has presented, the present one last.
    """

    host: SimulatedHost
    keeper: CertificateKeeper
    presented: list[x509.Certificate]


@attrs.define(eq=False)
class Certified:
    """A server with a definition whose conversion is at `PLACE`, and replicas."""

    simulation: Simulation
    server: APIServer
    user: Client
    stop: Stop
    replicas: list[Replica] = attrs.field(factory=list)
    place: WebhookPlace = PLACE
    targets: tuple[Target, ...] = (Target(DEFINITIONS, NAME),)

    def start(self, name: str, user: str | None = None, targets: tuple[Target, ...] = ()) -> Replica:
        """Start a replica that acts as `user`."""
        host = self.simulation.host(name)
        presented: list[x509.Certificate] = []
        transport: Any = InProcessTransport(host, self.server)
        client = Client(host, ImpersonatingTransport(transport, user) if user else transport)

        def present(certificate: bytes, key: bytes) -> None:
            presented.append(x509.load_pem_x509_certificate(certificate))

        keeper = CertificateKeeper(host, client, self.place, targets or self.targets, present)
        replica = Replica(host, keeper, presented)
        self.replicas.append(replica)
        spawn(host, self.stop, name, lambda: keeper.run(self.stop))
        return replica

    def install(self) -> None:
        """Create the definition."""
        body = definition(Cabin, CabinV1Alpha1)
        body["spec"]["conversion"] = conversion_of(self.place)
        self.user.create(DEFINITIONS, body)

    def bundle(self) -> list[x509.Certificate]:
        """Return the authorities that the server trusts for conversions."""
        config = self.user.get(DEFINITIONS, ObjectKey(NAME))["spec"]["conversion"]["webhook"]["clientConfig"]
        return x509.load_pem_x509_certificates(base64.b64decode(config["caBundle"])) if "caBundle" in config else []

    def data(self, key: ObjectKey = SECRET) -> dict[str, str]:
        """Return what the Secret has."""
        with contextlib.suppress(NotFound):
            data: dict[str, str] = self.user.get(SECRETS, key)["data"]
            return data
        return {}

    def pass_days(self, days: float) -> None:
        """Let the wall clocks of all replicas go on, and each replica look once or twice."""
        for replica in self.replicas:
            self.simulation.jump(replica.host, days * DAY)
        self.settle(45)

    def settle(self, seconds: float) -> None:
        """Let time pass, and check every few seconds that the server trusts what every replica presents."""
        for _ in range(int(seconds / 2.5)):
            self.simulation.advance(2.5)
            self.check()

    def check(self) -> None:
        """Raise AssertionError if a replica presents what the server does not trust, or what has expired."""
        bundle = self.bundle()
        for replica in self.replicas:
            if replica.presented and bundle and not replica.keeper.problem:
                leaf = replica.presented[-1]
                assert any(is_signed(leaf, each) for each in bundle), f"{replica.host.name} is not trusted"
                assert leaf.not_valid_after_utc > replica.host.now(), f"{replica.host.name} presents an expired one"


def is_signed(leaf: x509.Certificate, authority: x509.Certificate) -> bool:
    """Return whether an authority has signed a certificate."""
    try:
        leaf.verify_directly_issued_by(authority)
    except (InvalidSignature, ValueError):
        return False
    return True


@contextlib.contextmanager
def certified(seed: int = 0) -> Iterator[Certified]:
    """Run a simulation of replicas that keep certificates."""
    with Simulation(seed) as simulation:
        host = simulation.host("server")
        server = APIServer(host)
        stop = Stop(host, "replicas")
        yield Certified(simulation, server, Client(host, InProcessTransport(host, server)), stop)
        stop.set()
        simulation.settle()

# SPDX-License-Identifier: Apache-2.0
"""Keeps the certificates of webhooks: an authority of the program's own in a Secret, which renews itself.

Every replica does all of this, whether it leads or not. Two replicas that do the same at once are told apart by the
resourceVersion of the Secret: the first write counts, and the other replica reads it.
"""

from __future__ import annotations

import base64
import contextlib
from collections.abc import Callable, Mapping, Sequence
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import attrs

from apimachinery.errors import (
    AlreadyExists,
    APIError,
    Conflict,
    ConnectionLost,
    DecodeError,
    Forbidden,
    NotFound,
)
from apimachinery.host import Host
from apimachinery.log import get_logger
from apimachinery.objects import ObjectKey
from apimachinery.stop import Stop
from controller_runtime.api.resources import Resource
from controller_runtime.client.client import Client
from controller_runtime.webhooks.certificate_plan import (
    SPREAD,
    CertificatePlan,
    CertificateState,
    CertificateStep,
    plan,
)
from controller_runtime.webhooks.configurations import WebhookPlace
from controller_runtime.webhooks.injecting import FoundTargets, Target, bundles, find, inject, trusts

if TYPE_CHECKING:
    from controller_runtime.webhooks.authority import Certificates

log = get_logger(__name__)

SECRETS: Resource[dict[str, Any]] = Resource("", "v1", "Secret", "secrets")
"""Secrets; their objects are read as dicts."""

SUFFIX = "-certificates"
"""The end of the Secret's name, after that of the service."""

LOOK = 20.0
"""Seconds between two checks of the Secret and the configurations, which other clients may change."""

RETRY = 1.0
"""Seconds until the next check after one that failed."""

ABSENT_LOOK = 2.0
"""Seconds between two checks while a configuration is missing, because it may be applied after the program starts."""

ABSENT_TOLD = 15.0
"""Seconds after which a configuration that is still missing is logged."""

_SOON = 0.1  # seconds until the next look at what was just written


def names_of(place: WebhookPlace) -> list[str]:
    """Return the names for a server certificate: those of a service in its cluster, or the host of a URL."""
    if place.url:
        return [_host_of(place.url)]
    base = f"{place.name}.{place.namespace}"
    return [f"{base}.svc", f"{base}.svc.cluster.local", base, place.name]


def _host_of(url: str) -> str:
    host = urlsplit(url).hostname or ""
    with contextlib.suppress(ValueError):  # an address as a certificate has it, since IPv6 has several forms of each
        return str(ip_address(host))
    return host


@attrs.define(eq=False)
class CertificateKeeper:
    """Maintains the Secret, the authorities in the webhook configurations, and this replica's server certificate.

    Args:
        host: Its wall clock dates certificates, and its monotonic clock paces the checks.
        client: Sends the requests; it must not be limited by a leadership.
        place: The service or URL of the webhooks.
        targets: The objects that must have the bundle of authorities.
        present: Called with the certificate and the key (PEM) that this replica must present, at each change.

    Attributes:
        problem: Why the webhooks are not trusted yet, in one line; empty if they are.
        name: The name of its thread.

    Threads: `run` one; `trust_new` any, once a certificate is presented; the attributes any.
    """

    host: Host
    client: Client
    place: WebhookPlace
    targets: Sequence[Target]
    present: Callable[[bytes, bytes], None]
    name: str = "webhook-certificates"
    problem: str = attrs.field(default="the certificates are not made yet", init=False)
    _held: Certificates | None = attrs.field(default=None, init=False)
    _trusted: tuple[bytes, float] | None = attrs.field(default=None, init=False)  # the bundle, and since when
    _absent: dict[str, float] = attrs.field(factory=dict, init=False)
    _missing: tuple[str, ...] = attrs.field(default=(), init=False)  # replaced as a whole, since any thread reads it
    _told: set[str] = attrs.field(factory=set, init=False)

    @property
    def bundle(self) -> bytes:
        """The authorities (PEM) that verify the presented certificate; empty before the first one."""
        return self._held.bundle if self._held is not None else b""

    @property
    def key(self) -> ObjectKey:
        """The name and namespace of the Secret."""
        return ObjectKey(f"{self.place.name}{SUFFIX}", self.place.namespace)

    def run(self, stop: Stop) -> None:
        """Check and renew periodically until `stop` is set."""
        while not stop.is_set():
            stop.wait(self.look())

    def look(self) -> float:
        """Make the changes that are due, and return the seconds until the next check.

        After an error of the server, which is logged once, the next check tries again.
        """
        try:
            return self._step()
        except (Conflict, AlreadyExists):  # another replica was first
            return _SOON
        except Forbidden as error:
            self._tell(f"the Secret {self.key} cannot be kept: {error}; apply roles.yaml of this program's manifests")
        except (APIError, ConnectionLost, DecodeError) as error:
            self._tell(f"the Secret {self.key} cannot be kept: {error}")
        return RETRY

    def trust_new(self) -> None:
        """Write the bundle into configurations without one, so that their webhooks are trusted before they are called.

        If that fails, or a configuration has another bundle, which may be newer, the next `look` decides.
        """
        with contextlib.suppress(APIError, ConnectionLost):
            found = find(self.client, self.targets).objects
            new = {target: obj for target, obj in found.items() if not bundles(FoundTargets({target: obj}), self.place)}
            inject(self.client, FoundTargets(new), self.place, self.bundle)

    def _step(self) -> float:
        # The configurations first: a replica that then reads an old Secret finds the configurations changed when it
        # writes, so an old bundle never replaces a newer one.
        found = find(self.client, self.targets)
        secret = self._secret()
        certificates, state = self._loaded(secret)
        if certificates is not None:
            self._note_trust(found, certificates.bundle)
        names = names_of(self.place)
        todo = plan(state, self.host.now(), names, self._trusted_for())
        if todo.step is not CertificateStep.WAIT:
            self._write(secret, certificates, todo, bundles(found, self.place))
            return _SOON
        assert certificates is not None, "nothing waits without certificates"
        if bool(found.unknown) or self._is_trusted(certificates):
            self._present(certificates)
        distrusted = inject(self.client, found, self.place, certificates.bundle)
        for problem in [*self._long_absent(found), *found.unknown, *distrusted]:
            self._tell(problem)
        if self._trusted is None and not (distrusted or found.unknown):  # looked at again before it counts
            return _SOON
        self.problem = distrusted[0] if distrusted else ""
        usual = ABSENT_LOOK if found.absent else LOOK
        return min(usual, max((todo.until - self.host.now()).total_seconds(), RETRY))

    @property
    def unregistered(self) -> str:
        """Why no API server calls some of the webhooks, in one line; empty if no reason is known."""
        return "; ".join([*self._missing])

    def _long_absent(self, found: FoundTargets) -> list[str]:
        """Return what has been missing for a while: definitions and configurations may be applied with the program."""
        now = self.host.monotonic()
        self._absent = {problem: self._absent.get(problem, now) for problem in found.absent}
        self._missing = tuple(problem for problem, since in self._absent.items() if now - since >= ABSENT_TOLD)
        return [*self._missing]

    def _secret(self) -> Mapping[str, Any] | None:
        try:
            return self.client.get(SECRETS, self.key)
        except NotFound:
            return None

    def _loaded(self, secret: Mapping[str, Any] | None) -> tuple[Certificates | None, CertificateState | None]:
        """Return what the Secret has, and its facts; nothing if there is nothing that can be used."""
        from controller_runtime.webhooks.authority import Certificates

        if secret is None or not secret.get("data"):
            return None, None
        try:
            data = {name: base64.b64decode(text) for name, text in secret["data"].items()}
            certificates = Certificates.load(data)
            return certificates, certificates.state()
        except ValueError as error:
            log.warning("the certificates of webhooks cannot be used, and are made again", secret=self.key, error=error)
            return None, None

    def _note_trust(self, found: FoundTargets, bundle: bytes) -> None:
        complete = not found.unknown and all(
            trusts(target, obj, self.place, bundle) for target, obj in found.objects.items()
        )
        if not complete:
            self._trusted = None
        elif self._trusted is None or self._trusted[0] != bundle:  # another replica may have written a new bundle
            self._trusted = bundle, self.host.monotonic()

    def _trusted_for(self) -> float | None:
        return None if self._trusted is None else self.host.monotonic() - self._trusted[1]

    def _is_trusted(self, certificates: Certificates) -> bool:
        """Return whether API servers trust certificates at least as well as those that this replica presents.

        It is false for a while after another replica found no Secret and made a new authority.
        """
        held = self._held
        if held is None or certificates.signer.certificate in held.bundle:
            return True
        return (self._trusted_for() or 0.0) >= SPREAD or not held.state().leaf.is_valid(self.host.now())

    def _write(
        self,
        secret: Mapping[str, Any] | None,
        found: Certificates | None,
        todo: CertificatePlan,
        trusted: Sequence[bytes],
    ) -> None:
        made = self._made(secret, found, todo.step, trusted)
        data = {name: base64.b64encode(value).decode() for name, value in made.dumped().items()}
        if secret is None:
            metadata = {"name": self.key.name, "namespace": self.key.namespace}
            self.client.create(SECRETS, {"metadata": metadata, "type": "kubernetes.io/tls", "data": data})
        else:
            self.client.update(SECRETS, {**secret, "data": data})
        self._trusted = None
        log.info("certificates of webhooks written", secret=self.key, step=todo.step.value, why=todo.why)

    def _made(
        self,
        secret: Mapping[str, Any] | None,
        found: Certificates | None,
        step: CertificateStep,
        trusted: Sequence[bytes],
    ) -> Certificates:
        from controller_runtime.webhooks import authority

        now, names = self.host.now(), names_of(self.place)
        if found is None or step is CertificateStep.CREATE:
            made = self._held  # if the Secret was deleted: other replicas present what is in it
            if secret is not None or made is None or made.state().signer.expires <= now:
                made = authority.created(now, names)
            # Replicas present certificates of what the configurations trust, until they find the new Secret.
            return authority.with_former(made, trusted, now)
        match step:
            case CertificateStep.INTRODUCE:
                return authority.introduced(found, now)
            case CertificateStep.PROMOTE:
                return authority.promoted(found, now, names)
            case CertificateStep.PRUNE:
                return authority.pruned(found, now)
            case CertificateStep.RETIRE:
                return authority.retired(found)
        return authority.signed(found, now, names)

    def _present(self, certificates: Certificates) -> None:
        before, self._held = self._held, certificates
        if before is None or before.leaf != certificates.leaf:
            self.present(certificates.leaf.certificate, certificates.leaf.key)

    def _tell(self, problem: str) -> None:
        """Log a problem once; it is the reason why this replica is not ready until the next look succeeds."""
        self.problem = problem
        if problem not in self._told:
            self._told.add(problem)
            log.warning(problem)

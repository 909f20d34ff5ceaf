# SPDX-License-Identifier: Apache-2.0
"""The webhooks of a manager, the server that serves them, and their state."""

from __future__ import annotations

import base64
import copy
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import attrs

from apimachinery.admission import AdmissionRequest
from apimachinery.errors import UsageError
from apimachinery.host import Host
from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.log import get_logger
from apimachinery.objects import ObjectKey
from apimachinery.stop import Stop, spawn
from controller_runtime.api.resources import Resource
from controller_runtime.client.client import Client
from controller_runtime.core.listening import bind, url_of
from controller_runtime.core.memory import memory_limit
from controller_runtime.crd.definitions import DEFINITIONS
from controller_runtime.webhooks.configurations import WebhookPlace, configurations, conversion_of
from controller_runtime.webhooks.converting import CONVERT_PATH, KindConversion
from controller_runtime.webhooks.counters import WebhookCounters, WebhookTally
from controller_runtime.webhooks.handler import Handler, Page, plain_page
from controller_runtime.webhooks.hooks import Hook
from controller_runtime.webhooks.injecting import MUTATING, VALIDATING, Target
from controller_runtime.webhooks.installing import install

log = get_logger(__name__)

NAME, NAMESPACE = "webhooks", "operator-system"
"""The service that configurations name unless `serve` gives another one; for tests, which need no service."""

FIRST_CERTIFICATE = 60.0
"""Seconds that the first certificate may take before the manager stops with an error."""


@attrs.frozen(kw_only=True)
class WebhookServing:
    """The options for serving webhooks over TLS.

    Attributes:
        address: `HOST:PORT`, or `:PORT` for every interface.
        name: The name of the service and of the webhook configurations. The Secret's name is this with `-certificates`.
        namespace: The namespace of the service and the Secret.
        url: The URL that the API server calls, such as `https://127.0.0.1:9443`; empty to use the service.
        folder: A folder with `tls.crt` and `tls.key`, for example from cert-manager; then no Secret is made, and the
            configurations are not changed. With None the program has its own certificate authority.
        client_authority: A file of authorities, one of which must have signed the client certificate of the API server;
            None accepts every client, which suits webhooks whose answers are not secret.
        installed: Write the webhook configurations when serving begins; for an embedded or test server, which can call
            `address`. Then `url` follows from `address`, and `folder` must be None.
    """

    address: str = ":9443"
    name: str = NAME
    namespace: str = NAMESPACE
    url: str = ""
    folder: Path | None = None
    client_authority: Path | None = None
    installed: bool = False


class Webhooks:
    """The webhooks of a manager; each replica serves them, whether it leads or not.

    They are served from before the caches start until everything else has ended: caches may wait for conversions, and
    the last writes of controllers may need checks.

    Args:
        host: The manager's host.
        client: Sends the requests that maintain the certificates; it must not be limited by a leadership.

    Threads: `add` and `serve` one, before the manager runs; `handle` and the properties any.
    """

    def __init__(self, host: Host, client: Client) -> None:
        self._host = host
        self._client = client
        self._hooks: dict[str, Hook[Any]] = {}
        self._kinds: dict[tuple[str, str], KindConversion] = {}
        self._pages: dict[str, Page] = {}
        self._tally = WebhookTally(host)
        self._handler = Handler(host, self._hooks, (), self._tally, self._pages)
        self._serving: WebhookServing | None = None
        self._place = WebhookPlace(name=NAME, namespace=NAMESPACE)
        self._is_serving = False
        self._problem: Callable[[], str] = lambda: ""
        self._unregistered: Callable[[], str] = lambda: ""
        self.trust_new: Callable[[], None] = lambda: None
        """Has API servers trust the webhooks in definitions that were just installed; see `CertificateKeeper`."""
        self._port = 0
        self._stack = ExitStack()

    def add(self, *things: Hook[Any] | KindConversion) -> None:
        """Add webhooks that were made by `Defaults`, `Checks` and `Converts`.

        Raises:
            UsageError: A name is taken, a kind has conversions already, or the webhooks are served already.
        """
        if self._is_serving:
            raise UsageError("webhooks are added before the manager runs, since its configurations name them")
        for thing in things:
            if isinstance(thing, KindConversion):
                if self._kinds.setdefault((thing.group, thing.kind), thing) is not thing:
                    raise UsageError(
                        f"{thing.kind} in {thing.group} has conversions already: give one Converts all of them"
                    )
            elif self._hooks.setdefault(thing.path, thing) is not thing:
                raise UsageError(f"the webhook {thing.name} is there already: give the other one a name of its own")
        self._handler = Handler(self._host, self._hooks, tuple(self._kinds.values()), self._tally, self._pages)
        for path in [*self._hooks, *([CONVERT_PATH] if self._kinds else [])]:
            self._tally.add(path)

    def serve(self, serving: WebhookServing) -> None:
        """Serve the webhooks over TLS while the manager runs.

        Without this call, only code of this process can call them.

        Raises:
            UsageError: They are served already, or `serving` sets both `installed` and `folder`.
        """
        if self._is_serving:
            raise UsageError("webhooks are served already")
        if serving.installed and serving.folder is not None:
            raise UsageError(
                "webhooks that are installed make their own certificates: leave the folder out "
                "(`WebhookServing.folder`, --webhook-cert-dir)"
            )
        self._serving = serving
        self._place = WebhookPlace(name=serving.name, namespace=serving.namespace, url=serving.url)

    def show(self, path: str, page: Page) -> None:
        """Answer GET requests for a path on the same TLS server; `page` decides who may read it."""
        self._pages[path] = plain_page(page)

    def __bool__(self) -> bool:
        """Return whether anything is declared."""
        return bool(self._hooks or self._kinds or self._pages)

    @property
    def service(self) -> ObjectKey:
        """The name and namespace of the service that configurations refer to."""
        return ObjectKey(self._place.name, self._place.namespace)

    @property
    def is_serving(self) -> bool:
        """Whether requests are answered: from before the manager's caches start until its end."""
        return self._is_serving

    @property
    def hooks(self) -> list[Hook[Any]]:
        """The admission webhooks."""
        return [*self._hooks.values()]

    @property
    def converted(self) -> frozenset[str]:
        """The names of the custom resource definitions whose versions are converted here."""
        return frozenset(kind.definition for kind in self._kinds.values())

    def counters(self) -> dict[str, WebhookCounters]:
        """Return the counters of each webhook by its path; those of conversions are at `/convert`. Threads: any."""
        return self._tally.counters()

    @property
    def port(self) -> int:
        """The port on which the webhooks are served; 0 while they are not."""
        return self._port

    def handle(self, request: HTTPRequest) -> HTTPResponse:
        """Return the answer to a request of an API server; it never raises. Threads: any; functions run on it."""
        return self._handler.handle(request)

    def admitted(self, path: str, request: AdmissionRequest, timeout: float) -> HTTPResponse | None:
        """Return the answer to an admission request in process; see `Handler.admitted`.

        Threads: any; the function runs on it.
        """
        return self._handler.admitted(path, request, timeout)

    def installed_objects(self) -> list[dict[str, Any]]:
        """Return the webhook configurations for the address at which the webhooks are served now.

        They have no authorities, unless the webhooks are served as `installed`.
        """
        return configurations(self.hooks, self._place)

    def with_conversion(self, definition: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a definition with the address of the conversion webhook, if its versions are converted here."""
        if definition["metadata"]["name"] not in self.converted:
            return definition
        made = copy.copy(dict(definition))
        made["spec"] = {**made["spec"], "conversion": conversion_of(self._place)}
        return made

    def problem(self) -> str:
        """Return in one line why the webhooks are not served, or not trusted yet; empty if there is no problem."""
        if not self or self._serving is None:
            return ""
        return self._problem() if self._is_serving else "the webhooks are not served yet"

    def unregistered(self) -> str:
        """Return in one line why no API server calls some of the webhooks; empty if no reason is known."""
        return self._unregistered()

    def start(self, stop: Stop) -> None:
        """Start serving, and return once there is a certificate to present, or `stop` is set.

        Raises:
            UsageError: The address cannot be bound, there is no certificate, or a package is missing.
        """
        if self and self._serving is not None:
            self._start_server(self._serving, stop)
        self._is_serving = True

    def start_in_process(self) -> None:
        """Start to answer requests in process, unless the webhooks are served over TLS, which `start` begins."""
        self._is_serving = self._is_serving or self._serving is None

    def close(self) -> None:
        """Stop serving. Idempotent."""
        self._is_serving = False
        self._stack.close()
        self._port = 0

    def _start_server(self, serving: WebhookServing, stop: Stop) -> None:
        # Imported here, because programs without webhooks need neither TLS nor the packages of the extra.
        from controller_runtime.serving.bodies import budget_of
        from controller_runtime.serving.server import Server
        from controller_runtime.serving.threads import AnswerThreads
        from controller_runtime.webhooks.tls import PresentedCertificate

        presented = PresentedCertificate(serving.client_authority)
        own = Stop(self._host, "webhooks stop")
        own.on_set(lambda: _pass_on(own, stop))
        listener = self._stack.enter_context(bind(serving.address))
        self._port = listener.getsockname()[1]
        if serving.installed:
            self._place = attrs.evolve(self._place, url=url_of(serving.address, self._port))
        look = self._keeping(serving, presented)
        deadline = self._host.monotonic() + FIRST_CERTIFICATE
        wait = look()
        while not presented.is_there and not stop.wait(wait):
            if self._host.monotonic() >= deadline:
                raise UsageError(f"webhooks cannot be served: {self._problem()}")
            wait = look()
        answers = self.handle, self._handler.limit_of, budget_of(memory_limit())
        threads = self._stack.enter_context(AnswerThreads(self._host, own, *answers))
        self._stack.enter_context(Server(self._host, own, listener, threads.arrived, presented.context))
        thread = spawn(self._host, own, "webhook-certificates", lambda: _keep(look, own))
        self._stack.callback(thread.join_until, None)
        self._stack.callback(own.set)  # before it, since the stack ends with its first
        if serving.installed:
            install(self._client, self.installed_objects())
        log.info("serving webhooks", port=self._port, webhooks=len(self._hooks), kinds=len(self._kinds))

    def _keeping(self, serving: WebhookServing, presented: Any) -> Callable[[], float]:
        """Return the function that keeps the certificate, and note where its problem is found."""
        if serving.folder is not None:
            from controller_runtime.webhooks.tls import CertificateFiles

            files = CertificateFiles(serving.folder, presented)
            self._problem = lambda: files.problem
            return files.look
        from controller_runtime.webhooks.certificates import CertificateKeeper

        def present(certificate: bytes, key: bytes) -> None:
            if serving.installed:  # what is installed from now on is trusted at once
                self._place = attrs.evolve(self._place, bundle=base64.b64encode(keeper.bundle).decode())
            presented.present(certificate, key)

        keeper = CertificateKeeper(self._host, self._client, self._place, self.targets(), present)
        self._problem = lambda: keeper.problem
        self._unregistered = lambda: keeper.unregistered
        self.trust_new = keeper.trust_new
        return keeper.look

    def kept(self) -> list[tuple[Resource[Any], tuple[str, ...], str]]:
        """Return the objects that store the program's own certificates: resource, names and namespace of each."""
        if not self or self._serving is None or self._serving.folder is not None:
            return []
        from controller_runtime.webhooks.certificates import SECRETS, SUFFIX

        shared = [(target.resource, (target.name,), "") for target in self.targets()]
        return [(SECRETS, (f"{self._place.name}{SUFFIX}",), self._place.namespace), *shared]

    def targets(self) -> list[Target]:
        """Return the objects that must have the certificate authorities of these webhooks."""
        kinds = {each["kind"] for each in self.installed_objects()}
        resources = [each for each in (MUTATING, VALIDATING) if each.kind in kinds]
        named = [Target(resource, self._place.name) for resource in resources]
        return [*named, *(Target(DEFINITIONS, name) for name in sorted(self.converted))]


def _pass_on(own: Stop, stop: Stop) -> None:
    if own.failure is not None:
        stop.fail(own.failure)


def _keep(look: Callable[[], float], stop: Stop) -> None:
    while not stop.wait(look()):
        pass

# SPDX-License-Identifier: Apache-2.0
"""The core of the embedded API server: it takes a request and returns a response or a watch.

It starts no thread and waits for no event. Its callers (the HTTP server, the in-process transport, a simulation)
call it on threads of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from types import MappingProxyType

from apimachinery.errors import UsageError
from apimachinery.host import Host
from apimachinery.http import BODY_LIMIT, HTTPRequest, HTTPResponse, Watch
from apimachinery.log import get_logger
from embedded_apiserver.admission.service_account import ServiceAccount
from embedded_apiserver.answers import refusal, text
from embedded_apiserver.authentication.access import Access, Actors
from embedded_apiserver.authorization.bootstrap import provide_bootstrap
from embedded_apiserver.cel.meter import MOST_STEPS, Meter, OutOfSteps
from embedded_apiserver.cluster_objects.keeper import Keeper
from embedded_apiserver.cluster_objects.recorded import provide_recorded
from embedded_apiserver.cluster_objects.registrations import Registrations
from embedded_apiserver.cluster_objects.releases import Releases
from embedded_apiserver.definitions import Definitions
from embedded_apiserver.discovery.description import SelfDescription
from embedded_apiserver.discovery.discovery import is_served, version_document
from embedded_apiserver.gates import FeatureGates
from embedded_apiserver.groups.all import kinds_of
from embedded_apiserver.groups.core.kinds import NAMESPACE
from embedded_apiserver.groups.networking.kinds import IP_ADDRESS
from embedded_apiserver.kinds.kind import Kinds
from embedded_apiserver.kinds.release import NEWEST, Release
from embedded_apiserver.kinds.wording import in_words_of
from embedded_apiserver.programs.kubelet import Kubelet
from embedded_apiserver.programs.registry import Programs
from embedded_apiserver.reads.metrics import metrics_answer
from embedded_apiserver.reads.pretty import readable_answer
from embedded_apiserver.routes import Route, check_part, find_route
from embedded_apiserver.status import (
    StatusError,
    bad_request,
    internal,
    no_such_resource,
    too_large,
)
from embedded_apiserver.storage.history import History
from embedded_apiserver.storage.keeping import Journal
from embedded_apiserver.storage.storage import Ended, Storage
from embedded_apiserver.users import User
from embedded_apiserver.verbs import Verbs
from embedded_apiserver.webhooks.caller import Caller, Nowhere
from embedded_apiserver.webhooks.services import WithServices
from embedded_apiserver.weight import calls_out, is_heavy
from embedded_apiserver.writes.address_records import AddressRecords
from embedded_apiserver.writes.admitting import Admitting
from embedded_apiserver.writes.protobuf_bodies import readable

log = get_logger(__name__)

_FIRST_NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")
# The namespace from whose uid and time of creation those of the first roles follow.
_ORIGIN = "kube-system"
_HEALTH = ("/healthz", "/livez", "/readyz")


class APIServer:
    """A Kubernetes API server as one object, which implements `api.http.Handler` and `Screen`.

    Args:
        host: The source of time, randomness and locks.
        history: The limits of the history for watches and lists of past versions; None for the defaults.
        data_dir: The directory for the objects; None keeps them in memory.
        accept_loss: True to serve the readable objects of a damaged data directory. If False, damage is an error.
        token: The bearer token of the administrator, who may do everything. If None, each client without a service
            account's token is the administrator.
        signing_key: The private key for tokens of service accounts, in PEM form; None for a new key, so that tokens
            become invalid when the server ends.
        users: Further users by their bearer tokens, as in a real API server's token file; read at each request.
        release: The Kubernetes release to serve, such as `1.33`; None for the newest known one. Later features are
            refused or unknown, as by a server of that release in its default configuration.
        enable_admission_plugins: The names of admission steps to switch on that are off by default.
        disable_admission_plugins: The names of admission steps to switch off.
        feature_gates: The features to switch on or off by name, such as `{"ShardedListAndWatch": True}`.
        caller: Sends requests to webhooks; None fails each such request.
        cluster_objects: True to create the objects that every cluster has: the service `kubernetes` with its endpoints,
            an account `default` and the config map `kube-root-ca.crt` in each namespace, priority classes, flow
            schemas, priority levels, an API service for each version of a group, and an `IPAddress` for each address of
            a service. Pods then run under an account, as if `ServiceAccount` were among `enable_admission_plugins`.
        authority: The certificate in `kube-root-ca.crt`, in PEM form; empty for a server without TLS.
        most_expression_steps: The maximum number of steps for the CEL expressions of policies and custom resources in
            one request. A request that needs more is refused with 413. See `cel.meter`.
        journal: A store for the writes in place of `data_dir`, such as a simulated disk. Give at most one of the two.

    Attributes:
        storage: The objects, for code in the same process that reads them without HTTP requests.
        release: The Kubernetes release that the server serves.
        records: The `IPAddress` objects of services; None for a server that creates none.

    Raises:
        UsageError: The data directory cannot be used, or is damaged; the release is not known; or an admission plugin
            or a feature gate is unknown.

    Threads: any, for every method.
    """

    def __init__(
        self,
        host: Host,
        *,
        history: History | None = None,
        data_dir: Path | None = None,
        accept_loss: bool = False,
        token: str | None = None,
        journal: Journal | None = None,
        signing_key: str | None = None,
        users: Mapping[str, User] = MappingProxyType({}),
        release: str | None = None,
        enable_admission_plugins: Collection[str] = (),
        disable_admission_plugins: Collection[str] = (),
        feature_gates: Mapping[str, bool] = MappingProxyType({}),
        caller: Caller | None = None,
        cluster_objects: bool = False,
        authority: str = "",
        most_expression_steps: int = MOST_STEPS,
    ) -> None:
        self._host = host
        self._most_expression_steps = most_expression_steps
        self.release = NEWEST if release is None else Release.parse(release)
        gates = FeatureGates.of(feature_gates, self.release)
        if data_dir is not None:
            from embedded_apiserver.storage.journal import SQLiteJournal  # a server in memory has no SQLite

            journal = SQLiteJournal(data_dir, accept_loss=accept_loss)
        self.storage = Storage(host, history, journal)
        self._caller = WithServices(caller or Nowhere(), self.storage)
        self._access = Access(host, self.storage, token, signing_key, users)
        if cluster_objects and ServiceAccount.name not in disable_admission_plugins:
            enable_admission_plugins = {*enable_admission_plugins, ServiceAccount.name}
        kinds = kinds_of(self.release)
        is_recording = cluster_objects and IP_ADDRESS in set(kinds)
        self.records = AddressRecords(host, self.storage) if is_recording else None
        try:
            admitting = self._admitting(enable_admission_plugins, disable_admission_plugins)
            self._kubelet = Kubelet(host, self.storage)
            served = self.storage, self._access, self.release, admitting, gates, self._caller, self._kubelet
            self._verbs = Verbs(host, *served)
            self._definitions = Definitions(host, self.storage, kinds, self._caller)
        except UsageError:
            self.storage.close()
            raise
        # Replaced as a whole, so that any thread may read and replace it.
        self._last_route: tuple[Kinds, str, Route | None] = self._definitions.kinds, "", None
        self._description = SelfDescription(host, self.release)
        self._begin(cluster_objects=cluster_objects)
        self._keeper = self._kept(authority) if cluster_objects else None

    def _admitting(self, enabled: Collection[str], disabled: Collection[str]) -> Admitting:
        return Admitting(
            self._host,
            self.storage,
            enabled,
            disabled,
            caller=self._caller,
            kinds=lambda: self.kinds,
            release=self.release,
            records=self.records,
        )

    def _begin(self, *, cluster_objects: bool) -> None:
        """Make the first namespaces, and have what each new server has."""
        for name in _FIRST_NAMESPACES:
            if self.storage.get(NAMESPACE.resource, name) is None:
                self._verbs.objects.add(NAMESPACE, "", {"metadata": {"name": name}})
        if (origin := self.storage.get(NAMESPACE.resource, _ORIGIN)) is not None:
            provide_bootstrap(self.storage, origin.decode()["metadata"], self.release)
            if cluster_objects:
                provide_recorded(self.storage, origin.decode()["metadata"], self.kinds, self.release)

    def _kept(self, authority: str) -> Keeper:
        """Begin to keep what every cluster has. The storage calls the parts that do so, so none is referred to here."""
        if self.records is not None:
            Releases(self._host, self.storage, self.records)
        # Without webhooks: its thread may be that of the event loop.
        admitting = Admitting(self._host, self.storage, records=self.records)
        keeper = Keeper(self._host, self.storage, lambda: self.kinds, authority, admitting)
        Registrations(self._host, self.storage)
        return keeper

    @property
    def programs(self) -> Programs:
        """The programs that run in place of containers; see `embedded_apiserver.programs`."""
        return self._kubelet.programs

    @property
    def kinds(self) -> Kinds:
        """The currently served kinds. A write to a custom resource definition may replace the set."""
        return self._definitions.kinds

    def handle(self, request: HTTPRequest, on_ready: Callable[[], None] | None = None) -> HTTPResponse | Watch:
        """Return the response to `request`. Never raises; see `Handler.handle`.

        Args:
            request: The request.
            on_ready: Called when a watch may have lines to take, from any thread and with no lock held.
        """
        accept = request.headers.get("accept", "")
        try:
            with Meter(self._most_expression_steps):
                answer = self._answer_or_refusal(request, accept, on_ready)
            return readable_answer(request, answer) if isinstance(answer, HTTPResponse) else answer
        except RecursionError:  # decoding, merging and comparing all recurse into the body
            return refusal(bad_request("the request is nested too deeply"), accept)
        except UnicodeEncodeError:
            text = "the request is not valid text: it contains half of a surrogate pair"
            return refusal(bad_request(text))  # as JSON, because the header may be what is not valid
        except UsageError as error:  # this installation lacks something that the request needs
            log.warning("request refused", method=request.method, path=request.path, error=error)
            return refusal(internal(str(error)))
        except Exception as error:  # a bug must fail the request, not the server
            log.exception("request failed", method=request.method, path=request.path)
            return refusal(internal(f"{type(error).__name__}: {error}"))

    def knows(self, headers: Mapping[str, str]) -> bool:
        """Return whether the headers have the credentials of a user; True if the server requires none."""
        return self._access.knows(headers)

    def actors(self, request: HTTPRequest) -> Actors:
        """Return the user of a request and the user that it impersonates, for the audit log."""
        return self._access.actors(request, self._route(self._definitions.kinds, request.path.rstrip("/")))

    def is_heavy(self, request: HTTPRequest) -> bool:
        """Return whether `handle` may take more than a few milliseconds for `request`."""
        return is_heavy(self.storage, request, self._route(self._definitions.kinds, request.path.rstrip("/")))

    def calls_out(self, request: HTTPRequest) -> bool:
        """Return whether `handle` may call a webhook for `request`."""
        return calls_out(self.storage, request, self._route(self._definitions.kinds, request.path.rstrip("/")))

    def publish(self, port: int) -> None:
        """Set the port of the service `kubernetes` to the server's port, if the server has that service."""
        if self._keeper is not None:
            self._keeper.publish(port)

    def close(self) -> None:
        """End all watches and programs, and release the data directory. Idempotent."""
        self._kubelet.close()
        self.storage.close()

    def _answer_or_refusal(
        self, request: HTTPRequest, accept: str, on_ready: Callable[[], None] | None
    ) -> HTTPResponse | Watch:
        try:
            return self._answer(request, on_ready)
        except StatusError as error:
            return refusal(in_words_of(self.release, error), accept)
        except OutOfSteps as error:
            return refusal(too_large(str(error)), accept)
        except Ended:  # the kind's definition was deleted after the request had been routed
            return refusal(no_such_resource(), accept)

    def _answer(self, request: HTTPRequest, on_ready: Callable[[], None] | None) -> HTTPResponse | Watch:
        path = request.path.rstrip("/")
        kinds = self._definitions.kinds
        found = self._route(kinds, path)
        user = self._access.admit(request, found)
        if len(request.body) > BODY_LIMIT:
            raise too_large(f"limit is {BODY_LIMIT}")
        if found is not None:
            return self._verbs.answer(user, found, readable(request, found.kind), on_ready)
        if request.method == "GET":
            if path in _HEALTH:
                return text(200, "ok")
            if path == "/metrics":
                return metrics_answer(self.storage, kinds, version_document(self.release))
            if (described := self._description.answer(kinds, path, request)) is not None:
                return described
        check_part(kinds, path)
        if is_served(kinds, path):
            raise no_such_resource()
        return text(404, "404 page not found\n")

    def _route(self, kinds: Kinds, path: str) -> Route | None:
        """Return the route for `path`; None if it is not the path of a served kind; see `find_route`.

        The last result is kept, because `is_heavy` and `handle` ask for the same path in a row.
        """
        kinds_then, path_then, found = self._last_route
        if kinds_then is not kinds or path_then != path:
            found = find_route(kinds, path)
            self._last_route = kinds, path, found
        return found

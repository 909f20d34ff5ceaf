# SPDX-License-Identifier: Apache-2.0
"""A cluster in one process: an embedded API server without a socket, and a manager that runs on it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from types import TracebackType
from typing import Self, cast

from apimachinery.host import Host
from apimachinery.http import Handler, HTTPRequest
from apimachinery.objects import ObjectKey
from apimachinery.plain_functions import called, plain
from controller_runtime.client.client import Client
from controller_runtime.client.impersonating import ImpersonatingTransport
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.client.transport import Transport
from controller_runtime.controller.panics import Panic
from controller_runtime.election.config import LeaderElectionConfig
from controller_runtime.manager.manager import Manager, Setup
from controller_runtime.testing.beside import Beside
from controller_runtime.testing.checks import Check, ClusterChecks
from controller_runtime.testing.failing import failing_of
from controller_runtime.testing.faults import Faults, FaultyTransport, numbered
from controller_runtime.testing.left_behind import FOLDER, left_behind
from controller_runtime.testing.manager_process import ManagerProcess, machine_of
from controller_runtime.testing.outside.outsides import Outsides
from controller_runtime.testing.outside.place import Place
from controller_runtime.testing.panics import Panics
from controller_runtime.testing.perturbation import ambient
from controller_runtime.testing.recording import RecordingTransport
from controller_runtime.testing.role import Role, acting
from controller_runtime.testing.server_options import ServerOptions, check_together
from controller_runtime.testing.simulation.simulation import SimulatedHost
from controller_runtime.testing.webhook_calls import ClusterCaller, Webhook
from controller_runtime.testing.webhooks import install_declared
from embedded_apiserver import APIServer


class EmbeddedCluster:
    """Runs a manager on an embedded API server in this process.

    On a `SystemHost` it is the quickest way to try a controller. On a simulated host it is the way to test one: time
    passes only when the test says so, and every run with the same seed is the same. There `host` belongs to the manager
    alone; the server and `user` are on another host, `<name>-server`, and continue when `host` crashes.

    Entering starts nothing: call `run` with the function that sets the manager up, or add controllers to `manager`
    and call `start`. Leaving stops the manager, and raises the error that ended it if it failed. If the block raised
    nothing, leaving also raises an `AssertionError` if a check of `always` or `eventually` failed, if a controller
    wakes itself, or if reconciles, mappers, predicates or periodic functions raised errors that are most likely bugs,
    and that the test did not announce with `expect_panics`. An error is most likely a bug if it is not a
    `ControllerRuntimeError`, or if a `UsageError` led to it.

    Args:
        host: The host that the manager runs on.
        server: An API server that exists already, to run another manager on its objects.
        release: The release of Kubernetes as which a new server answers, such as `1.33`; None for the newest. A
            manager on it then uses its fall-backs; see `docs/versions.md`.
        transport: The manager's transport; by default it calls the server directly. `kill` and `restart` need the
            default.
        faults: The faults of the manager's requests; None for none. Requests are numbered on after a restart.
        leader_election: The manager's leader election, for several managers on one server.
        garbage_collection: True to do the work of a controller manager for every object, from `start` until `stop`:
            delete objects that have lost their last owner, honor propagation policies, and empty deleted namespaces.
            This happens a tenth of a second after a change, in virtual time too. If several clusters share one
            server, set it for one of them.
        workloads: True to run the controllers of workloads and three nodes, so that Deployments, StatefulSets,
            DaemonSets, Jobs and CronJobs have pods that run; includes `garbage_collection`. See `docs/workloads.md`.
        allow_panics: True to ignore such errors, and controllers that wake themselves; only the log shows them.
        namespace: The namespace to which the manager is limited; see `Manager`.
        disable_admission_plugins: The names of steps of admission that a new server leaves out, such as
            `ResourceQuota`; see `docs/embedded-server.md`.
        enable_admission_plugins: The names of steps of admission to carry out that are off by default.
        cluster_objects: True to create the objects that every cluster has; see `docs/embedded-server.md`.
        role: The permissions of the manager: rules, roles and bindings as dicts, or paths of YAML files with these,
            alone or as a list. The manager then acts as a service account; by default it may do everything.
        webhooks: Webhooks that a new server calls, besides those of the manager: by service, `namespace/name`, or by
            the host of their URL. They run where the manager runs, and end with it.
        webhook_faults: The faults of the server's calls to webhooks; None for none.
        record: The names of controllers whose last reconciles are written to the folder `incidents` if the test fails,
            for `replay`; an empty collection stands for all controllers. None writes nothing.

    Raises:
        UsageError: The role cannot be read, is given beside a transport, or exists on the server with other rules; the
            release or an admission plugin is unknown; or an option of a new server is given beside a server.

    Attributes:
        server: The API server.
        programs: The programs of containers, which exec, attach and ports reach; see `embedded_apiserver.programs`.
        user: A client of the same server for the test, without faults and not recorded. It may do everything.
        acts_as: The user name of the manager's service account; None without a role.
        outside: Called with a fake of a service outside of the cluster, returns its replacement for the program.
        checks: The test's own checks; see `always`.
        options: Arguments for another cluster like this one, but for its host, server and transport, for faults and for
            `record`.

    Threads: one.
    """

    _setup: Setup | None = None
    _requests: list[HTTPRequest]

    def __init__(
        self,
        host: Host,
        *,
        server: APIServer | None = None,
        transport: Transport | None = None,
        faults: Faults | None = None,
        leader_election: LeaderElectionConfig | None = None,
        garbage_collection: bool = False,
        workloads: bool = False,
        allow_panics: bool = False,
        release: str | None = None,
        namespace: str = "",
        disable_admission_plugins: Collection[str] = (),
        enable_admission_plugins: Collection[str] = (),
        cluster_objects: bool = False,
        role: Role | None = None,
        webhooks: Mapping[str, Webhook] | None = None,
        webhook_faults: Faults | None = None,
        record: Collection[str] | None = None,
    ) -> None:
        given = ServerOptions(
            release=release,
            disable_admission_plugins=disable_admission_plugins,
            enable_admission_plugins=enable_admission_plugins,
            cluster_objects=cluster_objects,
        )
        check_together(server, {**given, "webhooks": webhooks}, role, transport)
        self._machine, server_host = machine_of(host)
        self._perturbed = ambient.join(host, is_alone=server is None and transport is None)
        history = None if self._perturbed is None else self._perturbed.history
        caller = ClusterCaller(
            server_host, self._machine, webhooks or {}, lambda: getattr(self._manager, "webhooks", None), webhook_faults
        )
        self.server = server or APIServer(server_host, history=history, caller=caller, **given)
        self.checks = ClusterChecks(server_host, self.server, judged_later=self._perturbed is not None)
        self._admin = self.user = Client(server_host, to_server := InProcessTransport(server_host, self.server))
        self.programs, self._reached = self.server.programs, cast(Handler, self.server)
        if self._perturbed is not None and isinstance(server_host, SimulatedHost):
            self._reached = self._perturbed.attach(self, self.server, server_host)
            self.user = Client(server_host, self._perturbed.story(to_server))
        self.options = dict(given, webhooks=webhooks, garbage_collection=garbage_collection, allow_panics=allow_panics)
        self.options.update(leader_election=leader_election, namespace=namespace, role=role, workloads=workloads)
        self.acts_as = None if role is None else acting(role).create(self._admin)
        self._given_transport, self._leader_election, self._namespace = transport, leader_election, namespace
        self._faults, self._panics, self._requests = faults and numbered(faults), Panics(allows=allow_panics), []
        self._beside, self._left = Beside(server_host, self.server, garbage_collection, workloads), left_behind(record)
        checked = self.checks.is_checking, self.checks.written
        self.outside = Outsides(Place(lambda: self._machine.host, *checked, ambient.observer_of(self._perturbed)))
        self._make_manager()

    @property
    def host(self) -> Host:
        """The host of the present manager."""
        self._note_part("host")
        return self._manager.host

    @property
    def client(self) -> Client:
        """The manager's client, whose requests have faults and are recorded."""
        self._note_part("client")
        return self._manager.client

    @property
    def manager(self) -> Manager:
        """The present manager; add controllers to it."""
        self._note_part("manager")
        return self._manager

    @property
    def transport(self) -> RecordingTransport:
        """Records the requests of all managers of this cluster so far, for assertions."""
        self._note_part("transport")
        return self._transport

    def run(self, setup: Setup) -> None:
        """Call `setup` with the manager, and start it.

        Raises:
            UsageError: `setup` is an `async def`, or returned a coroutine.
            RuntimeError: The manager has been started already.
        """
        self._process.refuse_second_start()
        self._setup = setup
        called("setup", plain("setup", setup), self._manager)
        self._start()

    def start(self) -> None:
        """Run the manager on a thread of its own, and garbage collection on another if it was asked for.

        Once this returns, the definitions of `Manager.install` are on the server, and the manager's webhooks answer.
        The client of the test installs them, so that the manager needs no permission to do so.

        Raises:
            RuntimeError: The manager has been started already.
        """
        if self._perturbed is not None:
            self._perturbed.refuse("the manager is started by start(), not by run(setup), so it cannot start again")
        self._process.refuse_second_start()
        self._start()

    def _start(self) -> None:
        install_declared(self._manager, self._admin)
        self._process.start(self._manager)
        if self._perturbed is not None:
            self._perturbed.starts()
        self._beside.start()

    def kill(self) -> None:
        """End the manager as `kill -9` does; `restart` starts another one. Idempotent.

        Nothing leaves the manager from now on, so its lease stays held until it expires. Requests that it has sent are
        carried out, and no answer comes back. In a simulation its host crashes, with all threads. On the real machine
        its threads are canceled, and this waits for them; a thread that hangs is abandoned after its grace period.

        Raises:
            RuntimeError: The cluster was given a transport.
        """
        self._note_part("end")
        if self._given_transport is not None:
            raise RuntimeError("the manager of a cluster with `transport=` cannot be killed: leave the option out")
        self._process.kill()
        self.outside.program_ended()

    def restart(self, setup: Setup | None = None) -> None:
        """Kill the manager if it runs, and run another one, whose caches are empty, on the same server.

        Args:
            setup: Sets the new manager up, such as a later version of the program; None for the function given to
                `run`.

        Raises:
            RuntimeError: The cluster was not started by `run`, or it was given a transport.
        """
        setup = setup or self._setup
        if setup is None:
            raise RuntimeError("restart() calls the function that was given to run(): start the cluster with run()")
        plain("setup", setup)
        self.kill()
        self._machine.restart()
        self._make_manager()
        self.run(setup)

    def stop(self) -> None:
        """Stop the manager and wait until it has ended; raise the error that ended it if it failed. Idempotent."""
        try:
            self._process.stop()
        finally:
            if self._machine.is_usable:
                self._beside.stop()

    def always(self, check: Check) -> None:
        """Require that `check` holds now and after each write by any writer, until the end of the test.

        If it fails, the test fails at its end and names the first write after which it did not hold. It is called on
        the thread of the writer, before the writer gets its answer. It may read with `user`, and must not write or
        wait.

        Args:
            check: A function without arguments. It does not hold if it raises, or returns a false value other than
                None.

        Raises:
            UsageError: `check` is an `async def`. One that returns a coroutine does not hold.
        """
        self.checks.own().always(check)

    def eventually(self, check: Check) -> None:
        """Require that `check` holds at the end of the test, after a wait of at most eleven minutes.

        In a simulation these are virtual minutes. On a real machine the wait takes at most about ten seconds.

        Args:
            check: A function without arguments, as for `always`.

        Raises:
            UsageError: `check` is an `async def`. One that returns a coroutine does not hold.
        """
        self.checks.own().eventually(check)

    def expect_panics(self, *kinds: type[BaseException]) -> AbstractContextManager[list[Panic]]:
        """Expect that reconciles, mappers, predicates or periodic functions raise errors of these types within the
        `with` block; its value lists those seen so far.

        Raises:
            AssertionError: The block ends without an error, and nothing has raised one of `kinds` in it.
            TypeError: `kinds` is empty, or not all are exception classes.
        """
        return self._panics.expect(*kinds)

    def raise_panics(self) -> None:
        """Raise an `AssertionError` for unexpected errors so far, or else for controllers that wake themselves.

        Each is reported once.
        """
        self._panics.raise_unexpected()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self.leaving(error):
            try:
                if error is None:
                    self.checks.raise_broken()
            finally:
                self.stop()
            if error is None:
                self.raise_panics()

    @contextmanager
    def leaving(self, error: BaseException | None = None) -> Iterator[None]:
        """Write the reconciles of the option `record` to files if the `with` block raises, or if `error` is given."""
        try:
            yield
        except BaseException as found:
            error = found
            raise
        finally:
            if error is not None and self._left is not None:
                self._left.write(FOLDER)

    @property
    def failing(self) -> list[str]:
        """The present manager's failures: objects that wait for a retry, and changes that cannot be mapped to
        requests.
        """
        return [f"{each.name}: {what}" for each in self._manager.controllers for what in failing_of(each)]

    def _note_part(self, name: str) -> None:
        if self._perturbed is not None:
            self._perturbed.takes_part(name)

    def _make_manager(self) -> None:
        transport: Transport = self._given_transport or self._machine.connect(self._reached)
        if self.acts_as is not None:
            transport = ImpersonatingTransport(transport, self.acts_as)
        if self._faults is not None:
            transport = FaultyTransport(self._machine.host, transport, self._faults)
        self._transport = RecordingTransport(transport, self._requests)
        self._process = ManagerProcess(self._machine, self._transport)
        self._manager = Manager(
            *(self._machine.host, self._process.transport),
            leader_election=self._leader_election,
            namespace=self._namespace,
            on_panic=self._panics.note,
            incidents=None if self._left is None else self._left.options,
        )
        if self._left is not None:
            self._left.note(self._manager.incident_recorder)
        self._manager.deletions.default = ObjectKey("deletions", "default")
        self._panics.watch(self._manager.self_wakes)
        if self._perturbed is not None:
            self._perturbed.manages(self._manager)

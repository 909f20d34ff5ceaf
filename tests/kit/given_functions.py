# SPDX-License-Identifier: Apache-2.0
"""All places of the public API where a function is given, and for each of them a use that calls the function."""

from __future__ import annotations

import ast
import asyncio
import collections.abc
import contextlib
import copy
import functools
import importlib
import inspect
import sys
import threading
import typing
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import controller_runtime as cr
from apimachinery.errors import UsageError
from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.objects import cached_from_bytes
from controller_runtime.cache.store import Delta
from controller_runtime.cache.transforms import transformed
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.crd import CustomResource, Struct, converts, custom_resource
from controller_runtime.dependents.owned import wanted_of
from controller_runtime.errors import ServerError
from controller_runtime.incidents.incident import FORMAT, VERSION, End, Incident
from controller_runtime.manager.metrics import Metrics
from controller_runtime.program.origin import call_setup
from controller_runtime.program.snapshot import panels_of
from controller_runtime.resources import CONFIG_MAPS, NODES, VALIDATING_WEBHOOK_CONFIGURATIONS
from controller_runtime.ring.config import RingConfig
from controller_runtime.testing import EmbeddedCluster, FaultyTransport, Simulation, a_node, eventually
from controller_runtime.testing.replay.run import replay
from controller_runtime.webhooks import Admission, Checks, Defaults, Webhooks
from embedded_apiserver import APIServer
from kit.occurrences import happened
from kit.owning import Site, SiteSpec

PACKAGES = (
    "controller_runtime",
    "controller_runtime.conditions",
    "controller_runtime.crd",
    "controller_runtime.rate_limiters",
    "controller_runtime.resources",
    "controller_runtime.rights",
    "controller_runtime.testing",
    "controller_runtime.transports",
    "controller_runtime.webhooks",
)

AWAITED = {
    "AsyncClient.retry_on_conflict(attempt)",
    "AsyncFinalizers.register(finalize)",
    "AsyncFinalizers.register_for_metadata(finalize)",
}
"""The places where a coroutine function belongs."""

INNER = {
    "Informer.__init__(readers)": "informers are made by the caches alone",
    "Host.spawn(target)": "a protocol: the hosts of production and of the simulation check",
    "Subscription.attach(add)": "called by `Informer.subscribe` alone, with a function of the caches",
}
"""Places where no program gives a function, each with the reason."""

INCIDENT = Incident(FORMAT, VERSION, "0.1.0", "nodes", "a", "", "2026-01-01T00:00:00+00:00", 0.0, 0.0, End("done"))

F = Callable[..., Any]
NODE = cr.ObjectKey("a")
RAW = b'{"apiVersion":"v1","kind":"Node","metadata":{"name":"a","resourceVersion":"1","uid":"u"}}'
CACHED = cached_from_bytes(RAW)
DELTA = Delta(CACHED, CACHED)


SITE = Site(SiteSpec(), metadata=cr.ObjectMeta(name="site", namespace="default"))


class Nothing(cr.Reconciler):
    def reconcile(self, request: cr.Request) -> cr.Result:
        return cr.Result()


class Failing(cr.Reconciler):
    def reconcile(self, request: cr.Request) -> cr.Result:
        raise KeyError("a bug")


class OldSpec(Struct):
    size: int = 0


@custom_resource("example.com/v1alpha1", kind="Site")
class OldSite(CustomResource):
    spec: OldSpec


class Bench:
    """A simulation, in which a place may use a cluster."""

    def __init__(self, sim: Simulation) -> None:
        self.sim = sim
        self.host = sim.host("bench")
        self.client = cr.Client(self.host, InProcessTransport(self.host, APIServer(self.host)))

    @functools.cached_property
    def cluster(self) -> EmbeddedCluster:
        return EmbeddedCluster(self.sim.host("cluster"))

    @property
    def manager(self) -> cr.Manager:
        return self.cluster.manager

    def panics(self, controller: cr.Controller) -> NoReturn:
        """Run a controller of nodes beside one node, and raise the first bug that it shows."""
        with self.cluster.expect_panics(UsageError) as seen:
            self.manager.add(controller)
            self.cluster.start()
            self.cluster.user.create(NODES, a_node("a"))
            self.sim.settle()
        raise seen[0].error

    def stops(self, cluster: EmbeddedCluster | None = None) -> None:
        """Run the manager beside one node, and raise the error that ends it."""
        cluster = cluster or self.cluster
        cluster.start()
        cluster.user.create(NODES, a_node("a"))
        self.sim.settle()
        cluster.stop()

    def asking(self, ask: Callable[[cr.AsyncClient], Any]) -> None:
        """Await a call of an asynchronous client."""
        host = cr.SystemHost()
        client = cr.AsyncClient(cr.Client(host, InProcessTransport(host, APIServer(host))))
        asyncio.run(ask(client))

    def deleted(self, finalizer: str) -> dict[str, Any]:
        self.client.create(NODES, {"metadata": {"name": "a", "finalizers": [finalizer]}})
        self.client.delete(NODES, NODE)
        return self.client.get(NODES, NODE, dict)


def _watching(**options: Any) -> cr.Controller:
    return cr.Controller("nodes", Nothing(), **options).watch(NODES)


def _dependents(bench: Bench, status: F) -> None:
    bench.manager.install(Site)
    bench.manager.add(cr.Dependents(bench.manager, "sites", Site, _owned()).controller(status=status))
    with bench.cluster.expect_panics(UsageError) as seen:
        bench.cluster.start()
        bench.cluster.user.create(SITE)
        bench.sim.settle()
    raise seen[0].error


def _owned(desired: F = lambda site: None, **options: Any) -> cr.Owned[Any, Any]:
    return cr.Owned(CONFIG_MAPS, desired, **options)


def _endpoints(bench: Bench, **checks: F) -> None:
    [(which, check)] = checks.items()
    path = "livez" if which == "live" else "readyz"
    options: dict[str, Any] = {which: {"mine": check}}
    with cr.Endpoints(probes="127.0.0.1:0", **options) as endpoints:
        [(*_, [answers])] = endpoints._listeners
        answers(bench.manager)[path](HTTPRequest("GET", f"/{path}"), True)


def _manager(bench: Bench, **options: Any) -> None:
    """Run a manager with these options beside one node, with a controller that fails."""
    transport = bench.client.transport
    manager = cr.Manager(bench.host, transport, **options)
    manager.add(cr.Controller("nodes", Failing()).watch(NODES))
    bench.client.create(NODES, a_node("a"))
    manager.run()


def _on_thread(spawn: Callable[[F], Any], function: F) -> None:
    """Spawn a function, and raise what its thread ends with."""
    errors: list[BaseException] = []
    hook, threading.excepthook = threading.excepthook, lambda args: errors.append(args.exc_value or args.exc_type())
    try:
        spawn(function).join_until(None)
    finally:
        threading.excepthook = hook
    raise errors[0]


def _spawned(bench: Bench, function: F) -> None:
    stop = cr.Stop(bench.host)
    cr.spawn(bench.host, stop, "mine", function)
    bench.sim.settle()
    assert stop.failure is not None
    raise stop.failure


def _faults(bench: Bench, faults: F) -> None:
    cluster = EmbeddedCluster(bench.sim.host("cluster"), faults=faults)
    cluster.client.get(NODES, NODE)


def _webhook_faults(bench: Bench, faults: F) -> None:
    url = "https://hook.example.com/"
    hook = {"name": "a.example.com", "clientConfig": {"url": url}, "sideEffects": "None"}
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["nodes"]}]
    configuration = {
        "metadata": {"name": "x"},
        "webhooks": [{**hook, "rules": rules, "admissionReviewVersions": ["v1"]}],
    }
    cluster = EmbeddedCluster(bench.host, webhooks={"hook.example.com": Mute()}, webhook_faults=faults)
    cluster.user.create(VALIDATING_WEBHOOK_CONFIGURATIONS, configuration)
    try:
        cluster.user.create(NODES, a_node("a"))
    except ServerError as error:  # the server's answer, with the text
        raise UsageError(str(error)) from error


class Mute:
    """A webhook that is never reached."""

    def handle(self, request: HTTPRequest) -> HTTPResponse:
        raise AssertionError("it is reached")


def _broken(bench: Bench, add: Callable[[F], None], check: F) -> None:
    add(check)
    [broken] = bench.cluster.checks.take_broken()
    raise UsageError(broken)


def _restarted(bench: Bench, setup: F) -> None:
    bench.cluster.run(lambda manager: None)
    bench.cluster.restart(setup)


def _conversion(there: F, back: F) -> None:
    conversion = converts(OldSite, Site)(there)
    conversion.back(back)
    conversion.upgrade(OldSite(OldSpec(), metadata=cr.ObjectMeta(name="a")))


def _checked_at_end(bench: Bench, check: F) -> None:
    with Simulation(0) as other:
        other.check_end(check)


def _checked(bench: Bench, check: F) -> None:
    with Simulation(0) as other:
        other.check(check)
        other.settle()
        other.host("x").spawn("x", lambda: None)
        other.settle()


def _on_set(bench: Bench, callback: F) -> None:
    stop = cr.Stop(bench.host)
    stop.on_set(callback)
    stop.set()


def _up(site: OldSite) -> Site:
    return Site(SiteSpec(), metadata=site.metadata)


def _down(site: Site) -> OldSite:
    return OldSite(OldSpec(), metadata=site.metadata)


def _runnable(bench: Bench, run: F) -> None:
    class Mine:
        name = "mine"

    mine = Mine()
    mine.run = run  # type: ignore[attr-defined]
    bench.manager.add(mine)  # type: ignore[arg-type]
    bench.stops()


def _reconciler_metrics(bench: Bench, metrics: F) -> None:
    reconciler = Nothing()
    reconciler.metrics = metrics  # type: ignore[method-assign]
    bench.manager.add(cr.Controller("nodes", reconciler).watch(NODES))
    Metrics(bench.manager, []).text()


def _transform(transform: F) -> None:
    transformed(CACHED, cr.CacheScope(transform=transform).transform)


FINALIZER = "example.com/a"

PLACES: dict[str, Callable[[Bench, F], Any]] = {
    "AsyncClient.call(function)": lambda b, f: b.asking(lambda client: client.call(f)),
    "AsyncClient.create_or_patch(mutate)": lambda b, f: b.asking(lambda c: c.create_or_patch(NODES, NODE, f)),
    "AsyncClient.wait(until)": lambda b, f: b.asking(lambda client: client.wait(NODES, NODE, until=f)),
    "CacheScope.__init__(transform)": lambda b, f: _transform(f),
    "Client.wait(until)": lambda b, f: b.client.wait(NODES, NODE, until=f),
    "Controller.__init__(fair_by)": lambda b, f: b.panics(_watching(fair_by=f)),
    "Controller.every(requests)": lambda b, f: b.panics(_watching().every(60.0, f)),
    "Controller.follow(callback)": lambda b, f: (b.manager.add(_watching().follow(NODES, f)), b.stops()),
    "Controller.share(shared)": lambda b, f: _watching().share(f, cr.Channel(b.host)),
    "Controller.watch(map)": lambda b, f: b.panics(_watching().watch(NODES, map=f)),
    "Controller.watch(when)": lambda b, f: b.panics(_watching().watch(NODES, when=f)),
    "Dependents.controller(status)": _dependents,
    "Endpoints.__init__(live)": lambda b, f: _endpoints(b, live=f),
    "Endpoints.__init__(ready)": lambda b, f: _endpoints(b, ready=f),
    "EventRecorder.__init__(spam_key)": lambda b, f: cr.EventRecorder(
        b.host, b.client, component="mine", spam_key=f
    )._correlator.observe(happened()),
    "Finalizers.register(finalize)": lambda b, f: (
        cr.Finalizers[Any](b.client, NODES).register(FINALIZER, f).handle(b.deleted(FINALIZER))
    ),
    "Finalizers.register_for_metadata(finalize)": lambda b, f: (
        cr.Finalizers[Any](b.client, NODES).register_for_metadata(FINALIZER, f).handle(b.deleted(FINALIZER))
    ),
    "Informer.add_handler(handler)": lambda b, f: (b.manager.informer(NODES).add_handler(f), b.stops()),
    "Informer.add_index(values_of)": lambda b, f: (b.manager.informer(NODES).add_index("mine", f), b.stops()),
    "Informer.subscribe(callback)": lambda b, f: (b.manager.informer(NODES).subscribe(f, name="mine"), b.stops()),
    "Manager.__init__(on_panic)": lambda b, f: _manager(b, on_panic=f),
    "Manager.__init__(transforms)": lambda b, f: _manager(b, transforms={NODES: f}),
    "Manager.show_status(take)": lambda b, f: (b.manager.show_status(f), b.manager.shown_tables.all()[-1]()),
    "Owned.__init__(desired)": lambda b, f: wanted_of([_owned(f)], CACHED, NODES),
    "Owned.__init__(ready)": lambda b, f: _owned(ready=f).unready(CACHED),
    "Ring.__init__(problem)": lambda b, f: cr.Ring(
        b.host, b.client, b.manager.informers, RingConfig(name="mine", namespace="default"), cr.RingBy.UID, f
    ).problem(),
    "Stop.on_set(callback)": _on_set,
    "Subscription.__init__(callback)": lambda b, f: cr.Subscription(b.host, f, "mine")._callback(DELTA),
    "SystemHost.spawn(target)": lambda b, f: _on_thread(lambda target: cr.SystemHost().spawn("mine", target), f),
    "Timeline.noting(take)": lambda b, f: cr.Timeline(b.host).noting(f)(),
    "WorkQueue.__init__(fair_by)": lambda b, f: cr.WorkQueue[str](b.host, fair_by=f).add("x"),
    "all_of(predicates)": lambda b, f: cr.all_of(f)(DELTA),
    "any_of(predicates)": lambda b, f: cr.any_of(f)(DELTA),
    "changed(value_of)": lambda b, f: cr.changed(f)(DELTA),
    "create_or_patch(mutate)": lambda b, f: cr.create_or_patch(b.client, NODES, NODE, f),
    "edited(edit)": lambda b, f: cr.edited(f)(RAW),
    "enqueue_mapped(requests_of)": lambda b, f: [*cr.enqueue_mapped(f)(DELTA)],
    "not_(predicate)": lambda b, f: cr.not_(f)(DELTA),
    "retry_on_conflict(attempt)": lambda b, f: cr.retry_on_conflict(b.host, f),
    "replay_file(setup)": lambda b, f: replay(INCIDENT, f),
    "run(setup)": lambda b, f: call_setup(f, b.manager),
    "spawn(target)": _spawned,
    "EmbeddedCluster.__init__(faults)": _faults,
    "EmbeddedCluster.__init__(webhook_faults)": _webhook_faults,
    "EmbeddedCluster.always(check)": lambda b, f: _broken(b, b.cluster.always, f),
    "EmbeddedCluster.eventually(check)": lambda b, f: _broken(b, b.cluster.eventually, f),
    "EmbeddedCluster.restart(setup)": _restarted,
    "EmbeddedCluster.run(setup)": lambda b, f: b.cluster.run(f),
    "FaultyTransport.__init__(faults)": lambda b, f: cr.Client(
        b.host, FaultyTransport(b.host, b.client.transport, f)
    ).get(NODES, NODE),
    "eventually(check)": lambda b, f: (b.cluster.start(), eventually(b.manager, NODES, f)),
    "Simulation.check(hook)": _checked,
    "Simulation.check_end(hook)": _checked_at_end,
    "Conversion.__init__(there)": lambda b, f: _conversion(f, _down),
    "Conversion.back(function)": lambda b, f: _conversion(_up, f),
    "Admission.__init__(read_old)": lambda b, f: Admission(read_old=f).old,
    "Checks(refuse)": lambda b, f: Checks(Site, f).refuse(SITE, Admission()),
    "Defaults(fill)": lambda b, f: Defaults(Site, f).fill(SITE, Admission()),
    "Webhooks.show(page)": lambda b, f: _page(b, f),
}
"""Gives a function at each place, and has it called."""

PROTOCOLS: dict[str, Callable[[Bench, F], Any]] = {
    "Program.panels": lambda b, f: panels_of(f, b.manager),
    "Reconciler.metrics": _reconciler_metrics,
    "Runnable.run": _runnable,
}
"""The same for methods of objects that are given, and for what only our own programs give."""


def _page(bench: Bench, page: F) -> None:
    webhooks = Webhooks(bench.host, bench.client)
    webhooks.show("/mine", page)
    webhooks._pages["/mine"](HTTPRequest("GET", "/mine"))


def places() -> Iterator[str]:
    """Yield each parameter of the public API that is a function, as `Class.method(parameter)`."""
    seen = set[int]()
    for package in map(importlib.import_module, PACKAGES):
        for name in package.__all__:
            value = getattr(package, name)
            if id(value) not in seen:
                seen.add(id(value))
                yield from _places_of(name, value)


def _places_of(name: str, value: object) -> Iterator[str]:
    if inspect.isfunction(value):
        yield from (f"{name}({parameter})" for parameter in _given(value))
    elif inspect.isclass(value):
        for method, function in inspect.getmembers(value):
            function = inspect.unwrap(function) if callable(function) else function
            function = getattr(function, "__func__", function)
            if (
                (method == "__init__" or not method.startswith("_"))
                and inspect.isfunction(function)
                and _is_ours(function)
            ):
                yield from (f"{name}.{method}({parameter})" for parameter in _given(function))


def _is_ours(function: F) -> bool:
    return function.__module__.partition(".")[0] in ("apimachinery", "controller_runtime")


def _given(function: F) -> Iterator[str]:
    names = {**_imported_for_types(function.__module__), **vars(sys.modules[function.__module__])}
    for parameter, kind in typing.get_type_hints(function, names).items():
        if parameter != "return" and _has_function(kind):
            yield parameter


def _has_function(kind: Any) -> bool:
    if kind is collections.abc.Callable or typing.get_origin(kind) is collections.abc.Callable:
        return True
    if isinstance(kind, typing.TypeVar):
        return _has_function(kind.__bound__)
    return any(_has_function(each) for each in typing.get_args(kind) if not isinstance(each, str | list))


@functools.cache
def _imported_for_types(module: str) -> dict[str, Any]:
    """Return what a module imports under `if TYPE_CHECKING`, but for models that the official client lacks."""
    names: dict[str, Any] = {}
    for node in ast.walk(ast.parse(inspect.getsource(sys.modules[module]))):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for each in node.body:
                for alias in each.names if isinstance(each, ast.Import | ast.ImportFrom) else ():
                    one = copy.copy(each)
                    one.names = [alias]
                    with contextlib.suppress(ImportError):
                        exec(compile(ast.Module([one], []), module, "exec"), names)
    return names

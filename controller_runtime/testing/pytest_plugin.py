# SPDX-License-Identifier: Apache-2.0
"""Fixtures that pytest finds when this package is installed; each imports its modules when it is used.

`simulation` and `cluster` are deterministic, `real_cluster` is not. To search for races, run a test with
many seeds by `@pytest.mark.parametrize("simulation_seed", range(100))`. The marker `embedded_cluster` passes
options to the clusters of the fixtures, such as `@pytest.mark.embedded_cluster(garbage_collection=True)`.

A test with `cluster` or `real_cluster` fails at its end if reconciles raised errors that are most likely bugs; see
`EmbeddedCluster.expect_panics`. With `simulation`, code under test that reads the real clock causes a
`RealClockWarning`.
"""

from __future__ import annotations

import copy
from collections.abc import Generator, Iterator
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from controller_runtime.testing.markers import EMBEDDED_CLUSTER, RIGHTS

if TYPE_CHECKING:
    from controller_runtime.testing.cluster import EmbeddedCluster
    from controller_runtime.testing.simulation import Simulation


_CLUSTERS = ("cluster", "real_cluster")


PATTERNS = ("crash", "outside", "missed", "stale", "sequence")
_USUAL = ",".join(name for name in PATTERNS if name != "sequence" or find_spec("hypothesis") is not None)
_PERTURB = "--perturb"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of `--perturb`, and those that record and check the permissions of the programs under test."""
    group = parser.getgroup("controller-runtime", "Kubernetes controllers")
    group.addoption(
        _PERTURB,
        nargs="?",
        const=_USUAL,
        metavar="PATTERNS",
        help="run each test that calls cluster.run(setup) again through crashes, missed changes, stale views and "
        f"sequences of declared states; PATTERNS chooses, as in {_PERTURB}={','.join(PATTERNS)}",
    )
    group.addoption(
        "--perturb-budget", type=float, default=60.0, metavar="SECONDS", help="for the plans of one test (60)"
    )
    group.addoption("--perturb-list", action="store_true", help="show the plans of each test, and run none")
    group.addoption("--perturb-script", metavar="FILE", help="run the one plan of a failure's file again")
    group = parser.getgroup("rights of controllers")
    group.addoption(
        "--rbac-record",
        metavar="FILE",
        help="write what the managers of the tests asked of their API servers to FILE, as roles; to a folder: a file "
        f'for each name of the marker {RIGHTS}("NAME")',
    )
    group.addoption(
        "--rbac-check",
        metavar="FILE",
        help="fail if the managers of the tests asked for a right that the roles in FILE lack, or if no test used one",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config, parser: pytest.Parser, args: list[str]) -> None:
    """Add the default value to `--perturb` without a value, because the option would take the next argument as its
    value.
    """
    before = args[: args.index("--")] if "--" in args else args
    if _PERTURB in before:
        args[:] = [
            f"{_PERTURB}={_USUAL}" if each == _PERTURB and at < len(before) else each for at, each in enumerate(args)
        ]
        early_config.known_args_namespace = parser.parse_known_args(args, namespace=copy.copy(early_config.option))


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers, so that `--strict-markers` accepts them, and the plug-ins that the options need."""
    config.addinivalue_line("markers", f"unperturbed(reason): leave this test out of {_PERTURB}")
    config.addinivalue_line(
        "markers",
        f"{RIGHTS}(program): the program of the managers, for --rbac-record FOLDER; None records nothing",
    )
    if any(config.getoption(option, None) is not None for option in ("--rbac-record", "--rbac-check")):
        from controller_runtime.testing.rights_plugin import RightsPlugin

        config.pluginmanager.register(RightsPlugin(config), "controller_runtime_rights")
    config.addinivalue_line(
        "markers",
        f"{EMBEDDED_CLUSTER}(**options): options of `EmbeddedCluster` for the fixtures `cluster` and `real_cluster`",
    )
    if any(config.getoption(each) not in (None, False) for each in (_PERTURB, "--perturb-script", "--perturb-list")):
        _perturb(config)


def _perturb(config: pytest.Config) -> None:
    from apimachinery.errors import UsageError
    from controller_runtime.testing.perturbation.options import Options, Script
    from controller_runtime.testing.perturbation.plugin import PerturbPlugin

    patterns = (config.getoption(_PERTURB) or _USUAL).split(",")
    if unknown := [pattern for pattern in patterns if pattern not in PATTERNS]:
        raise pytest.UsageError(
            f"{_PERTURB}: there is no pattern {unknown[0]!r}; write {_PERTURB} alone, or {_PERTURB}= with some of "
            f"{','.join(PATTERNS)}"
        )
    if (budget := config.getoption("--perturb-budget")) <= 0:
        raise pytest.UsageError(f"--perturb-budget={budget:g}: it must be more than 0 seconds")
    folder, path = config.invocation_params.dir, config.getoption("--perturb-script")
    try:
        script = Script.read(folder, path) if path else None
    except UsageError as error:
        raise pytest.UsageError(str(error)) from None
    lists = config.getoption("--perturb-list")
    options = Options(patterns, budget, folder, Path(path) if path else None, script, lists)
    config.pluginmanager.register(PerturbPlugin(options), "controller_runtime.perturb")


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Fail a test that passed if its reconciles panicked, a controller wakes itself, or its own checks failed.

    The clusters raise the same errors when their fixtures end, but pytest would then report a passed test with an error
    in its teardown.
    """
    # A test suite may have a fixture of this name of its own.
    found = [pyfuncitem.funcargs.get(name) for name in _CLUSTERS]
    clusters: list[Any] = [each for each in found if each is not None and hasattr(each, "raise_panics")]
    with ExitStack() as stack:
        for cluster in clusters:
            stack.enter_context(cluster.leaving())
        outcome = yield
        for cluster in clusters:
            cluster.raise_panics()
            try:
                cluster.checks.raise_broken()
            except AssertionError as broken:
                message = str(broken)
            else:
                continue
            pytest.fail(message, pytrace=False)
    return outcome


def _options(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Return the options of the markers; a test's marker overrides its class's, and that overrides its module's."""
    options: dict[str, Any] = {}
    for marker in request.node.iter_markers(EMBEDDED_CLUSTER):
        if marker.args:
            raise pytest.UsageError(f"the marker {EMBEDDED_CLUSTER} takes options by name, not {marker.args}")
        options = {**marker.kwargs, **options}
    return options


@pytest.fixture
def simulation_seed() -> int:
    """Return the seed that determines every choice of `simulation`; parametrize it to try many."""
    return 0


@pytest.fixture
def simulation(simulation_seed: int) -> Iterator[Simulation]:
    """Provide a simulation: hosts in virtual time. An error in any of its threads fails the test."""
    from controller_runtime.testing.perturbation import ambient
    from controller_runtime.testing.simulation import Simulation

    session = ambient.session
    seed = simulation_seed if session is None else simulation_seed + session.seed
    # A calm run warns already, and without the warning threads are twice as fast on Python 3.11.
    warns = session is None or session.baseline is None
    with Simulation(seed, warn_of_real_clock=warns) as simulation:
        yield simulation


@pytest.fixture
def cluster(simulation: Simulation, request: pytest.FixtureRequest) -> Iterator[EmbeddedCluster]:
    """Provide an API server and a manager on two hosts of `simulation`; call `run` with the function that sets it
    up.
    """
    from controller_runtime.testing import EmbeddedCluster

    with EmbeddedCluster(simulation.host("cluster"), **_options(request)) as cluster:
        yield cluster


@pytest.fixture
def real_cluster(request: pytest.FixtureRequest) -> Iterator[EmbeddedCluster]:
    """Provide a cluster on this machine, in real time, for code that waits outside of its host, such as on a socket."""
    from apimachinery.system import SystemHost
    from controller_runtime.testing import EmbeddedCluster

    with EmbeddedCluster(SystemHost(), **_options(request)) as cluster:
        yield cluster
